//! Server-sent events.

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;
use web_sys::{EventSource, MessageEvent};

/// A stream of server-sent events, until it is dropped. The browser reconnects by itself.
pub struct Stream {
    source: SendWrapper<EventSource>,
    _listener: SendWrapper<Closure<dyn FnMut(MessageEvent)>>,
}

impl Stream {
    /// Subscribes to the events at an address and passes the text of each one; `None` if the browser does not support streams.
    pub fn open(address: &str, on_event: impl Fn(&str) + 'static) -> Option<Self> {
        let source = EventSource::new(address).ok()?;
        let listener = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(text) = event.data().as_string() {
                on_event(&text);
            }
        });
        source.set_onmessage(Some(listener.as_ref().unchecked_ref()));
        Some(Self { source: SendWrapper::new(source), _listener: SendWrapper::new(listener) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.source.close();
    }
}
