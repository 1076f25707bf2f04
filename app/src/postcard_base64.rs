//! Values as text (postcard in base64), for documents and events: written by the server, read by the page's program.

#[cfg(feature = "ssr")]
use serde::Serialize;
use serde::de::DeserializeOwned;
use timeline::wire;

/// Encodes a value, on the server.
#[cfg(feature = "ssr")]
pub fn encode<T: Serialize>(value: &T) -> String {
    use base64::Engine;
    let bytes = wire::encode(value).unwrap_or_default(); // these values can always be encoded
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Decodes a value, in the browser; `None` if it is of another program.
pub fn decode<T: DeserializeOwned>(text: &str) -> Option<T> {
    wire::decode(&crate::browser::bytes_of_base64(text)?).ok()
}
