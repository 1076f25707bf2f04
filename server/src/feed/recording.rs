//! Recordings: JSON lines of the observations of a client, read strictly in file order.
//!
//! `{"observedAtMillis", "kind", "type": LISTED | LIST_DONE | ADDED | MODIFIED | DELETED | BOOKMARK, "object"}`; LIST_DONE may have
//! the namespace of its list, the begin of the gap before it (`blindSinceMillis`), and the UIDs in it. Other kinds and bookmarks
//! are skipped; a malformed line is reported with its number, and the rest still plays.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use timeline::fact::{Kind, Seen};
use timeline::words::safe;
use timeline::{Fact, Millis, Timeline, Uid};

use crate::kube::translate::{Object, Unusable};
use crate::kube::{Observed, SourceEvent};

/// One line of a recording, with an object in some form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedLine<'a, O> {
    /// Arrival, by our clock.
    pub observed_at_millis: Millis,
    /// Kind as Kubernetes spells it.
    pub kind: Cow<'a, str>,
    /// Type of the observation.
    pub r#type: LineType,
    /// Of LIST_DONE, for a list after the first: begin of the gap before it.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "blindSinceMillis")]
    // as recordings always had it
    pub gap_since_millis: Option<Millis>,
    /// Of LIST_DONE: the only namespace of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Cow<'a, str>>,
    /// Of LIST_DONE: the UIDs in the list, if not all of them have lines of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<Vec<Uid>>,
    /// The object; of LIST_DONE and BOOKMARK only its resourceVersion.
    pub object: O,
}

/// A line whose object is not decoded.
pub type RawLine<'a> = RecordedLine<'a, &'a RawValue>;

impl<'a> RawLine<'a> {
    /// Returns the line of a text; `None` if it is malformed.
    pub fn parse(line: &'a str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

impl<'a, O: Serialize> RecordedLine<'a, O> {
    fn new(observed_at_millis: Millis, kind: &'a str, r#type: LineType, object: O) -> Self {
        let (gap_since_millis, namespace, present) = (None, None, None);
        Self { observed_at_millis, kind: kind.into(), r#type, gap_since_millis, namespace, present, object }
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // every field can be encoded as JSON
    }
}

/// Type of the observation of a line.
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
    /// Watch event with the last state of the object.
    Deleted,
    /// Watch event without an object.
    Bookmark,
}

/// A recording in memory.
#[derive(Debug, Default)]
pub struct Recording {
    /// Its observations in file order.
    pub observed: Vec<Observed>,
    /// Errors of lines that cannot be used, with their numbers.
    pub bad_lines: Vec<String>,
    /// If history stores it: the line of each observation, with the decoded fields only. Lists have their UIDs and the gap
    /// before them, so that their lines may be stored apart.
    pub lines: Vec<String>,
}

impl Recording {
    /// Reads a recording. Bad lines are set aside.
    pub fn read(text: &str) -> Self {
        Self::read_lines(text, false)
    }

    /// Reads a recording that history stores.
    pub fn read_to_store(text: &str) -> Self {
        Self::read_lines(text, true)
    }

    fn read_lines(text: &str, is_kept: bool) -> Self {
        let mut recording = Self::default();
        let mut lists = ListReader::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match lists.read_line(line, is_kept) {
                Ok((observed, line)) => {
                    recording.lines.extend(line);
                    recording.observed.push(observed);
                }
                Err(why) => {
                    recording.bad_lines.push(format!("line {}: {}", index + 1, safe(&why.to_string())));
                }
            }
        }
        recording
    }

    /// Returns the arrival of the first and the last line.
    pub fn span(&self) -> Option<(Millis, Millis)> {
        Some((self.observed.first()?.at_millis, self.observed.last()?.at_millis))
    }

    /// Plays it to its end and returns the timeline.
    pub fn play(self) -> Timeline {
        let mut timeline = Timeline::new();
        for observed in self.observed {
            observed.apply(&mut timeline);
        }
        timeline
    }
}

/// Iterates over the observations of a recording, which need not be in memory together. Bad lines are skipped.
pub fn observations(text: &str) -> impl Iterator<Item = Observed> {
    let mut lists = ListReader::default();
    text.lines().filter_map(move |line| lists.read_line(line, false).ok().map(|(observed, _)| observed))
}

/// Returns the lines of a source's event, with the decoded fields only.
pub fn lines(event: &SourceEvent) -> Vec<String> {
    match event {
        SourceEvent::Page { objects, at_millis, .. } => {
            objects.iter().map(|object| object_line(*at_millis, LineType::Listed, object)).collect()
        }
        SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis } => {
            let uids = objects.iter().filter_map(|object| object.uid().ok());
            let present = (!earlier.is_empty()).then(|| earlier.iter().copied().chain(uids).collect());
            let listed = objects.iter().map(|object| object_line(*at_millis, LineType::Listed, object));
            listed.chain([list_done(*kind, namespace.as_deref(), *at_millis, *gap_since_millis, present)]).collect()
        }
        SourceEvent::Object { object, seen, at_millis } => {
            let r#type = match seen {
                Seen::InList => LineType::Listed,
                Seen::Added => LineType::Added,
                Seen::Modified => LineType::Modified,
                Seen::Deleted => LineType::Deleted,
            };
            vec![object_line(*at_millis, r#type, object)]
        }
        _ => Vec::new(),
    }
}

/// Returns the line of an object.
pub fn object_line(at_millis: Millis, r#type: LineType, object: &Object) -> String {
    RecordedLine::new(at_millis, object.kind().name(), r#type, object).to_json()
}

/// Returns the line of a complete list: of a kind in all namespaces or one, after a gap or not, with the UIDs in it unless all
/// have lines of their own.
pub fn list_done(
    kind: Kind,
    namespace: Option<&str>,
    at_millis: Millis,
    gap_since_millis: Option<Millis>,
    present: Option<Vec<Uid>>,
) -> String {
    let line = RecordedLine::new(at_millis, kind.name(), LineType::ListDone, serde_json::Map::new());
    RecordedLine { gap_since_millis, namespace: namespace.map(Into::into), present, ..line }.to_json()
}

/// Returns a line that carries only a time.
pub fn bookmark_line(at_millis: Millis, kind: &str) -> String {
    RecordedLine::new(at_millis, kind, LineType::Bookmark, serde_json::Map::new()).to_json()
}

#[derive(Default)]
struct ListReader {
    /// UIDs of the list that is being read.
    present: BTreeMap<Kind, Vec<Uid>>,
    /// Last observation of each kind that was listed before, bookmarks included.
    last_seen: BTreeMap<Kind, Millis>,
    /// Begin of the gap, for a list after the first.
    gap_since: BTreeMap<Kind, Millis>,
    /// Kinds and namespaces of the lists that were complete.
    listed: BTreeSet<(Kind, Option<String>)>,
}

impl ListReader {
    /// Takes note of a line: a list after the first ends a gap.
    fn note(&mut self, kind: Kind, r#type: LineType, at_millis: Millis) {
        match (r#type, self.last_seen.get(&kind).copied()) {
            (LineType::Listed | LineType::ListDone, Some(last)) => {
                self.gap_since.entry(kind).or_insert(last);
            }
            (LineType::Listed, None) => return, // the first list is not complete yet
            _ => {}
        }
        self.last_seen.insert(kind, at_millis);
    }

    /// Returns the observation of a line, and its line to store if that is wanted.
    fn read_line(&mut self, line: &str, is_kept: bool) -> Result<(Observed, Option<String>), Unusable> {
        let line: RawLine<'_> = serde_json::from_str(line)?;
        let at_millis = line.observed_at_millis;
        let bookmark = |kind: &str| {
            let line = is_kept.then(|| bookmark_line(at_millis, kind));
            (Observed { at_millis, fact: None }, line)
        };
        let Some(kind) = Kind::from_name(&line.kind) else { return Ok(bookmark(&line.kind)) };
        self.note(kind, line.r#type, at_millis);
        let seen = match line.r#type {
            LineType::Bookmark => return Ok(bookmark(&line.kind)),
            LineType::ListDone => {
                let listed = self.present.remove(&kind).unwrap_or_default();
                let gap_since = self.gap_since.remove(&kind);
                let (namespace, present) = (line.namespace.map(Cow::into_owned), line.present.unwrap_or(listed));
                let is_first = self.listed.insert((kind, namespace.clone()));
                // If each list is of one namespace, the first list of another namespace follows no gap.
                let gap_since = gap_since.filter(|_| namespace.is_none() || !is_first);
                let gap_since_millis = line.gap_since_millis.or(gap_since);
                let line = || list_done(kind, namespace.as_deref(), at_millis, gap_since_millis, Some(present.clone()));
                let line = is_kept.then(line);
                let fact = Fact::Listed { kind, namespace, present, gap_since_millis };
                return Ok((Observed { at_millis, fact: Some(fact) }, line));
            }
            LineType::Listed => Seen::InList,
            LineType::Added => Seen::Added,
            LineType::Modified => Seen::Modified,
            LineType::Deleted => Seen::Deleted,
        };
        let object = Object::decode(kind, line.object.get())?;
        if seen == Seen::InList {
            self.present.entry(kind).or_default().push(object.uid()?);
        }
        let line = is_kept.then(|| object_line(at_millis, line.r#type, &object));
        Ok((Observed { at_millis, fact: object.fact(seen)? }, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_a_namespace_after_its_first_one_ends_a_gap() {
        let done = |at_millis: Millis, namespace: &str| list_done(Kind::Pod, Some(namespace), at_millis, None, None);
        let lines = [done(1_000, "shop"), bookmark_line(2_000, "Pod"), done(3_000, "other"), done(9_000, "shop")];
        let observed = Recording::read(&lines.join("\n")).observed;
        let gaps: Vec<_> = observed
            .into_iter()
            .filter_map(|observed| match observed.fact {
                Some(Fact::Listed { gap_since_millis, .. }) => Some(gap_since_millis),
                _ => None,
            })
            .collect();
        assert_eq!(gaps, [None, None, Some(3_000)]);
    }
}
