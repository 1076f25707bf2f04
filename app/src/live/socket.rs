//! The browser's websocket: events go to one callback, their bytes are passed on.

use timeline::wire::{self, STRANGER, ViewerFrame};
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

/// What a socket says.
pub(super) enum SocketEvent {
    Opened,
    Frame(Vec<u8>),
    Closed,
    /// Whoever looks is not known any more, or not yet.
    Stranger,
}

/// An open or opening socket; dropping it closes it and ends its callbacks.
pub(super) struct Socket {
    socket: WebSocket,
    _opened: Closure<dyn FnMut()>,
    _message: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut(CloseEvent)>,
}

impl Socket {
    /// Opens a socket to this page's server.
    pub(super) fn open(on: impl Fn(SocketEvent) + Clone + 'static) -> Option<Self> {
        let location = web_sys::window()?.location();
        let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
        let socket = WebSocket::new(&format!("{scheme}://{}/api/v1/stream", location.host().ok()?)).ok()?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let (on_open, on_frame, on_close) = (on.clone(), on.clone(), on);
        let opened = Closure::new(move || on_open(SocketEvent::Opened));
        let message = Closure::new(move |event: MessageEvent| {
            on_frame(SocketEvent::Frame(js_sys::Uint8Array::new(&event.data()).to_vec()));
        });
        let closed = Closure::new(move |event: CloseEvent| {
            on_close(if event.code() == STRANGER { SocketEvent::Stranger } else { SocketEvent::Closed });
        });
        socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        Some(Self { socket, _opened: opened, _message: message, _closed: closed })
    }

    pub(super) fn send(&self, frame: &ViewerFrame) {
        if let Ok(bytes) = wire::encode(frame) {
            let _ = self.socket.send_with_u8_array(&bytes); // a socket that breaks says so by closing
        }
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
