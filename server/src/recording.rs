//! Recordings: JSON lines of what a client observed, read strictly in file order.
//!
//! `{"observedAtMillis", "kind", "type": LISTED | LIST_DONE | ADDED | MODIFIED | DELETED | BOOKMARK, "object"}`. Other kinds
//! and bookmarks are passed over; a malformed line is reported with its number, and the rest still plays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use timeline::fact::{Kind, Seen};
use timeline::{Fact, Millis, Timeline, Uid};

use crate::translate::{Object, Unusable};

/// One line as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a> {
    /// Arrival, our clock.
    pub observed_at_millis: Millis,
    /// Kind as Kubernetes spells it.
    pub kind: std::borrow::Cow<'a, str>,
    /// What kind of observation.
    pub r#type: LineType,
    /// The object; of LIST_DONE and BOOKMARK only its resourceVersion.
    #[serde(borrow)]
    pub object: &'a RawValue,
}

/// What kind of observation a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LineType {
    /// An object in a list.
    Listed,
    /// The list is complete.
    ListDone,
    /// Watch event.
    Added,
    /// Watch event.
    Modified,
    /// Watch event; the object as it was last.
    Deleted,
    /// Watch event without an object.
    Bookmark,
}

/// A fact and when it arrived.
#[derive(Debug)]
pub struct Observed {
    /// Arrival.
    pub at_millis: Millis,
    /// What; `None` for a line that only tells the time.
    pub fact: Option<Fact>,
}

/// A line that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("line {number}: {why}")]
pub struct BadLine {
    /// Counted from 1.
    pub number: usize,
    /// What is wrong with it.
    pub why: Unusable,
}

/// A recording, read.
#[derive(Debug, Default)]
pub struct Recording {
    /// Its observations in file order.
    pub observed: Vec<Observed>,
    /// Lines that could not be used.
    pub bad_lines: Vec<BadLine>,
}

impl Recording {
    /// Reads a recording. Bad lines are kept aside.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut recording = Self::default();
        let mut listing = BTreeMap::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match read_line(line, &mut listing) {
                Ok(observed) => recording.observed.push(observed),
                Err(why) => recording.bad_lines.push(BadLine { number: index + 1, why }),
            }
        }
        recording
    }

    /// Arrival of the first and the last line.
    #[must_use]
    pub fn span(&self) -> Option<(Millis, Millis)> {
        Some((self.observed.first()?.at_millis, self.observed.last()?.at_millis))
    }

    /// Plays it to its end and returns the timeline.
    #[must_use]
    pub fn play(self) -> Timeline {
        let mut timeline = Timeline::new();
        for observed in self.observed {
            match observed.fact {
                Some(fact) => timeline.apply(observed.at_millis, fact),
                None => timeline.tick(observed.at_millis),
            };
        }
        timeline
    }
}

fn read_line(line: &str, listing: &mut BTreeMap<Kind, Vec<Uid>>) -> Result<Observed, Unusable> {
    let line: Line<'_> = serde_json::from_str(line)?;
    let at_millis = line.observed_at_millis;
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == line.kind) else {
        return Ok(Observed { at_millis, fact: None });
    };
    let seen = match line.r#type {
        LineType::Bookmark => return Ok(Observed { at_millis, fact: None }),
        LineType::ListDone => {
            let present = listing.remove(&kind).unwrap_or_default();
            return Ok(Observed { at_millis, fact: Some(Fact::Listed { kind, namespace: None, present }) });
        }
        LineType::Listed => Seen::InList,
        LineType::Added | LineType::Modified => Seen::InWatch,
        LineType::Deleted => Seen::Deleted,
    };
    let object = Object::decode(kind, line.object.get())?;
    if seen == Seen::InList {
        listing.entry(kind).or_default().push(object.uid()?);
    }
    Ok(Observed { at_millis, fact: object.fact(seen)? })
}
