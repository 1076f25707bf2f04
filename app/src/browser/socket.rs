//! A websocket: its events go to callbacks.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

/// An open or opening socket; dropping it closes it and ends its callbacks.
pub struct Socket {
    socket: WebSocket,
    _opened: Closure<dyn FnMut()>,
    _message: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut(CloseEvent)>,
}

impl Socket {
    /// Opens a socket to a path of this page's server; `None` where the browser has none. `on_close` takes the code with which
    /// the other end says why the socket is closed, or could not be opened.
    pub fn open(
        path: &str,
        on_open: impl Fn() + 'static,
        on_bytes: impl Fn(Vec<u8>) + 'static,
        on_close: impl Fn(u16) + 'static,
    ) -> Option<Self> {
        let location = window().location();
        let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
        let socket = WebSocket::new(&format!("{scheme}://{}{path}", location.host().ok()?)).ok()?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let opened = Closure::new(on_open);
        let message = Closure::new(move |event: MessageEvent| {
            on_bytes(js_sys::Uint8Array::new(&event.data()).to_vec());
        });
        let closed = Closure::new(move |event: CloseEvent| on_close(event.code()));
        socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        Some(Self { socket, _opened: opened, _message: message, _closed: closed })
    }

    /// Sends bytes to the server.
    pub fn send(&self, bytes: &[u8]) {
        let _ = self.socket.send_with_u8_array(bytes); // a broken socket reports itself by closing
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
