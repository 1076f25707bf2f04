//! Recordings: JSON lines of what a client observed, read strictly in file order.
//!
//! `{"observedAtMillis", "kind", "type": LISTED | LIST_DONE | ADDED | MODIFIED | DELETED | BOOKMARK, "object"}`; LIST_DONE may name
//! the namespace of its list, since when nobody looked (`blindSinceMillis`), and the UIDs that it held. Other kinds
//! and bookmarks are passed over; a malformed line is reported with its number, and the rest still plays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use timeline::fact::{Kind, Seen};
use timeline::words::safe;
use timeline::{Fact, Millis, Timeline, Uid};

use crate::kube::translate::{Object, Unusable};
use crate::kube::{Observed, SourceEvent};

/// One line as it is written, with an object of some form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedLine<'a, O> {
    /// Arrival, our clock.
    pub observed_at_millis: Millis,
    /// Kind as Kubernetes spells it.
    pub kind: std::borrow::Cow<'a, str>,
    /// What kind of observation.
    pub r#type: LineType,
    /// Of LIST_DONE, for a list after the first: since when nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "blindSinceMillis")]
    // as recordings always had it
    pub gap_since_millis: Option<Millis>,
    /// Of LIST_DONE: the namespace that the list was limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<std::borrow::Cow<'a, str>>,
    /// Of LIST_DONE: the UIDs that the list held, where not all of them have lines of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<Vec<Uid>>,
    /// The object; of LIST_DONE and BOOKMARK only its resourceVersion.
    pub object: O,
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

/// A line that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("line {number}: {}", safe(&why.to_string()))]
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
    /// Where it was read to be kept: the line of each observation, with the fields that are decoded and no others.
    pub lines: Vec<String>,
}

impl Recording {
    /// Reads a recording. Bad lines are kept aside.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self::read_lines(text, false)
    }

    /// Reads a recording that is to be kept as well.
    #[must_use]
    pub fn read_to_keep(text: &str) -> Self {
        Self::read_lines(text, true)
    }

    fn read_lines(text: &str, is_kept: bool) -> Self {
        let mut recording = Self::default();
        let mut listing = Listing::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match read_line(line, &mut listing, is_kept) {
                Ok((observed, object)) => {
                    recording.lines.extend(is_kept.then(|| kept_line(&observed, object)));
                    recording.observed.push(observed);
                }
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
            observed.apply(&mut timeline);
        }
        timeline
    }
}

/// Tells the observations of a recording one after the other, so that they need not be held together. Bad lines are passed over.
pub fn observations(text: &str) -> impl Iterator<Item = Observed> {
    let mut listing = Listing::default();
    text.lines().filter_map(move |line| read_line(line, &mut listing, false).ok().map(|(observed, _)| observed))
}

/// The lines of a source's event; objects are written with the fields that are decoded and no others.
#[must_use]
pub fn lines(event: &SourceEvent) -> Vec<String> {
    match event {
        SourceEvent::Page { objects, at_millis, .. } => {
            objects.iter().filter_map(|object| object_line(*at_millis, LineType::Listed, object)).collect()
        }
        SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis } => {
            let uids = objects.iter().filter_map(|object| object.uid().ok());
            let present = (!earlier.is_empty()).then(|| earlier.iter().copied().chain(uids).collect());
            let listed = objects.iter().filter_map(|object| object_line(*at_millis, LineType::Listed, object));
            let done = ListDone {
                kind: *kind,
                namespace: namespace.as_deref(),
                at_millis: *at_millis,
                gap_since_millis: *gap_since_millis,
                present,
            };
            listed.chain(list_done(done)).collect()
        }
        SourceEvent::Object { object, seen, at_millis } => {
            let r#type = match seen {
                Seen::InList => LineType::Listed,
                Seen::Added => LineType::Added,
                Seen::Modified => LineType::Modified,
                Seen::Deleted => LineType::Deleted,
            };
            object_line(*at_millis, r#type, object).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The line of an object.
#[must_use]
pub fn object_line(at_millis: Millis, r#type: LineType, object: &Object) -> Option<String> {
    let line = RecordedLine {
        observed_at_millis: at_millis,
        kind: object.kind().name().into(),
        r#type,
        gap_since_millis: None,
        namespace: None,
        present: None,
        object,
    };
    serde_json::to_string(&line).ok()
}

/// A list that is complete.
#[derive(Debug)]
pub struct ListDone<'a> {
    /// Kind that was listed.
    pub kind: Kind,
    /// The namespace that it was limited to.
    pub namespace: Option<&'a str>,
    /// Arrival.
    pub at_millis: Millis,
    /// For a list after the first: since when nobody looked.
    pub gap_since_millis: Option<Millis>,
    /// The UIDs that it held, where not all of them have lines of their own.
    pub present: Option<Vec<Uid>>,
}

/// The line of a list that is complete.
#[must_use]
pub fn list_done(list: ListDone<'_>) -> Option<String> {
    let line = RecordedLine {
        observed_at_millis: list.at_millis,
        kind: list.kind.name().into(),
        r#type: LineType::ListDone,
        gap_since_millis: list.gap_since_millis,
        namespace: list.namespace.map(Into::into),
        present: list.present,
        object: serde_json::Map::new(),
    };
    serde_json::to_string(&line).ok()
}

/// What was read of the lists so far.
#[derive(Default)]
struct Listing {
    /// UIDs of the list that is being read.
    present: BTreeMap<Kind, Vec<Uid>>,
    /// The last word of each kind that was listed before, bookmarks included.
    last_word: BTreeMap<Kind, Millis>,
    /// Since when nobody looked, for a list after the first.
    gap_since: BTreeMap<Kind, Millis>,
}

impl Listing {
    /// Takes note of a line: a list after the first ends a time in which nobody looked.
    fn hear(&mut self, kind: Kind, r#type: LineType, at_millis: Millis) {
        match (r#type, self.last_word.get(&kind).copied()) {
            (LineType::Listed | LineType::ListDone, Some(last)) => {
                self.gap_since.entry(kind).or_insert(last);
            }
            (LineType::Listed, None) => return, // the first list is not complete yet
            _ => {}
        }
        self.last_word.insert(kind, at_millis);
    }
}

/// What a line tells, and the line of its object as it is kept, where it is.
fn read_line(line: &str, listing: &mut Listing, is_kept: bool) -> Result<(Observed, Option<String>), Unusable> {
    let line: RecordedLine<'_, &RawValue> = serde_json::from_str(line)?;
    let at_millis = line.observed_at_millis;
    let Some(kind) = Kind::from_name(&line.kind) else {
        let kept = is_kept.then(|| time_line(at_millis, &line.kind)).flatten();
        return Ok((Observed { at_millis, fact: None }, kept));
    };
    listing.hear(kind, line.r#type, at_millis);
    let seen = match line.r#type {
        LineType::Bookmark => {
            let kept = is_kept.then(|| time_line(at_millis, &line.kind)).flatten();
            return Ok((Observed { at_millis, fact: None }, kept));
        }
        LineType::ListDone => {
            let listed = listing.present.remove(&kind).unwrap_or_default();
            let gap_since = listing.gap_since.remove(&kind);
            // Where lists are of one namespace each, the first of another one follows no gap.
            let gap_since_millis = line.gap_since_millis.or(gap_since.filter(|_| line.namespace.is_none()));
            let namespace = line.namespace.map(std::borrow::Cow::into_owned);
            let fact = Fact::Listed { kind, namespace, present: line.present.unwrap_or(listed), gap_since_millis };
            return Ok((Observed { at_millis, fact: Some(fact) }, None));
        }
        LineType::Listed => Seen::InList,
        LineType::Added => Seen::Added,
        LineType::Modified => Seen::Modified,
        LineType::Deleted => Seen::Deleted,
    };
    let object = Object::decode(kind, line.object.get())?;
    if seen == Seen::InList {
        listing.present.entry(kind).or_default().push(object.uid()?);
    }
    let kept = is_kept.then(|| object_line(at_millis, line.r#type, &object)).flatten();
    Ok((Observed { at_millis, fact: object.fact(seen)? }, kept))
}

/// An observation as it is kept. Lists name what they held and the gap before them, so that their lines may come apart.
fn kept_line(observed: &Observed, object: Option<String>) -> String {
    let Observed { at_millis, fact } = observed;
    let list = || match fact {
        Some(Fact::Listed { kind, namespace, present, gap_since_millis }) => list_done(ListDone {
            kind: *kind,
            namespace: namespace.as_deref(),
            at_millis: *at_millis,
            gap_since_millis: *gap_since_millis,
            present: Some(present.clone()),
        }),
        _ => None,
    };
    object.or_else(list).unwrap_or_default() // an empty line is passed over
}

/// The line of what only tells the time.
fn time_line(at_millis: Millis, kind: &str) -> Option<String> {
    let line = RecordedLine {
        observed_at_millis: at_millis,
        kind: kind.into(),
        r#type: LineType::Bookmark,
        gap_since_millis: None,
        namespace: None,
        present: None,
        object: serde_json::Map::new(),
    };
    serde_json::to_string(&line).ok()
}
