//! Requests to the server, and its responses.

use js_sys::Promise;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{FormData, Headers, HtmlButtonElement, HtmlFormElement, RequestInit, Response, UrlSearchParams};

/// A response of the server.
pub struct HttpResponse(Response);

impl HttpResponse {
    /// Returns whether the status is a success.
    pub fn is_ok(&self) -> bool {
        self.0.ok()
    }

    /// Returns whether a proxy in front of the server made this error: every response of the server itself has its policy header.
    pub fn is_proxy_error(&self) -> bool {
        let policy = self.0.headers().get("content-security-policy").ok().flatten();
        self.0.status() >= 500 && !policy.is_some_and(|policy| policy.contains("trusted-types default"))
    }

    /// Reads the whole body as bytes; `None` if the connection ends before.
    pub async fn bytes(self) -> Option<Vec<u8>> {
        let bytes = JsFuture::from(self.0.array_buffer().ok()?).await.ok()?;
        Some(js_sys::Uint8Array::new(&bytes).to_vec())
    }

    /// Reads the whole body as text; `None` if the connection ends before.
    pub async fn text(self) -> Option<String> {
        JsFuture::from(self.0.text().ok()?).await.ok()?.as_string()
    }
}

/// Requests an address; `None` if no response arrives.
pub async fn fetch(address: &str) -> Option<HttpResponse> {
    response(window().fetch_with_str(address)).await
}

/// Sends the form of an event, with the button that submitted it, and requests a response of that media type. Returns `None` if the form
/// cannot be read; the future returns `None` if no response arrives.
pub fn send_form(
    event: &SubmitEvent,
    address: &str,
    accept: &str,
) -> Option<impl Future<Output = Option<HttpResponse>> + use<>> {
    let form: HtmlFormElement = event.target()?.dyn_into().ok()?;
    let values = FormData::new_with_form(&form).ok()?;
    if let Some(button) = event.submitter().and_then(|by| by.dyn_into::<HtmlButtonElement>().ok()) {
        values.append_with_str(&button.name(), &button.value()).ok()?;
    }
    let headers = Headers::new().ok()?;
    headers.set("accept", accept).ok()?;
    let request = RequestInit::new();
    request.set_method("POST");
    request.set_headers(&headers);
    let body = UrlSearchParams::new_with_str_sequence_sequence(&values).ok()?;
    request.set_body(&body);
    Some(response(window().fetch_with_str_and_init(address, &request)))
}

async fn response(promise: Promise) -> Option<HttpResponse> {
    JsFuture::from(promise).await.ok()?.dyn_into().ok().map(HttpResponse)
}
