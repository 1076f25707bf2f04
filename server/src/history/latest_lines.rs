//! The last line of every existing object, and keyframes: a list of all of them with which a recording can begin.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use timeline::fact::Kind;
use timeline::{Millis, Uid};

use crate::feed::recording::{self, LineType, RawLine};

/// The identity of an object, its owners, and the subject of an Event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectRelations {
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) involved_object: Option<Reference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) uid: Uid,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) owner_references: Vec<Reference>,
}

#[derive(Deserialize)]
pub(super) struct Reference {
    #[serde(default)]
    pub(super) uid: Option<Uid>,
    #[serde(default)]
    pub(super) kind: String,
}

struct LatestLine {
    namespace: String,
    at_millis: Millis,
    line: String,
}

/// The last line of each object in a recording.
#[derive(Default)]
pub(super) struct LatestLines {
    objects: BTreeMap<(Kind, Uid), LatestLine>,
    /// UIDs in the lists that are in progress.
    listing: BTreeMap<Kind, BTreeSet<Uid>>,
    /// Kinds and namespaces that were listed.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// Time of the next keyframe.
    pub(super) at_millis: Millis,
    /// Arrival of the last line that is not an Event.
    changed_millis: Millis,
}

impl LatestLines {
    /// Reads lines. Skips malformed lines and Events, which only exist for an hour.
    pub(super) fn read(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(read) = RawLine::parse(line) {
                self.at_millis = self.at_millis.max(read.observed_at_millis);
                if let Some(kind) = Kind::from_name(&read.kind).filter(|kind| *kind != Kind::Event) {
                    self.changed_millis = self.changed_millis.max(read.observed_at_millis);
                    self.read_line(kind, &read, line);
                }
            }
        }
    }

    /// Begins with the objects of a namespace, in lines that [`Self::lines`] returned.
    pub(super) fn begin(&mut self, text: &str, namespace: &str) {
        self.read(text);
        self.listing.clear();
        let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Event);
        self.listed.extend(kinds.map(|kind| (kind, Some(namespace.to_owned()))));
    }

    /// Returns the last lines of some of the objects.
    pub(super) fn lines(&self, is_wanted: impl Fn(&Uid) -> bool) -> String {
        let objects = self.by_arrival().into_iter().filter(|(_, uid, _)| is_wanted(uid));
        objects.map(|(.., object)| format!("{}\n", object.line)).collect()
    }

    /// Returns the last lines of all objects, and a line with the time of the last change, which may concern an object that is gone.
    pub(super) fn at_rest(&self) -> String {
        let bookmark = recording::bookmark_line(self.changed_millis, Kind::Deployment.name());
        self.lines(|_| true) + &bookmark + "\n"
    }

    pub(super) fn uids(&self) -> BTreeSet<Uid> {
        self.objects.keys().map(|(_, uid)| *uid).collect()
    }

    fn by_arrival(&self) -> Vec<(Kind, Uid, &LatestLine)> {
        let mut objects: Vec<_> = self.objects.iter().map(|((kind, uid), object)| (*kind, *uid, object)).collect();
        objects.sort_by_key(|(kind, _, object)| (*kind, object.at_millis));
        objects
    }

    fn read_line(&mut self, kind: Kind, read: &RawLine<'_>, line: &str) {
        match read.r#type {
            LineType::Bookmark => {}
            LineType::ListDone => {
                let listed = self.listing.remove(&kind).unwrap_or_default();
                let present = read.present.as_ref().map(|present| present.iter().copied().collect()).unwrap_or(listed);
                let scope = read.namespace.as_deref();
                let exists = |uid: &Uid, object: &LatestLine| {
                    scope.is_some_and(|scope| scope != object.namespace) || present.contains(uid)
                };
                self.objects.retain(|(of, uid), object| *of != kind || exists(uid, object));
                self.listed.insert((kind, scope.map(str::to_owned)));
            }
            LineType::Deleted => {
                if let Ok(object) = serde_json::from_str::<ObjectRelations>(read.object.get()) {
                    self.objects.remove(&(kind, object.metadata.uid));
                }
            }
            LineType::Listed | LineType::Added | LineType::Modified => {
                let Ok(object) = serde_json::from_str::<ObjectRelations>(read.object.get()) else { return };
                let Metadata { uid, namespace, .. } = object.metadata;
                if read.r#type == LineType::Listed {
                    self.listing.entry(kind).or_default().insert(uid);
                }
                let object = LatestLine { namespace, at_millis: read.observed_at_millis, line: line.to_owned() };
                self.objects.insert((kind, uid), object);
            }
        }
    }

    /// Moves the time of the next keyframe to a time, unless it is already later.
    pub(super) fn advance(&mut self, at_millis: Millis) {
        self.at_millis = self.at_millis.max(at_millis);
    }

    /// Returns the lines of a keyframe, which mark the time since then as a gap.
    pub(super) fn keyframe(&self, gap_since_millis: Option<Millis>) -> String {
        let objects = self.by_arrival();
        let mut lines = Vec::new();
        for kind in Kind::ALL {
            let of_kind = || objects.iter().filter(|(of, ..)| *of == kind);
            lines.extend(of_kind().filter_map(|(.., object)| as_list_line(&object.line, self.at_millis)));
            for (_, scope) in self.listed.iter().filter(|(of, _)| *of == kind) {
                let namespace = scope.as_deref();
                let in_scope = |object: &LatestLine| namespace.is_none_or(|scope| scope == object.namespace);
                let present = of_kind().filter(|(.., object)| in_scope(object)).map(|(_, uid, _)| *uid).collect();
                lines.push(recording::list_done(kind, namespace, self.at_millis, gap_since_millis, Some(present)));
            }
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }
}

/// Returns a line as part of a list.
fn as_list_line(line: &str, at_millis: Millis) -> Option<String> {
    let read = RawLine { observed_at_millis: at_millis, r#type: LineType::Listed, ..RawLine::parse(line)? };
    serde_json::to_string(&read).ok()
}
