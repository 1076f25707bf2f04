//! A websocket: its events go to one callback, their bytes are passed on.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

/// Event of a socket.
pub enum SocketEvent {
    /// It is open.
    Opened,
    /// Bytes arrived.
    Bytes(Vec<u8>),
    /// It is closed, or could not be opened.
    Closed {
        /// Why, as the other end says it.
        code: u16,
    },
}

/// An open or opening socket; dropping it closes it and ends its callbacks.
pub struct Socket {
    socket: WebSocket,
    _opened: Closure<dyn FnMut()>,
    _message: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut(CloseEvent)>,
}

impl Socket {
    /// Opens a socket to a path of this page's server; `None` where the browser has none.
    pub fn open(path: &str, on: impl Fn(SocketEvent) + Clone + 'static) -> Option<Self> {
        let location = window().location();
        let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
        let socket = WebSocket::new(&format!("{scheme}://{}{path}", location.host().ok()?)).ok()?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let (on_open, on_bytes, on_close) = (on.clone(), on.clone(), on);
        let opened = Closure::new(move || on_open(SocketEvent::Opened));
        let message = Closure::new(move |event: MessageEvent| {
            on_bytes(SocketEvent::Bytes(js_sys::Uint8Array::new(&event.data()).to_vec()));
        });
        let closed = Closure::new(move |event: CloseEvent| on_close(SocketEvent::Closed { code: event.code() }));
        socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        Some(Self { socket, _opened: opened, _message: message, _closed: closed })
    }

    /// Sends bytes to the server.
    pub fn send(&self, bytes: &[u8]) {
        let _ = self.socket.send_with_u8_array(bytes); // a socket that breaks says so by closing
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.socket.set_onopen(None);
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        let _ = self.socket.close();
    }
}
