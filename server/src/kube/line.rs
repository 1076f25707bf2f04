//! A line of a watch, decoded in one pass: its type, then the fields of its object that Rollcast shows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use timeline::fact::{Kind, Seen};

use crate::kube::error::RequestError;
use crate::kube::translate::{Object, Unusable};

/// A line of a watch, except for the one that ends it.
#[derive(Debug)]
pub enum WatchEvent {
    /// An object.
    Object(Object, Seen),
    /// An object that cannot be used.
    Skipped(Unusable),
    /// A bookmark: a later position of the watch.
    Bookmark(Bookmark),
}

/// A bookmark: a later position of the watch.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bookmark {
    /// `None` if it cannot be read.
    pub resource_version: Option<String>,
    /// Whether every object that existed at the start was sent.
    #[serde(rename = "annotations", deserialize_with = "has_initial_end")]
    pub is_initial_end: bool,
}

fn has_initial_end<'de, D: Deserializer<'de>>(annotations: D) -> Result<bool, D::Error> {
    let annotations = Option::<BTreeMap<String, String>>::deserialize(annotations)?.unwrap_or_default();
    Ok(annotations.get("k8s.io/initial-events-end").is_some_and(|end| end == "true"))
}

/// Decodes a line.
///
/// # Errors
/// If it is the error with which the API server ends a watch, or not valid JSON, for example because it was cut off.
pub fn decode_line(kind: Kind, line: &[u8]) -> Result<WatchEvent, RequestError> {
    // UTF-8 is validated once for the whole line; from bytes, serde would validate each string.
    let text = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    let decoded = match kind {
        Kind::Deployment => decode(&text, Object::Deployment),
        Kind::ReplicaSet => decode(&text, Object::ReplicaSet),
        Kind::Pod => decode(&text, Object::Pod),
        Kind::Event => decode(&text, Object::Event),
    };
    match decoded {
        Err(RequestError::Malformed(error)) if error.classify() == Category::Data => {
            Ok(WatchEvent::Skipped(error.into()))
        }
        other => other,
    }
}

/// A line of a watch. If the type comes first, as in the API server's output, the object is decoded in the same pass.
#[derive(Deserialize)]
#[serde(tag = "type", content = "object", rename_all = "UPPERCASE")]
enum Line<T> {
    Added(T),
    Modified(T),
    Deleted(T),
    Bookmark(BookmarkObject),
    Error(Status),
}

#[derive(Deserialize)]
struct BookmarkObject {
    metadata: Bookmark,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

fn decode<T: DeserializeOwned>(text: &str, object: fn(T) -> Object) -> Result<WatchEvent, RequestError> {
    let (object, seen) = match serde_json::from_str::<Line<T>>(text)? {
        Line::Added(sent) => (object(sent), Seen::Added),
        Line::Modified(sent) => (object(sent), Seen::Modified),
        Line::Deleted(sent) => (object(sent), Seen::Deleted),
        Line::Bookmark(BookmarkObject { metadata }) => return Ok(WatchEvent::Bookmark(metadata)),
        Line::Error(Status { code, message }) => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return Err(RequestError::of_status(status, &message, Duration::ZERO));
        }
    };
    Ok(match object.uid() {
        Ok(_) => WatchEvent::Object(object, seen),
        Err(error) => WatchEvent::Skipped(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"metadata":{"name":"web","uid":"00000000-0000-4000-8000-000000000001"}}"#;

    fn decoded(line: &str) -> Result<WatchEvent, RequestError> {
        decode_line(Kind::Pod, line.as_bytes())
    }

    #[test]
    fn type_and_object_come_in_any_order() {
        for line in [
            format!(r#"{{"type":"MODIFIED","object":{POD}}}"#),
            format!(r#"{{"object":{POD},"more":[{{}}],"type":"MODIFIED"}}"#),
        ] {
            let line = decoded(&line).unwrap();
            let WatchEvent::Object(object, Seen::Modified) = line else { panic!("{line:?}") };
            assert_eq!(object, Object::decode(Kind::Pod, POD).unwrap());
        }
    }

    #[test]
    fn a_line_that_is_no_event_of_kubernetes_is_skipped_and_an_error_ends_the_watch() {
        let error = r#"{"kind":"Status","code":410,"message":"too old","details":{"causes":[{}]}}"#;
        let ended = "the resource version has expired (410 Gone)";
        for (line, expected) in [
            (format!(r#"{{"type":"RESTORED","object":{POD}}}"#), "skipped"),
            (format!(r#"{{"type":"Added","object":{POD}}}"#), "skipped"),
            (format!(r#"{{"type":"ADDED","object":{POD},"type":"DELETED"}}"#), "skipped"),
            (format!(r#"{{"object":{POD}}}"#), "skipped"),
            (r#"{"type":"ADDED"}"#.to_owned(), "skipped"),
            (r#"{"type":"ADDED","object":null}"#.to_owned(), "skipped"),
            (r#"{"type":"BOOKMARK","object":{}}"#.to_owned(), "skipped"),
            ("{}".to_owned(), "skipped"),
            ("[]".to_owned(), "skipped"),
            (format!(r#"{{"type":"ERROR","object":{error}}}"#), ended),
            (format!(r#"{{"object":{error},"type":"ERROR"}}"#), ended),
            (
                r#"{"type":"ERROR","object":{"code":504,"message":"too slow"}}"#.to_owned(),
                "the server responded 504 Gateway Timeout: too slow",
            ),
        ] {
            let told = match decoded(&line) {
                Ok(WatchEvent::Skipped(_)) => "skipped".to_owned(),
                Ok(other) => format!("{other:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(told, expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_an_error_at_every_byte() {
        let line = format!(r#"{{"type":"ADDED","object":{POD}}}"#);
        (0..line.len()).for_each(|length| assert!(decoded(&line[..length]).is_err(), "{length}"));
        assert!(decoded(&format!("{line}}}")).is_err());
    }

    #[test]
    fn bookmarks_say_where_the_objects_of_the_start_end() {
        let ends = |annotations: &str| {
            let metadata = format!(r#"{{"resourceVersion":"7"{annotations}}}"#);
            let line = decoded(&format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{metadata}}}}}"#)).unwrap();
            let WatchEvent::Bookmark(bookmark) = line else { panic!("{line:?}") };
            assert_eq!(bookmark.resource_version.as_deref(), Some("7"));
            bookmark.is_initial_end
        };
        assert!(ends(r#","annotations":{"k8s.io/initial-events-end":"true"}"#));
        assert!(!ends("") && !ends(r#","annotations":{"other":"true"}"#) && !ends(r#","annotations":null"#));
    }
}
