//! Folding: from a keyframe and the lines after it, the next keyframe: everything that exists then, each object once.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::fact::Kind;
use timeline::{Millis, Uid};

use crate::feed::recording::{self, LineType, ListDone, RecordedLine};

/// Of an object only who it is.
#[derive(Deserialize)]
struct Identified {
    metadata: Identity,
}

#[derive(Deserialize)]
struct Identity {
    uid: Uid,
    #[serde(default)]
    namespace: String,
}

/// An object as it was last.
struct Known {
    namespace: String,
    at_millis: Millis,
    line: String,
}

/// Everything that exists, as lines tell it.
#[derive(Default)]
pub(super) struct Fold {
    known: BTreeMap<(Kind, Uid), Known>,
    listing: BTreeMap<Kind, BTreeSet<Uid>>,
    /// Kinds and namespaces that were listed.
    listed: BTreeSet<(Kind, Option<String>)>,
    at_millis: Millis,
}

impl Fold {
    /// Takes lines. Those that cannot be read are passed over. Events are not kept: they illustrate what happened, and exist for an hour.
    pub(super) fn take(&mut self, text: &str) {
        for line in text.lines() {
            if let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) {
                self.at_millis = self.at_millis.max(read.observed_at_millis);
                if let Some(kind) = Kind::from_name(&read.kind).filter(|kind| *kind != Kind::Event) {
                    self.line(kind, &read, line);
                }
            }
        }
    }

    /// Begins with what existed in a namespace: lines as [`Self::lines`] has them.
    pub(super) fn begin(&mut self, text: &str, namespace: &str) {
        self.take(text);
        self.listing.clear();
        let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Event);
        self.listed.extend(kinds.map(|kind| (kind, Some(namespace.to_owned()))));
    }

    /// The last line of everything that exists and is wanted.
    pub(super) fn lines(&self, is_wanted: impl Fn(&Uid) -> bool) -> String {
        let mut known: Vec<(&(Kind, Uid), &Known)> = self.known.iter().filter(|((_, uid), _)| is_wanted(uid)).collect();
        known.sort_by_key(|((kind, _), known)| (*kind, known.at_millis));
        known.iter().map(|(_, known)| format!("{}\n", known.line)).collect()
    }

    /// Everything that exists.
    pub(super) fn uids(&self) -> BTreeSet<Uid> {
        self.known.keys().map(|(_, uid)| *uid).collect()
    }

    fn line(&mut self, kind: Kind, read: &RecordedLine<'_, &RawValue>, line: &str) {
        match read.r#type {
            LineType::Bookmark => {}
            LineType::ListDone => {
                let listed = self.listing.remove(&kind).unwrap_or_default();
                let present = read.present.as_ref().map(|present| present.iter().copied().collect()).unwrap_or(listed);
                let scope = read.namespace.as_deref();
                let is_there = |uid: &Uid, known: &Known| {
                    scope.is_some_and(|scope| scope != known.namespace) || present.contains(uid)
                };
                self.known.retain(|(of, uid), known| *of != kind || is_there(uid, known));
                self.listed.insert((kind, scope.map(str::to_owned)));
            }
            LineType::Deleted => {
                if let Ok(object) = serde_json::from_str::<Identified>(read.object.get()) {
                    self.known.remove(&(kind, object.metadata.uid));
                }
            }
            LineType::Listed | LineType::Added | LineType::Modified => {
                let Ok(object) = serde_json::from_str::<Identified>(read.object.get()) else { return };
                let Identity { uid, namespace } = object.metadata;
                if read.r#type == LineType::Listed {
                    self.listing.entry(kind).or_default().insert(uid);
                }
                let known = Known { namespace, at_millis: read.observed_at_millis, line: line.to_owned() };
                self.known.insert((kind, uid), known);
            }
        }
    }

    /// Time passes until then, and nothing changes: the next keyframe tells of that time.
    pub(super) fn reach(&mut self, at_millis: Millis) {
        self.at_millis = self.at_millis.max(at_millis);
    }

    /// The lines of a keyframe, and the time that they tell of. What lies between a gap's begin and that time was not seen.
    pub(super) fn keyframe(&self, gap_since_millis: Option<Millis>) -> (Millis, String) {
        let mut known: Vec<(&(Kind, Uid), &Known)> = self.known.iter().collect();
        known.sort_by_key(|((kind, _), known)| (*kind, known.at_millis));
        let mut text = String::new();
        for kind in Kind::ALL {
            for (_, known) in known.iter().filter(|((of, _), _)| *of == kind) {
                if let Some(line) = listed(&known.line, self.at_millis) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            for (_, scope) in self.listed.iter().filter(|(of, _)| *of == kind) {
                let namespace = scope.as_deref();
                let in_scope = |known: &Known| namespace.is_none_or(|scope| scope == known.namespace);
                let present = known.iter().filter(|((of, _), known)| *of == kind && in_scope(known));
                let present = present.map(|((_, uid), _)| *uid).collect();
                let done =
                    ListDone { kind, namespace, at_millis: self.at_millis, gap_since_millis, present: Some(present) };
                text.extend(recording::list_done(done));
                text.push('\n');
            }
        }
        (self.at_millis, text)
    }
}

/// A line as one of a list.
fn listed(line: &str, at_millis: Millis) -> Option<String> {
    let read: RecordedLine<'_, &RawValue> = serde_json::from_str(line).ok()?;
    serde_json::to_string(&RecordedLine { observed_at_millis: at_millis, r#type: LineType::Listed, ..read }).ok()
}
