//! Values as text, for documents and events: what the server writes, the page's program reads. Postcard as base64.

#[cfg(feature = "ssr")]
use serde::Serialize;
use serde::de::DeserializeOwned;
use timeline::wire;

/// A value as text, on the server.
#[cfg(feature = "ssr")]
pub fn encode<T: Serialize>(value: &T) -> String {
    use base64::Engine;
    let bytes = wire::encode(value).unwrap_or_default(); // what is here can always be encoded
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Reads it, in the browser; `None` where it is not of this program.
pub fn decode<T: DeserializeOwned>(text: &str) -> Option<T> {
    wire::decode(&crate::browser::bytes_of_base64(text)?).ok()
}
