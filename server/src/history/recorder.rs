//! Records what happens to each workload while it is not at rest.
//!
//! Of every workload it has the objects as they were when it was last at rest, and the lines since then. When the workload is at rest
//! again, both together are one [`Episode`]: a recording that stands by itself. Everything is held compressed; a workload at rest
//! takes about as much memory as one of its pods has JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::fact::Kind;
use timeline::past::PastRollout;
use timeline::{Millis, Uid};

use super::batch;
use super::fold::Fold;
use super::index;
use super::store::{Episode, Recorded, Snapshot};
use super::stretch::{LEAD_MILLIS, LONGEST_MILLIS};
use crate::feed::recording::{self, LineType, ListDone, RecordedLine};

/// Lines of one episode take at most so many bytes; after that only what exists at its end is recorded, behind a gap.
const MOST_BYTES: usize = 16 << 20;
/// So many bytes of lines are compressed together.
const CHUNK: usize = 16 << 10;
/// What changes of a workload at rest, such as a label, is no episode once nothing followed for this long.
const QUIET: Duration = Duration::from_secs(90);
/// An episode that goes on is written this often at most, and at least: the longer it takes, the less often.
const WRITE_EVERY: (Millis, Millis) = (10_000, 300_000);

/// The workloads of one cluster: its Deployments, and ReplicaSets as long as no Deployment is known to own them.
#[derive(Default)]
pub struct Recorder {
    tracks: BTreeMap<Uid, Track>,
    /// Which object owns another one, or did last: Deployments own ReplicaSets, and those own pods.
    owners: BTreeMap<Uid, Uid>,
}

/// One workload.
#[derive(Default)]
struct Track {
    namespace: String,
    /// Its objects as they were when it was last at rest: their last lines, compressed.
    base: Vec<u8>,
    /// Every object of the base, and of the lines since then.
    members: BTreeSet<Uid>,
    /// The lines since then.
    chunks: Vec<Vec<u8>>,
    tail: String,
    bytes: usize,
    /// Arrival of the last line of the base.
    rest_millis: Option<Millis>,
    /// Arrival of the first and the last line since then.
    span: Option<(Millis, Millis)>,
    /// What exists, once the lines are too many, or go on for too long; and since when they are left out.
    overflow: Option<(Millis, Box<Fold>)>,
    /// There is more to them than a change of a workload at rest.
    is_active: bool,
    /// Every one of them is of the first list.
    is_first_list: bool,
    /// A rollout began in it.
    has_rollout: bool,
    /// It was made after the first list.
    is_new: bool,
    last_line: Option<Instant>,
    /// The end of what was written of the episode that goes on.
    written_millis: Option<Millis>,
    /// The end of its last rollout that was over.
    over_millis: Option<Millis>,
    /// The base was written.
    is_base_written: bool,
}

/// Of an object who it is, whose, and what it is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Related {
    metadata: Relation,
    #[serde(default)]
    involved_object: Option<Reference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Relation {
    uid: Uid,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    owner_references: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(default)]
    uid: Option<Uid>,
    #[serde(default)]
    kind: String,
}

impl Recorder {
    /// Takes lines. Those that cannot be read are passed over.
    pub fn take(&mut self, text: &str) {
        for line in text.lines() {
            let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) else { continue };
            let Some(kind) = Kind::from_name(&read.kind) else { continue };
            match read.r#type {
                LineType::Bookmark => {}
                LineType::ListDone => self.list_done(kind, &read, &BTreeMap::new()),
                LineType::Listed | LineType::Added | LineType::Modified | LineType::Deleted => {
                    if let Ok(object) = serde_json::from_str(read.object.get()) {
                        self.object(kind, &read, object, line);
                    }
                }
            }
        }
    }

    fn object(&mut self, kind: Kind, read: &RecordedLine<'_, &RawValue>, object: Related, line: &str) {
        let Related { metadata: Relation { uid, namespace, owner_references }, involved_object } = object;
        let at_millis = read.observed_at_millis;
        let owner = |kind: &str| owner_references.iter().find(|owner| owner.kind == kind).and_then(|owner| owner.uid);
        let previous = self.owners.get(&uid).copied().filter(|_| kind == Kind::ReplicaSet);
        let workload = match kind {
            Kind::Deployment => uid,
            Kind::ReplicaSet => {
                self.owners.extend(owner("Deployment").map(|owner| (uid, owner)));
                self.owners.get(&uid).copied().unwrap_or(uid)
            }
            Kind::Pod => {
                self.owners.extend(owner("ReplicaSet").map(|owner| (uid, owner)));
                let Some(set) = self.owners.get(&uid) else { return };
                self.owners.get(set).copied().unwrap_or(*set)
            }
            Kind::Event => {
                let about = involved_object.and_then(|about| about.uid);
                let Some(workload) = about.and_then(|about| self.workload_of(about)) else { return };
                workload
            }
        };
        // Owners and Events count only within their namespace. A Deployment shows which one its workload is in.
        let is_elsewhere = |track: &Track| !track.namespace.is_empty() && track.namespace != namespace;
        if self.tracks.get(&workload).is_some_and(is_elsewhere) {
            if kind != Kind::Deployment {
                self.owners.remove(&uid);
                return;
            }
            self.tracks.remove(&workload);
        }
        let adopted = match previous {
            _ if kind != Kind::ReplicaSet || workload == uid => None,
            None => self.tracks.get_mut(&uid).map(Track::leave),
            Some(previous) if previous == workload => None,
            Some(previous) => self.tracks.get(&previous).map(|track| {
                let fold = track.fold();
                let members = fold.uids().into_iter().filter(|pod| self.owners.get(pod) == Some(&uid)).collect();
                let lines = fold.lines(|pod| self.owners.get(pod) == Some(&uid));
                (members, lines)
            }),
        };
        let track = self.tracks.entry(workload).or_insert_with(|| Track {
            is_first_list: read.r#type == LineType::Listed,
            is_new: read.r#type != LineType::Listed,
            ..Track::default()
        });
        if kind != Kind::Event {
            track.namespace = namespace;
            track.members.insert(uid);
            track.is_first_list &= read.r#type == LineType::Listed;
        }
        track.append(at_millis, line);
        if let Some((members, lines)) = adopted {
            track.members.extend(members);
            lines.lines().for_each(|line| track.append(at_millis, line));
        }
    }

    /// The end of a list is told to every workload that it may have held, except to those that are `known` since later.
    fn list_done(&mut self, kind: Kind, read: &RecordedLine<'_, &RawValue>, known: &BTreeMap<Uid, Millis>) {
        let (at_millis, namespace) = (read.observed_at_millis, read.namespace.as_deref());
        let present: Option<BTreeSet<Uid>> = read.present.as_ref().map(|present| present.iter().copied().collect());
        let gap_since_millis = read.gap_since_millis;
        for (uid, track) in &mut self.tracks {
            let is_known = known.get(uid).is_some_and(|known| *known >= at_millis);
            if is_known || namespace.is_some_and(|namespace| namespace != track.namespace) {
                continue;
            }
            let present = present.as_ref().map(|present| track.members.intersection(present).copied().collect());
            let done = ListDone { kind, namespace, at_millis, gap_since_millis, present };
            recording::list_done(done).iter().for_each(|line| track.append(at_millis, line));
            if track.is_first_list && gap_since_millis.is_none() {
                track.rest_as_listed(&mut self.owners);
            }
        }
    }

    fn workload_of(&self, uid: Uid) -> Option<Uid> {
        let mut owner = uid;
        for _ in 0..2 {
            if self.tracks.contains_key(&owner) {
                return Some(owner);
            }
            owner = *self.owners.get(&owner)?;
        }
        self.tracks.contains_key(&owner).then_some(owner)
    }

    /// A workload is not at rest.
    pub fn begin(&mut self, workload: Uid) {
        if let Some(track) = self.tracks.get_mut(&workload) {
            track.begin();
        }
    }

    /// Takes note of a rollout. It is an episode also where it was over before anybody looked; and once it is over, what was recorded
    /// until then is due, as whoever finds it in the index opens it.
    pub fn rollout(&mut self, rollout: &PastRollout) {
        let Some(track) = self.tracks.get_mut(&rollout.uid) else { return };
        let from_millis = track.span.map(|(from, _)| from).or(track.rest_millis);
        if from_millis.is_some_and(|from| rollout.started_millis >= from - LEAD_MILLIS) {
            track.begin();
            track.has_rollout = true;
        }
        let over_millis = rollout.ended_millis.max(rollout.last_millis);
        if over_millis > track.over_millis {
            (track.over_millis, track.written_millis) = (over_millis, None);
        }
    }

    /// A workload is at rest again: the episode, if it was one.
    pub fn settle(&mut self, workload: Uid) -> Option<Episode> {
        self.tracks.get_mut(&workload)?.settle(workload, &mut self.owners)
    }

    /// What is to be written now of episodes that go on, and of workloads that are at rest.
    pub fn due(&mut self) -> (Vec<Episode>, Vec<Snapshot>) {
        let (mut episodes, mut snapshots) = (Vec::new(), Vec::new());
        for (uid, track) in &mut self.tracks {
            if track.is_active && track.is_due() {
                episodes.extend(track.episode(*uid, true));
                track.written_millis = track.span.map(|(_, to)| to);
            } else if track.is_quiet() {
                episodes.extend(track.settle(*uid, &mut self.owners));
            }
            if !track.is_base_written {
                snapshots.push(Snapshot { uid: *uid, body: track.base.clone() });
                track.is_base_written = true;
            }
        }
        self.tracks.retain(|_, track| !track.is_over());
        (episodes, snapshots)
    }

    /// The program ends: every episode that goes on is to be written.
    pub fn open_episodes(&self) -> Vec<Episode> {
        let open = self.tracks.iter().filter(|(_, track)| track.is_active);
        open.filter_map(|(uid, track)| track.episode(*uid, true)).collect()
    }

    /// What was written before may be lost.
    pub fn write_anew(&mut self) {
        for track in self.tracks.values_mut() {
            (track.is_base_written, track.written_millis) = (false, None);
        }
    }

    /// Goes on from what was written. Of the lines of the log some are in snapshots and episodes already.
    pub fn from_stored(recorded: &Recorded) -> Self {
        let Recorded { snapshots, open, batches } = recorded;
        let (mut recorder, mut known) = (Self::default(), BTreeMap::new());
        for Snapshot { uid, body } in snapshots {
            let Ok(text) = batch::unpack(body) else { continue };
            recorder.take(&text);
            let Some(track) = recorder.tracks.get_mut(uid) else { continue };
            let rest_millis = track.span.map(|(_, to)| to);
            known.extend(rest_millis.map(|rest| (*uid, rest)));
            let (namespace, members) = (std::mem::take(&mut track.namespace), std::mem::take(&mut track.members));
            *track = Track {
                namespace,
                members,
                base: body.clone(),
                rest_millis,
                is_base_written: true,
                ..Track::default()
            };
        }
        for Episode { uid, from_millis, to_millis, body, .. } in open {
            let Ok(text) = batch::unpack(body) else { continue };
            recorder.take(&text);
            let Some(track) = recorder.tracks.get_mut(uid) else { continue };
            known.insert(*uid, *to_millis);
            let (namespace, members) = (std::mem::take(&mut track.namespace), std::mem::take(&mut track.members));
            let (chunks, bytes) = (vec![body.clone()], text.len());
            let (span, written_millis) = (Some((*from_millis, *to_millis)), Some(*to_millis));
            let (is_active, is_base_written) = (true, true);
            *track = Track {
                namespace,
                members,
                chunks,
                bytes,
                span,
                written_millis,
                is_active,
                is_base_written,
                ..Track::default()
            };
        }
        for text in batches.iter().filter_map(|batch| batch.text().ok()) {
            for line in text.lines() {
                let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) else { continue };
                if read.r#type == LineType::ListDone {
                    if let Some(kind) = Kind::from_name(&read.kind) {
                        recorder.list_done(kind, &read, &known);
                    }
                    continue;
                }
                let object: Option<Related> = serde_json::from_str(read.object.get()).ok();
                let workload = object.and_then(|object| recorder.workload_of(object.metadata.uid));
                let last_millis = workload.and_then(|workload| known.get(&workload));
                if last_millis.is_none_or(|last| read.observed_at_millis > *last) {
                    recorder.take(line);
                }
            }
        }
        recorder
    }
}

impl Track {
    fn append(&mut self, at_millis: Millis, line: &str) {
        let (from, to) = self.span.unwrap_or((at_millis, at_millis));
        self.span = Some((from, to.max(at_millis)));
        self.last_line = Some(Instant::now());
        if self.overflow.is_none() && (self.bytes + line.len() > MOST_BYTES || at_millis - from > LONGEST_MILLIS) {
            self.overflow = Some((to, Box::new(self.fold())));
        }
        match &mut self.overflow {
            Some((_, fold)) => fold.take(line),
            None => {
                self.tail.push_str(line);
                self.tail.push('\n');
                self.bytes += line.len() + 1;
                if self.tail.len() > CHUNK {
                    self.chunks.extend(batch::pack(&self.tail));
                    self.tail.clear();
                }
            }
        }
    }

    /// The lines, from the first on.
    fn lines(&self) -> String {
        let chunks = self.chunks.iter().filter_map(|chunk| batch::unpack(chunk).ok());
        chunks.chain([self.tail.clone()]).collect()
    }

    /// What existed when it was last at rest.
    fn base(&self) -> Fold {
        let mut fold = Fold::default();
        match batch::unpack(&self.base) {
            Ok(text) => fold.begin(&text, &self.namespace),
            Err(_) if self.is_new => fold.begin("", &self.namespace),
            Err(_) => {}
        }
        fold
    }

    /// What exists now.
    fn fold(&self) -> Fold {
        let mut fold = self.base();
        fold.take(&self.lines());
        fold
    }

    fn episode(&self, uid: Uid, is_open: bool) -> Option<Episode> {
        let (from_millis, to_millis) = self.span?;
        let mut base = self.base();
        base.reach(from_millis - LEAD_MILLIS);
        let (_, mut text) = base.keyframe(None);
        text.push_str(&self.lines());
        if let Some((since_millis, fold)) = &self.overflow {
            text.push_str(&fold.keyframe(Some(*since_millis)).1);
        }
        let body = batch::pack(&text).ok()?;
        let is_alone = !self.has_rollout;
        let row = is_alone.then(|| index::episode(&text, uid, (from_millis, to_millis), is_open)).flatten();
        Some(Episode { uid, from_millis, to_millis, is_open, row: row.map(Box::new), body })
    }

    /// It is at rest. What was over before anybody looked is an episode if its lines tell of one.
    fn settle(&mut self, uid: Uid, owners: &mut BTreeMap<Uid, Uid>) -> Option<Episode> {
        let is_episode = |episode: &Episode| self.is_active || episode.row.is_some();
        let episode = self.episode(uid, false).filter(is_episode);
        self.rest(owners);
        episode
    }

    /// Another workload has its objects from now on: they, and their lines.
    fn leave(&mut self) -> (BTreeSet<Uid>, String) {
        let lines = batch::unpack(&self.base).unwrap_or_default() + &self.lines();
        (std::mem::take(self).members, lines)
    }

    /// It is not at rest, which may be all that is known of it.
    fn begin(&mut self) {
        self.is_active = true;
        self.span = self.span.or(self.rest_millis.map(|at| (at, at)));
    }

    /// What was listed at first is what existed when it was last at rest, as far as is known. Events say how it came to that.
    fn rest_as_listed(&mut self, owners: &mut BTreeMap<Uid, Uid>) {
        let is_event = |line: &&str| {
            let read: Option<RecordedLine<'_, &RawValue>> = serde_json::from_str(line).ok();
            read.is_some_and(|read| read.kind == Kind::Event.name())
        };
        let events = self.lines().lines().filter(is_event).map(|line| format!("{line}\n")).collect();
        self.rest(owners);
        (self.tail, self.is_first_list, self.last_line) = (events, true, Some(Instant::now()));
    }

    /// What exists now is what existed when it was last at rest.
    fn rest(&mut self, owners: &mut BTreeMap<Uid, Uid>) {
        let Some((_, rest_millis)) = self.span else {
            (self.tail, self.last_line, self.is_active) = (String::new(), None, false);
            return;
        };
        let fold = self.overflow.take().map_or_else(|| self.fold(), |(_, fold)| *fold);
        let there = fold.uids();
        for gone in self.members.difference(&there) {
            owners.remove(gone);
        }
        let base = if there.is_empty() { Vec::new() } else { batch::pack(&fold.lines(|_| true)).unwrap_or_default() };
        let is_base_written = self.is_base_written && base == self.base;
        let namespace = std::mem::take(&mut self.namespace);
        let rest_millis = Some(rest_millis);
        *self = Self { namespace, base, members: there, rest_millis, is_base_written, ..Self::default() };
    }

    fn is_due(&self) -> bool {
        let Some((from, to)) = self.span else { return false };
        let (least, most) = WRITE_EVERY;
        self.written_millis.is_none_or(|written| to - written >= ((to - from) / 8).clamp(least, most))
    }

    fn is_quiet(&self) -> bool {
        !self.is_active && self.last_line.is_some_and(|last| last.elapsed() >= QUIET)
    }

    /// Nothing of it exists, and that was written.
    fn is_over(&self) -> bool {
        self.span.is_none() && self.members.is_empty() && self.is_base_written
    }
}
