//! The hub and what is kept of its cluster: it goes on from there, and tells the journal what it observes. It never waits for it,
//! except for what it begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use timeline::fact::{Kind, Seen};
use timeline::model::Deployment;
use timeline::past::PastRollout;
use timeline::phase::PodState;
use timeline::view::Now;
use timeline::wire::{Connection, ConnectionState, Unwritten};
use timeline::{Fact, History, Millis, Model, Timeline, Uid};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Kept;
use super::task::Hub;
use crate::history::activity::{Activity, Turns};
use crate::history::index;
use crate::history::journal::Journal;
use crate::history::resume::Resumed;
use crate::history::resume::{self, Standing};
use crate::history::{Archive, Before, Keeping};
use crate::kube::translate::Object;
use crate::kube::{Health, SourceEvent};

/// That the cluster is there is written this often: what lies between this and the next start is a gap.
pub(super) const KEEP_EVERY: Duration = Duration::from_secs(2);
/// The timeline is put away this often.
pub(super) const CHECKPOINT_EVERY: Duration = Duration::from_secs(300);
/// What could not be read at the start is asked for at least this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// So many objects are held while that is asked for.
const MOST_SINCE: usize = 10_000;
/// What was made so long before the last word was seen by whoever watched then; clocks may differ.
const LONG_BEFORE_MILLIS: Millis = 600_000;
/// What the page says until the cluster answers again.
const BEGINS: &str = "Rollcast restarted and is connecting";

/// What a hub keeps with.
pub(super) struct Keeper {
    journal: Journal,
    archive: Archive,
    namespaces: Vec<String>,
    /// What is kept from before this start could not be read yet.
    is_past_unread: bool,
    /// That was asked for.
    asked: Option<Asked>,
    /// What was heard while it is not known whether what is kept is of this cluster.
    held: Option<Vec<SourceEvent>>,
    /// Its checkpoint is of use.
    has_checkpoint: bool,
    /// It is not asked for before that, and after this long once more.
    ask_at: Instant,
    pause: Duration,
    anew: watch::Receiver<u64>,
    lost: watch::Receiver<u64>,
    keeping: watch::Receiver<Keeping>,
    /// The last word that is kept from before this start.
    heard_millis: Option<Millis>,
    /// What was listed since this start.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// The last change that is in a checkpoint.
    checkpoint_seq: u64,
    /// Deployments of which the index may tell too little.
    pub(super) unindexed: BTreeSet<Uid>,
    /// Rollouts that go on, each with the cause that the index was told: causes change with time alone, too.
    open: BTreeMap<Uid, String>,
    /// Which workloads are at rest.
    activity: Activity,
    /// The time of a recording at which the index was told last.
    indexed_millis: Millis,
}

/// What was asked of the writer while events stream in.
struct Asked {
    before: oneshot::Receiver<Before>,
    /// What was heard since: the answer does not have it. `None` when that was too much to hold; then the answer is of no use.
    since: Option<Vec<SourceEvent>>,
    /// Objects in it.
    objects: usize,
}

impl Asked {
    fn note(&mut self, event: &SourceEvent) {
        self.objects += match event {
            SourceEvent::Reset { objects, .. } => objects.len() + 1,
            SourceEvent::Object { .. } | SourceEvent::Recorded { .. } => 1,
            _ => return,
        };
        match &mut self.since {
            Some(since) if self.objects <= MOST_SINCE => since.push(event.clone()),
            _ => self.since = None,
        }
    }
}

impl Hub {
    /// Goes on from what is kept.
    pub(super) async fn resume(&mut self, kept: &Kept) {
        let Kept { archive, namespaces } = kept;
        let mut keeper = Keeper {
            journal: archive.journal(&self.name, namespaces),
            archive: archive.clone(),
            namespaces: namespaces.clone(),
            is_past_unread: false,
            asked: None,
            held: None,
            has_checkpoint: true,
            ask_at: Instant::now(),
            pause: KEEP_EVERY,
            anew: archive.anew(),
            lost: archive.lost(),
            keeping: archive.keeping(),
            heard_millis: None,
            listed: BTreeSet::new(),
            checkpoint_seq: 0,
            unindexed: BTreeSet::new(),
            open: BTreeMap::new(),
            activity: Activity::default(),
            indexed_millis: Millis::MIN,
        };
        match archive.before(&self.name).await {
            Before::Known(resumed) => keeper.heard_millis = Some(self.go_on_from(*resumed)),
            Before::Nothing | Before::Unusable => {}
            Before::Unread => keeper.is_past_unread = true,
        }
        let is_there = |known: &Deployment| known.deleted_millis.is_none();
        keeper.held = self.timeline.model().deployments.values().any(is_there).then(Vec::new);
        self.keeper = Some(keeper);
        self.leave_unwatched();
        self.tell_connection();
    }

    /// Takes up what is kept; returns the last word of it.
    fn go_on_from(&mut self, resumed: Resumed) -> Millis {
        self.timeline = resumed.timeline;
        self.history = resumed.history;
        self.observed = resumed.observed;
        let last = resumed.observed.map_or(resumed.heard_millis, |(_, last)| last.max(resumed.heard_millis));
        self.not_before_millis = last;
        self.outdated.extend(self.timeline.model().deployments.keys().copied());
        tracing::info!("cluster {} resumed from its history", self.name);
        last
    }

    /// What is kept may be of namespaces that are not watched any more. No list of theirs will come, so it would stand there as it was
    /// for ever: empty lists end it, with the time in which nobody looked before them, and a checkpoint takes the place of the one before.
    fn leave_unwatched(&mut self) {
        let Some(keeper) = self.keeper.as_ref().filter(|keeper| !keeper.namespaces.is_empty()) else { return };
        let model = self.timeline.model();
        let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none());
        let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none());
        let pods = model.pods.values().filter(|known| known.state() != PodState::Gone);
        let there = deployments.map(|known| &known.namespace).chain(sets.map(|known| &known.namespace));
        let there = there.chain(pods.map(|known| &known.namespace));
        let left: BTreeSet<String> = there.filter(|there| !keeper.namespaces.contains(there)).cloned().collect();
        if left.is_empty() {
            return;
        }
        tracing::info!("{} namespaces of cluster {} are no longer watched", left.len(), self.name);
        let at_millis = self.clock.now_millis().max(self.not_before_millis);
        let gap_since_millis = Some(self.not_before_millis);
        for namespace in left {
            for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::Pod] {
                let (namespace, objects) = (Some(namespace.clone()), Vec::new());
                let left = SourceEvent::Reset { kind, namespace, objects, gap_since_millis, at_millis };
                if let Some(keeper) = &mut self.keeper {
                    match &mut keeper.held {
                        Some(held) => held.push(left.clone()),
                        None => keeper.journal.note(&left, self.timeline.model()),
                    }
                }
                self.heard(left);
            }
        }
        self.checkpoint();
    }

    /// Asks for what could not be read at the start. The answer is looked for later: the store may take its time.
    fn ask(&mut self) {
        if !self.is_written() {
            return;
        }
        let name = &self.name;
        let Some(keeper) = &mut self.keeper else { return };
        let is_due = keeper.is_past_unread && keeper.asked.is_none() && Instant::now() >= keeper.ask_at;
        if !is_due || !keeper.journal.is_even() {
            return;
        }
        keeper.ask_at = Instant::now() + keeper.pause;
        keeper.pause = (keeper.pause * 2).min(LONGEST_PAUSE);
        let before = keeper.archive.late(name, keeper.has_checkpoint);
        keeper.asked = before.map(|before| Asked { before, since: Some(Vec::new()), objects: 0 });
    }

    /// Takes up what could not be read at the start, with what was observed since then, if that was answered.
    fn catch_up(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        let Some(mut asked) = keeper.asked.take() else { return };
        let before = match asked.before.try_recv() {
            Ok(before) => before,
            Err(oneshot::error::TryRecvError::Empty) => {
                keeper.asked = Some(asked);
                return;
            }
            Err(oneshot::error::TryRecvError::Closed) => Before::Unread,
        };
        match (before, asked.since) {
            (Before::Unusable, _) if keeper.has_checkpoint => {
                (keeper.has_checkpoint, keeper.ask_at) = (false, Instant::now());
                return;
            }
            (Before::Unread, _) | (Before::Known(_), None) => return,
            (Before::Nothing | Before::Unusable, _) => keeper.is_past_unread = false,
            (Before::Known(resumed), Some(since)) => {
                keeper.is_past_unread = false;
                self.go_on_from(*resumed);
                self.leave_unwatched();
                since.into_iter().for_each(|event| self.heard(event));
                self.renew();
            }
        }
        self.begin_anew();
    }

    /// Tells the journal. The first list of a kind after a start ends the time in which nobody looked.
    pub(super) fn keep_event(&mut self, event: SourceEvent) -> SourceEvent {
        let Some(keeper) = &mut self.keeper else { return event };
        let event = keeper.after_start(event);
        keeper.asked.iter_mut().for_each(|asked| asked.note(&event));
        let Some(mut held) = keeper.held.take() else {
            keeper.journal.note(&event, self.timeline.model());
            return event;
        };
        let model = self.timeline.model();
        match is_same_cluster(model, &event, self.not_before_millis) {
            None if held.len() < MOST_SINCE => {
                held.push(event.clone());
                keeper.held = Some(held);
            }
            None | Some(true) => {
                held.iter().for_each(|held| keeper.journal.note(held, model));
                self.checkpoint();
                if let Some(keeper) = &mut self.keeper {
                    keeper.journal.note(&event, self.timeline.model());
                }
            }
            Some(false) => return self.begin_without(held, event),
        }
        event
    }

    /// What is kept under the name is of another cluster: it stays as it is, and nothing of this one is kept.
    fn begin_without(&mut self, held: Vec<SourceEvent>, event: SourceEvent) -> SourceEvent {
        let why = format!(
            "the history of {} belongs to another cluster; give this cluster another name in rollcast.toml",
            self.name
        );
        tracing::warn!("cannot write history: {why}");
        self.refused = Some(Unwritten { since_millis: self.clock.now_millis(), why });
        (self.keeper, self.timeline, self.history) = (None, Timeline::new(), History::default());
        (self.observed, self.not_before_millis) = (None, Millis::MIN);
        held.into_iter().map(without_gap).for_each(|held| self.heard(held));
        self.renew();
        self.tell_connection();
        without_gap(event)
    }

    /// Tells the index how rollouts of a recording stand: played fast, many may be over before anybody looks at the clock.
    pub(super) fn index_played(&mut self, at_millis: Millis) {
        let is_due =
            |keeper: &Keeper| at_millis.saturating_sub(keeper.indexed_millis) >= KEEP_EVERY.as_millis() as Millis;
        if self.keeper.as_ref().is_some_and(is_due) {
            self.index();
        }
    }

    /// Writes down that the cluster is there, and hears how writing gets on.
    pub(super) fn keep(&mut self) {
        let now_millis = self.clock.now_millis();
        let is_live = self.signals.connection.borrow().state == ConnectionState::Live;
        let Some(keeper) = &mut self.keeper else { return };
        keeper.journal.tell_late();
        if is_live {
            keeper.journal.heard(now_millis, self.timeline.model());
        }
        if keeper.keeping.has_changed().unwrap_or(false) {
            self.tell_connection();
        }
        let anew = self.keeper.as_mut().map(|keeper| &mut keeper.anew);
        if let Some(anew) = anew.filter(|anew| anew.has_changed().unwrap_or(false)) {
            anew.mark_unchanged();
            self.begin_anew();
        }
        let lost = self.keeper.as_mut().map(|keeper| &mut keeper.lost);
        if let Some(lost) = lost.filter(|lost| lost.has_changed().unwrap_or(false)) {
            lost.mark_unchanged();
            // What follows is told of things that the lines know nothing of yet.
            self.signals.anew.send_modify(|asked| *asked += 1);
        }
        self.catch_up();
        self.ask();
        self.index();
    }

    fn is_written(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| *keeper.keeping.borrow() == Keeping::Written)
    }

    /// Tells how rollouts and workloads stand that something was heard of.
    fn index(&mut self) {
        let (now, last) = (self.now(), self.observed.map(|(_, last)| last));
        // What plays fast is ahead of what was played of it.
        let now = Now { millis: last.filter(|_| self.replay.is_some()).unwrap_or(now.millis), ..now };
        let Some(heard) = self.keeper.as_ref().map(|keeper| keeper.unindexed.clone()) else { return };
        self.index_rollouts(now);
        let Some(keeper) = self.keeper.as_mut().filter(|keeper| !keeper.is_past_unread && keeper.held.is_none()) else {
            return;
        };
        let turns = keeper.activity.turns(self.timeline.model(), &heard, now.millis);
        if turns != Turns::default()
            && let Err(turns) = keeper.journal.activity(turns)
        {
            keeper.activity.again(turns);
        }
    }

    fn index_rollouts(&mut self, now: Now) {
        let Some(keeper) = &mut self.keeper else { return };
        let (name, model) = (&self.name, self.timeline.model());
        let last = |uid: &Uid| index::rollouts(name, model, *uid, now, 1).pop();
        let is_otherwise = |(uid, told): &(&Uid, &String)| last(uid).is_none_or(|last| last.cause != **told);
        keeper.unindexed.extend(keeper.open.iter().filter(is_otherwise).map(|(uid, _)| *uid));
        if keeper.unindexed.is_empty() {
            return;
        }
        keeper.indexed_millis = now.millis;
        if keeper.is_past_unread || keeper.held.is_some() {
            return; // its rollouts would be told as others than those that are kept
        }
        let told = |uid: &Uid| index::rollouts(name, model, *uid, now, index::LAST);
        let rollouts: Vec<PastRollout> = keeper.unindexed.iter().flat_map(told).collect();
        let open = rollouts.iter().filter(|rollout| rollout.is_going_on());
        let open: Vec<(Uid, String)> = open.map(|rollout| (rollout.uid, rollout.cause.clone())).collect();
        if keeper.journal.rollouts(rollouts) {
            for uid in mem::take(&mut keeper.unindexed) {
                keeper.open.remove(&uid);
            }
            keeper.open.extend(open);
        }
    }

    /// What is written now may be another store, which knows nothing of what was before.
    fn begin_anew(&mut self) {
        let all: Vec<Uid> = self.timeline.model().deployments.keys().copied().collect();
        if let Some(keeper) = &mut self.keeper {
            keeper.checkpoint_seq = 0;
            keeper.unindexed.extend(all);
        }
        self.checkpoint();
    }

    /// Puts the timeline away, if anything changed since the last time.
    pub(super) fn checkpoint(&mut self) {
        self.index();
        let standing = Standing { timeline: &self.timeline, history: &self.history, observed: self.observed };
        let Some(keeper) = &mut self.keeper else { return };
        let at_millis = self.observed.map_or(0, |(_, last)| last);
        if keeper.checkpoint_seq == self.timeline.seq() || keeper.is_past_unread || keeper.held.is_some() {
            return;
        }
        if let Some(checkpoint) = resume::checkpoint(&standing) {
            keeper.journal.checkpoint(at_millis, checkpoint);
            keeper.checkpoint_seq = self.timeline.seq();
        }
    }

    /// Since when what is observed is not written, and why.
    pub(super) fn unwritten(&mut self) -> Option<Unwritten> {
        if self.refused.is_some() {
            return self.refused.clone();
        }
        match &*self.keeper.as_mut()?.keeping.borrow_and_update() {
            Keeping::Written => None,
            Keeping::Failing { since_millis, why } => Some(Unwritten { since_millis: *since_millis, why: why.clone() }),
        }
    }

    /// What is shown before the cluster answers is of the time before this start.
    pub(super) fn since_before(&self, connection: Connection) -> Connection {
        let heard = self.keeper.as_ref().and_then(|keeper| keeper.heard_millis);
        match (heard, &connection.state) {
            (Some(since_millis), ConnectionState::Connecting) => {
                let state = ConnectionState::Stale { since_millis, retry_at_millis: None, why: BEGINS.to_owned() };
                Connection { state, ..connection }
            }
            (Some(heard), ConnectionState::Stale { since_millis, retry_at_millis, why })
                if *since_millis > heard && !self.is_listed() =>
            {
                let (retry_at_millis, why) = (*retry_at_millis, why.clone());
                Connection { state: ConnectionState::Stale { since_millis: heard, retry_at_millis, why }, ..connection }
            }
            _ => connection,
        }
    }

    /// Something was listed since this start.
    fn is_listed(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| !keeper.listed.is_empty())
    }
}

/// Whether a list is of the cluster that a model tells of; `None` where it does not tell. One that has Deployments in places that were
/// watched, which were there long before the last word and are not known, while it lacks all that are known, is of another one: UIDs
/// are never given twice.
fn is_same_cluster(model: &Model, event: &SourceEvent, heard_millis: Millis) -> Option<bool> {
    let (namespace, objects) = match event {
        SourceEvent::Reset { kind: Kind::Deployment, namespace, objects, .. } => (namespace, objects),
        // No list will tell.
        SourceEvent::Health { kind: Kind::Deployment, health: Health::Forbidden { .. }, .. } => return Some(true),
        _ => return None,
    };
    let is_listed = |known: &&Deployment| namespace.as_ref().is_none_or(|listed| *listed == known.namespace);
    let known = || model.deployments.values().filter(|known| known.deleted_millis.is_none());
    let places: BTreeSet<&str> = known().filter(is_listed).map(|known| known.namespace.as_str()).collect();
    if places.is_empty() {
        return known().next().is_none().then_some(true); // else the list of another namespace tells
    }
    if objects.iter().filter_map(|object| object.uid().ok()).any(|uid| model.deployments.contains_key(&uid)) {
        return Some(true);
    }
    let is_old = |object: &Object| match object.clone().fact(Seen::InList) {
        Ok(Some(Fact::Deployment(fact, _))) => {
            let is_before = fact.meta.created_at_millis < heard_millis.saturating_sub(LONG_BEFORE_MILLIS);
            is_before && places.contains(fact.meta.namespace.as_str())
        }
        _ => false,
    };
    Some(!objects.iter().any(is_old))
}

/// The first list of a cluster follows no gap.
fn without_gap(event: SourceEvent) -> SourceEvent {
    match event {
        SourceEvent::Reset { kind, namespace, objects, at_millis, .. } => {
            SourceEvent::Reset { kind, namespace, objects, gap_since_millis: None, at_millis }
        }
        other => other,
    }
}

impl Keeper {
    fn after_start(&mut self, event: SourceEvent) -> SourceEvent {
        match event {
            SourceEvent::Reset { kind, namespace, objects, gap_since_millis, at_millis } => {
                let is_first = self.listed.insert((kind, namespace.clone()));
                let heard_millis = self.heard_millis.filter(|_| is_first);
                let gap_since_millis = gap_since_millis.or(heard_millis);
                SourceEvent::Reset { kind, namespace, objects, gap_since_millis, at_millis }
            }
            other => other,
        }
    }
}
