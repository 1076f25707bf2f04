//! A line of a watch, decoded in one pass: its type, then the fields of its object that Rollcast shows.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;
use timeline::fact::{Kind, Seen};

use crate::kube::translate::{Object, Unusable};

/// A line of a watch that goes on.
#[derive(Debug)]
pub enum WatchEvent {
    /// An object.
    Object(Object, Seen),
    /// An object that cannot be used.
    Skipped(Unusable),
    /// A later position.
    Bookmark(Bookmark),
}

/// Content of a line: an event, or the error that ends the watch.
pub type LineResult = Result<WatchEvent, Status>;

/// A later position.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    /// `None` if it cannot be read.
    pub resource_version: Option<String>,
    /// Every object that existed at the start was sent.
    pub is_initial_end: bool,
}

/// The error with which the API server ends a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// HTTP status.
    pub code: u16,
    /// Text for people.
    pub message: String,
}

/// Decodes a line.
///
/// # Errors
/// When it is no JSON, as where it was cut off.
pub fn decode_line(kind: Kind, line: &[u8]) -> serde_json::Result<LineResult> {
    // Text that was checked once is read faster than bytes, whose every string is checked.
    let text = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let decoded = LineSeed(kind).deserialize(&mut deserializer);
    match decoded.and_then(|decoded| deserializer.end().map(|()| decoded)) {
        Ok(Ok(WatchEvent::Object(object, seen))) => Ok(Ok(match object.uid() {
            Ok(_) => WatchEvent::Object(object, seen),
            Err(error) => WatchEvent::Skipped(error),
        })),
        Err(error) if error.classify() == Category::Data => Ok(Ok(WatchEvent::Skipped(error.into()))),
        other => other,
    }
}

struct LineSeed(Kind);

impl<'de> DeserializeSeed<'de> for LineSeed {
    type Value = LineResult;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LineResult, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed {
    type Value = LineResult;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a watch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LineResult, A::Error> {
        let (mut r#type, mut line, mut early) = (None::<Cow<'de, str>>, None, None::<&'de RawValue>);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match (&*key, &r#type) {
                ("type", _) => r#type = Some(map.next_value()?),
                ("object", Some(r#type)) => line = Some(map.next_value_seed(ObjectSeed(self.0, r#type))?),
                // API servers write the type first.
                ("object", None) => early = Some(map.next_value()?),
                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        let r#type = r#type.ok_or_else(|| A::Error::missing_field("type"))?;
        match (line, early) {
            (Some(line), _) => Ok(line),
            (None, Some(object)) => ObjectSeed(self.0, &r#type).deserialize(object).map_err(A::Error::custom),
            (None, None) => Err(A::Error::missing_field("object")),
        }
    }
}

/// Decodes the object of a line of that type.
struct ObjectSeed<'a>(Kind, &'a str);

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = LineResult;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LineResult, D::Error> {
        let Self(kind, r#type) = self;
        let seen = match r#type {
            "ADDED" => Seen::Added,
            "MODIFIED" => Seen::Modified,
            "DELETED" => Seen::Deleted,
            "BOOKMARK" => return bookmark(deserializer),
            _ => return Ok(Err(Status::deserialize(deserializer)?)),
        };
        Ok(Ok(WatchEvent::Object(Object::deserialize(kind, deserializer)?, seen)))
    }
}

fn bookmark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LineResult, D::Error> {
    #[derive(Deserialize)]
    struct Decoded {
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Metadata {
        resource_version: Option<String>,
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize)]
    struct Annotations {
        #[serde(rename = "k8s.io/initial-events-end")]
        initial_events_end: Option<String>,
    }
    let Decoded { metadata: Metadata { resource_version, annotations } } = Decoded::deserialize(deserializer)?;
    let is_initial_end = annotations.and_then(|annotations| annotations.initial_events_end).as_deref() == Some("true");
    Ok(Ok(WatchEvent::Bookmark(Bookmark { resource_version, is_initial_end })))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"metadata":{"name":"web","uid":"00000000-0000-4000-8000-000000000001"}}"#;

    fn decode(line: &str) -> serde_json::Result<LineResult> {
        decode_line(Kind::Pod, line.as_bytes())
    }

    #[test]
    fn type_and_object_come_in_any_order() {
        for line in [
            format!(r#"{{"type":"MODIFIED","object":{POD}}}"#),
            format!(r#"{{"object":{POD},"more":[{{}}],"type":"MODIFIED"}}"#),
        ] {
            let decoded = decode(&line).unwrap();
            let Ok(WatchEvent::Object(object, Seen::Modified)) = decoded else { panic!("{decoded:?}") };
            assert_eq!(object, Object::decode(Kind::Pod, POD).unwrap());
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_an_error_at_every_byte() {
        let line = format!(r#"{{"type":"ADDED","object":{POD}}}"#);
        (0..line.len()).for_each(|length| assert!(decode(&line[..length]).is_err(), "{length}"));
        assert!(decode(&format!("{line}}}")).is_err());
    }

    #[test]
    fn bookmarks_say_where_the_objects_of_the_start_end() {
        let decoded = |metadata: &str| decode(&format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{metadata}}}}}"#));
        let ends = |annotations: &str| {
            let decoded = decoded(&format!(r#"{{"resourceVersion":"7"{annotations}}}"#)).unwrap();
            let Ok(WatchEvent::Bookmark(bookmark)) = decoded else { panic!("{decoded:?}") };
            assert_eq!(bookmark.resource_version.as_deref(), Some("7"));
            bookmark.is_initial_end
        };
        assert!(ends(r#","annotations":{"k8s.io/initial-events-end":"true"}"#));
        assert!(!ends("") && !ends(r#","annotations":{"other":"true"}"#) && !ends(r#","annotations":null"#));
    }
}
