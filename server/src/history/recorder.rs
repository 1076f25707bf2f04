//! Records the episodes of workloads.
//!
//! Each workload has a base, which is its objects when it was last at rest, and the lines since then. When the workload settles,
//! both become one [`Episode`]: a complete recording. Base and lines are compressed in memory; a workload at rest takes about as
//! much memory as the JSON of one of its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use timeline::episodes::EpisodeRow;
use timeline::fact::Kind;
use timeline::{Millis, Uid};

use super::batch;
use super::episode_rows::episode_rows;
use super::latest_lines::{LatestLines, Metadata, ObjectRelations};
use super::rollout_span::{LEAD_MILLIS, LONGEST_MILLIS};
use super::store::{Episode, RecorderState};
use crate::feed::recording::{self, LineType, RawLine, RecordedLine};

/// Largest size of an episode's lines, in bytes; beyond it only the objects at its end are recorded, after a gap.
const MOST_BYTES: usize = 16 << 20;
/// Lines are compressed together in chunks of this many bytes.
const CHUNK: usize = 16 << 10;
/// A change of a workload at rest, such as a label, is no episode if nothing follows for this long.
const QUIET_FOR: Duration = Duration::from_secs(90);
/// Shortest and longest time between two writes of an open episode; the time grows with its duration.
const WRITE_EVERY: (Millis, Millis) = (10_000, 900_000);
/// Largest size of lines of open episodes and quiet workloads that are written at once, in bytes: the lines of the log wait for
/// them. Each one counts some extra bytes, because it takes time even with few lines.
const MOST_AT_A_TIME: usize = 4 << 20;
const EPISODE_BYTES: usize = 64 << 10;

/// The workloads of one cluster: Deployments, and ReplicaSets without a known owner.
#[derive(Default)]
pub struct Recorder {
    workloads: BTreeMap<Uid, RecordedWorkload>,
    /// Last owner of each object: Deployments own ReplicaSets, and those own pods.
    owners: BTreeMap<Uid, Uid>,
    /// Whether more was due than the last write took.
    has_more: bool,
}

#[derive(Default)]
struct RecordedWorkload {
    namespace: String,
    /// Its objects when it was last at rest: their last lines, compressed.
    base: Vec<u8>,
    /// Every object in the base and in the lines since then.
    members: BTreeSet<Uid>,
    /// The lines since then.
    chunks: Vec<Vec<u8>>,
    tail: String,
    bytes: usize,
    /// Arrival of the base's last line.
    rest_millis: Option<Millis>,
    /// Arrival of the first and the last line since then.
    span: Option<(Millis, Millis)>,
    /// After too many lines, or too long a time: the start of the omitted lines, and the existing objects.
    overflow: Option<(Millis, Box<LatestLines>)>,
    /// Whether the lines are more than a change of a workload at rest.
    is_active: bool,
    /// Whether every line belongs to the first list.
    is_first_list: bool,
    /// Start of the first rollout in the lines, and whether the Deployment is deleted; `None` without a rollout.
    rollouts: Option<(Millis, bool)>,
    /// Whether it was created after the first list.
    is_new: bool,
    last_line: Option<Instant>,
    /// End of the open episode at its last write.
    written_millis: Option<Millis>,
    /// End of its last ended rollout.
    over_millis: Option<Millis>,
    is_base_written: bool,
}

impl Recorder {
    /// Records lines. Skips malformed ones.
    pub fn record(&mut self, text: &str) {
        for line in text.lines() {
            // Nearly all lines contain objects, so they are first parsed as such.
            if let Ok(read) = serde_json::from_str::<RecordedLine<'_, ObjectRelations>>(line) {
                let RecordedLine { observed_at_millis, kind, r#type, object, .. } = read;
                let is_object = !matches!(r#type, LineType::Bookmark | LineType::ListDone);
                if let Some(kind) = Kind::from_name(&kind).filter(|_| is_object) {
                    self.object(kind, r#type, observed_at_millis, object, line);
                    continue;
                }
            }
            let Some(read) = RawLine::parse(line).filter(|read| read.r#type == LineType::ListDone) else { continue };
            self.list_done(&read, &BTreeMap::new());
        }
    }

    fn object(&mut self, kind: Kind, r#type: LineType, at_millis: Millis, object: ObjectRelations, line: &str) {
        let ObjectRelations { metadata: Metadata { uid, namespace, owner_references }, involved_object } = object;
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
        // Owners and Events count only within their namespace. The Deployment decides the namespace of its workload.
        let is_elsewhere =
            |workload: &RecordedWorkload| !workload.namespace.is_empty() && workload.namespace != namespace;
        if self.workloads.get(&workload).is_some_and(is_elsewhere) {
            if kind != Kind::Deployment {
                self.owners.remove(&uid);
                return;
            }
            self.workloads.remove(&workload);
        }
        let adopted = match previous {
            _ if kind != Kind::ReplicaSet || workload == uid => None,
            None => self.workloads.get_mut(&uid).map(RecordedWorkload::remove_lines),
            Some(previous) if previous == workload => None,
            Some(previous) => self.workloads.get(&previous).map(|recorded| {
                let (objects, is_moved) = (recorded.objects(), |pod: &Uid| self.owners.get(pod) == Some(&uid));
                let members = objects.uids().into_iter().filter(is_moved).collect();
                let lines = objects.lines(is_moved);
                (members, lines)
            }),
        };
        let recorded = self.workloads.entry(workload).or_insert_with(|| RecordedWorkload {
            is_first_list: r#type == LineType::Listed,
            is_new: r#type != LineType::Listed,
            ..RecordedWorkload::default()
        });
        if kind != Kind::Event {
            recorded.namespace = namespace;
            recorded.members.insert(uid);
            recorded.is_first_list &= r#type == LineType::Listed;
        }
        recorded.append(at_millis, line);
        if let Some((members, lines)) = adopted {
            recorded.members.extend(members);
            lines.lines().for_each(|line| recorded.append(at_millis, line));
        }
    }

    /// Records the end of a list for every workload that may be in it, except those with `known` later lines.
    fn list_done(&mut self, read: &RawLine<'_>, known: &BTreeMap<Uid, Millis>) {
        let Some(kind) = Kind::from_name(&read.kind) else { return };
        let (at_millis, namespace) = (read.observed_at_millis, read.namespace.as_deref());
        let present: Option<BTreeSet<Uid>> = read.present.as_ref().map(|present| present.iter().copied().collect());
        let gap_since_millis = read.gap_since_millis;
        for (uid, recorded) in &mut self.workloads {
            let is_known = known.get(uid).is_some_and(|known| *known >= at_millis);
            if is_known || namespace.is_some_and(|namespace| namespace != recorded.namespace) {
                continue;
            }
            let present = present.as_ref().map(|present| recorded.members.intersection(present).copied().collect());
            let done = recording::list_done(kind, namespace, at_millis, gap_since_millis, present);
            recorded.append(at_millis, &done);
            if recorded.is_first_list && gap_since_millis.is_none() {
                recorded.rest_as_listed(&mut self.owners);
            }
        }
    }

    fn workload_of(&self, uid: Uid) -> Option<Uid> {
        let owners = std::iter::successors(Some(uid), |uid| self.owners.get(uid).copied());
        owners.take(3).find(|uid| self.workloads.contains_key(uid))
    }

    /// Begins an episode, because the workload is not at rest.
    pub fn begin_episode(&mut self, workload: Uid) {
        if let Some(recorded) = self.workloads.get_mut(&workload) {
            recorded.begin();
        }
    }

    /// Records a rollout as an episode, even if it was over before it was observed. After its end its lines are written with its row.
    pub fn record_rollout(&mut self, rollout: &EpisodeRow) {
        let Some(recorded) = self.workloads.get_mut(&rollout.uid) else { return };
        if recorded.has_begin_of(rollout) {
            recorded.begin();
            let (first, _) = recorded.rollouts.unwrap_or((rollout.started_millis, false));
            recorded.rollouts = Some((first.min(rollout.started_millis), rollout.is_deleted));
        }
        let over_millis = rollout.ended_millis.max(rollout.last_millis);
        if over_millis > recorded.over_millis {
            (recorded.over_millis, recorded.written_millis) = (over_millis, None);
        }
    }

    /// Returns whether the episode of a rollout is still open.
    pub fn is_in_episode(&self, rollout: &EpisodeRow) -> bool {
        self.workloads.get(&rollout.uid).is_some_and(|recorded| recorded.has_begin_of(rollout))
    }

    /// Ends the episode of a workload that is at rest; returns the episode, if the lines are one.
    pub fn settle(&mut self, workload: Uid) -> Option<Episode> {
        self.workloads.get_mut(&workload)?.settle(workload, &mut self.owners)
    }

    /// Returns open episodes and workloads at rest that must be written now.
    pub fn pending_writes(&mut self) -> (Vec<Episode>, Vec<(Uid, Vec<u8>)>) {
        let (mut episodes, mut snapshots) = (Vec::new(), Vec::new());
        let due = self.workloads.iter().filter(|(_, recorded)| recorded.is_active && recorded.is_due());
        let mut due: Vec<_> = due.map(|(uid, recorded)| (recorded.written_millis, *uid, recorded.bytes)).collect();
        due.sort_unstable(); // unwritten ones come first
        let (all, mut open) = (due.len(), 0);
        let due = due.into_iter().take_while(|(.., bytes)| {
            let is_room = open < MOST_AT_A_TIME;
            open += EPISODE_BYTES + bytes;
            is_room
        });
        let due: BTreeSet<Uid> = due.map(|(_, uid, _)| uid).collect();
        self.has_more = due.len() < all;
        let mut quiet = 0; // after a list all workloads are quiet
        for (uid, recorded) in &mut self.workloads {
            if due.contains(uid) {
                episodes.extend(recorded.episode(*uid, true));
                recorded.written_millis = recorded.span.map(|(_, to)| to);
                recorded.forget_gone(&mut self.owners);
            } else if recorded.is_quiet() {
                if quiet < MOST_AT_A_TIME {
                    quiet += EPISODE_BYTES + recorded.bytes;
                    episodes.extend(recorded.settle(*uid, &mut self.owners));
                } else {
                    self.has_more = true;
                }
            }
            if !recorded.is_base_written {
                snapshots.push((*uid, recorded.base.clone()));
                recorded.is_base_written = true;
            }
        }
        self.workloads.retain(|_, recorded| !recorded.is_over());
        (episodes, snapshots)
    }

    /// Returns whether more was due than [`Self::pending_writes`] returned last.
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns every open episode.
    pub fn open_episodes(&self) -> Vec<Episode> {
        let open = self.workloads.iter().filter(|(_, recorded)| recorded.is_active);
        open.filter_map(|(uid, recorded)| recorded.episode(*uid, true)).collect()
    }

    /// Marks everything as not written.
    pub fn reset_written(&mut self) {
        for recorded in self.workloads.values_mut() {
            (recorded.is_base_written, recorded.written_millis) = (false, None);
        }
    }

    /// Restores a recorder. Some lines of the log are already in snapshots and episodes.
    pub fn restore(state: &RecorderState) -> Self {
        let RecorderState { snapshots, open, batches } = state;
        let (mut recorder, mut known) = (Self::default(), BTreeMap::new());
        let snapshots = snapshots.iter().map(|(uid, body)| (uid, body, None));
        let open = open.iter().map(|episode| (&episode.uid, &episode.body, Some(episode)));
        for (uid, body, episode) in snapshots.chain(open) {
            let Ok(text) = batch::unpack(body) else { continue };
            // Read separately: its lists contain only its own objects, and would end those of other workloads.
            let mut alone = Self::default();
            alone.record(&text);
            let Some(RecordedWorkload { namespace, mut members, .. }) = alone.workloads.remove(uid) else {
                continue;
            };
            recorder.owners.append(&mut alone.owners);
            let lines = text.lines().filter_map(RawLine::parse);
            let last_millis =
                episode.map(|episode| episode.to_millis).or_else(|| lines.map(|line| line.observed_at_millis).max());
            known.extend(last_millis.map(|last| (*uid, last)));
            let recorded = recorder.workloads.entry(*uid).or_default();
            members.append(&mut recorded.members);
            *recorded = RecordedWorkload { namespace, members, is_base_written: true, ..RecordedWorkload::default() };
            if let Some(Episode { from_millis, to_millis, .. }) = episode {
                (recorded.chunks, recorded.bytes, recorded.is_active) = (vec![body.clone()], text.len(), true);
                (recorded.span, recorded.written_millis) = (Some((*from_millis, *to_millis)), Some(*to_millis));
            } else {
                (recorded.base, recorded.rest_millis) = (body.clone(), last_millis);
            }
        }
        for text in batches.iter().filter_map(|batch| batch.text().ok()) {
            for line in text.lines() {
                let Some(read) = RawLine::parse(line) else { continue };
                if read.r#type == LineType::ListDone {
                    recorder.list_done(&read, &known);
                    continue;
                }
                let object: Option<ObjectRelations> = serde_json::from_str(read.object.get()).ok();
                // A deleted object is no longer part of its workload, but its owner is.
                let last_millis = object.and_then(|ObjectRelations { metadata, involved_object }| {
                    let owners = metadata.owner_references.iter().filter_map(|owner| owner.uid);
                    let about = involved_object.and_then(|about| about.uid);
                    let mut all = std::iter::once(metadata.uid).chain(owners).chain(about);
                    all.find_map(|uid| known.get(&recorder.workload_of(uid)?))
                });
                if last_millis.is_none_or(|last| read.observed_at_millis > *last) {
                    recorder.record(line);
                }
            }
        }
        recorder
    }
}

impl RecordedWorkload {
    fn append(&mut self, at_millis: Millis, line: &str) {
        // Kinds are listed concurrently: a line may have arrived before one of the base.
        let at_millis = self.rest_millis.map_or(at_millis, |rest| rest.max(at_millis));
        let (from, to) = self.span.unwrap_or((at_millis, at_millis));
        self.span = Some((from, to.max(at_millis)));
        self.last_line = Some(Instant::now());
        if self.overflow.is_none() && (self.bytes + line.len() > MOST_BYTES || at_millis - from > LONGEST_MILLIS) {
            self.overflow = Some((to, Box::new(self.objects())));
        }
        match &mut self.overflow {
            Some((_, objects)) => objects.read(line),
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

    /// Returns the lines since the workload was last at rest.
    fn lines(&self) -> String {
        let chunks = self.chunks.iter().filter_map(|chunk| batch::unpack(chunk).ok());
        chunks.chain([self.tail.clone()]).collect()
    }

    /// Returns the objects when the workload was last at rest.
    fn base(&self) -> LatestLines {
        let mut objects = LatestLines::default();
        match batch::unpack(&self.base) {
            Ok(text) => objects.begin(&text, &self.namespace),
            Err(_) if self.is_new => objects.begin("", &self.namespace),
            Err(_) => {}
        }
        objects
    }

    fn objects(&self) -> LatestLines {
        let mut objects = self.base();
        objects.read(&self.lines());
        objects
    }

    fn episode(&self, uid: Uid, is_open: bool) -> Option<Episode> {
        let (from_millis, to_millis) = self.span?;
        let mut base = self.base();
        base.advance(from_millis - LEAD_MILLIS);
        let mut text = base.keyframe(None);
        text.push_str(&self.lines());
        if let Some((since_millis, objects)) = &self.overflow {
            text.push_str(&objects.keyframe(Some(*since_millis)));
        }
        let body = batch::pack(&text).ok()?;
        let [row_before, row] = episode_rows(&text, uid, (from_millis, to_millis), self.rollouts, is_open);
        Some(Episode { uid, from_millis, to_millis, is_open, row_before, row, body })
    }

    /// Ends the lines; returns their episode. An episode that ended before it was noticed counts only if it has a kind.
    fn settle(&mut self, uid: Uid, owners: &mut BTreeMap<Uid, Uid>) -> Option<Episode> {
        let is_episode = |episode: &Episode| self.is_active || episode.row.is_some();
        let episode = self.episode(uid, false).filter(is_episode);
        self.rest(owners);
        episode
    }

    /// Removes and returns its objects and lines, which move to another workload.
    fn remove_lines(&mut self) -> (BTreeSet<Uid>, String) {
        let lines = batch::unpack(&self.base).unwrap_or_default() + &self.lines();
        (std::mem::take(self).members, lines)
    }

    /// Returns whether a rollout began after its workload was last at rest.
    fn has_begin_of(&self, rollout: &EpisodeRow) -> bool {
        let from_millis = self.span.map(|(from, _)| from).or(self.rest_millis);
        from_millis.is_some_and(|from| rollout.started_millis >= from - LEAD_MILLIS)
    }

    /// Begins an episode, for which there may be no lines yet.
    fn begin(&mut self) {
        self.is_active = true;
        self.span = self.span.or(self.rest_millis.map(|at| (at, at)));
    }

    /// Uses the objects of the first list as the base. Events about earlier times stay lines.
    fn rest_as_listed(&mut self, owners: &mut BTreeMap<Uid, Uid>) {
        let is_event = |line: &&str| RawLine::parse(line).is_some_and(|read| read.kind == Kind::Event.name());
        let events = self.lines().lines().filter(is_event).map(|line| format!("{line}\n")).collect();
        self.rest(owners);
        (self.tail, self.is_first_list, self.last_line) = (events, true, Some(Instant::now()));
    }

    /// Uses the present objects as the base.
    fn rest(&mut self, owners: &mut BTreeMap<Uid, Uid>) {
        let Some((_, rest_millis)) = self.span else {
            (self.tail, self.last_line, self.is_active) = (String::new(), None, false);
            return;
        };
        let objects = self.overflow.take().map_or_else(|| self.objects(), |(_, objects)| *objects);
        let members = objects.uids();
        for gone in self.members.difference(&members) {
            owners.remove(gone);
        }
        let base = match members.is_empty() {
            true => Vec::new(),
            false => batch::pack(&objects.at_rest()).unwrap_or_default(),
        };
        let is_base_written = self.is_base_written && base == self.base;
        let namespace = std::mem::take(&mut self.namespace);
        *self = Self { namespace, base, members, rest_millis: Some(rest_millis), is_base_written, ..Self::default() };
    }

    /// Forgets objects that are gone and own no others, once lines are omitted: a workload that never rests would collect ever more.
    fn forget_gone(&mut self, owners: &mut BTreeMap<Uid, Uid>) {
        let Some((_, objects)) = &self.overflow else { return };
        let mut kept = objects.uids();
        let owning: Vec<Uid> = kept.iter().filter_map(|uid| owners.get(uid).copied()).collect();
        kept.extend(owning.into_iter().filter(|uid| self.members.contains(uid)));
        for gone in self.members.difference(&kept) {
            owners.remove(gone);
        }
        self.members = kept;
    }

    fn is_due(&self) -> bool {
        let Some((from, to)) = self.span else { return false };
        let (least, most) = WRITE_EVERY;
        // Each write covers the whole episode. Once lines are omitted, only the objects at its end differ.
        let pause = if self.overflow.is_some() { most } else { ((to - from) / 8).clamp(least, most) };
        self.written_millis.is_none_or(|written| to - written >= pause)
    }

    /// Returns whether its lines are not the start of an episode: nothing followed them, or they cover hours (an annotation that
    /// changes each minute), so that the lines of the next episode would be omitted.
    fn is_quiet(&self) -> bool {
        let is_full = self.overflow.is_some();
        !self.is_active && self.last_line.is_some_and(|last| is_full || last.elapsed() >= QUIET_FOR)
    }

    /// Returns whether it has no objects, and that state was written.
    fn is_over(&self) -> bool {
        self.span.is_none() && self.members.is_empty() && self.is_base_written
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_workload_that_never_rests_what_is_gone_is_forgotten() {
        let uid = Uid::from_bits;
        let mut recorder = Recorder::default();
        let mut tell = |at_millis: Millis, r#type: &str, kind: &str, number: u128, owner: Option<(&str, u128)>| {
            let owner = owner.map(|(kind, number)| json!({ "kind": kind, "uid": uid(number) }));
            let owners: Vec<_> = owner.into_iter().collect();
            let metadata = json!({ "uid": uid(number), "namespace": "shop", "ownerReferences": owners });
            let object = json!({ "metadata": metadata });
            let line = json!({ "observedAtMillis": at_millis, "type": r#type, "kind": kind, "object": object });
            recorder.record(&line.to_string());
            recorder.begin_episode(uid(1));
            recorder.pending_writes();
            let members: Vec<u128> = recorder.workloads[&uid(1)].members.iter().map(|uid| uid.bits()).collect();
            (members, recorder.owners.keys().map(|uid| uid.bits()).collect::<Vec<_>>(), recorder.workloads.len())
        };
        let (of_deployment, of_set) = (Some(("Deployment", 1)), Some(("ReplicaSet", 2)));
        tell(0, "ADDED", "Deployment", 1, None);
        tell(0, "ADDED", "ReplicaSet", 2, of_deployment);
        tell(1, "ADDED", "Pod", 3, of_set);
        assert_eq!(tell(2, "DELETED", "Pod", 3, of_set), (vec![1, 2, 3], vec![2, 3], 1), "its lines are recorded");
        let late = |number: Millis| LONGEST_MILLIS + number * 900_000;
        assert_eq!(tell(late(1), "ADDED", "Pod", 4, of_set), (vec![1, 2, 4], vec![2, 4], 1));
        let known = tell(late(2), "DELETED", "ReplicaSet", 2, of_deployment);
        assert_eq!(known, (vec![1, 2, 4], vec![2, 4], 1), "a pod of it is there");
        assert_eq!(tell(late(3), "DELETED", "Pod", 4, of_set), (vec![1], vec![], 1));
    }
}
