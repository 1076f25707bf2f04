//! One rollout, or one moment, cut out for who came by a link to that alone: a hub of its own that holds nothing else, so that pages,
//! details, moments and the stream are made as those of a cluster are, and cannot tell more.
//!
//! ```text
//!   the cluster's hub, or what is kept ──► the past of one Deployment ──► History::excerpt ──► Handle::standing
//! ```
//! Each is made by itself, so that one which takes long holds up no other one, and once for all who want it at the same time. A rollout
//! whose revision is the current one is cut out anew every two seconds while somebody looks; once there is a sign of another one, it
//! stands still just before that. That a link opens nothing is remembered, too.

use std::sync::Arc;
use std::time::Duration;

use timeline::history::MOST_CHANGES;
use timeline::model::Deployment;
use timeline::wire::ConnectionState;
use timeline::words::clock;
use timeline::{History, Millis, Timeline, Uid, Workload, rollout};
use tokio::time::Instant;

use crate::access::followers::Follower;
use crate::access::scope::Scope;
use crate::history::Archive;
use crate::history::hub_cache::{Entry, HubCache, Most};
use crate::history::past::{Lost, Past};
use crate::history::shelf::{Held, Shelf};
use crate::history::store::{Sought, StoreError};
use crate::history::stretch::LEAD_MILLIS;
use crate::hub::flight::{Flights, Turn};
use crate::hub::{Handle, Reader, Standing};

/// Excerpts that are held, those looked at last, and changes and objects in all of them together; whoever looks at another one has it
/// made again.
const HELD: usize = 64;
const MOST_HELD: usize = 4 * MOST_CHANGES;
/// Excerpts that exist at once, held or followed, and changes and objects in all of them together.
const MOST: usize = 4 * HELD;
const MOST_SIZE: usize = 2 * MOST_HELD;
/// Rollouts and moments that all who came by links of one maker follow at once. One link opens one of them.
const MOST_OF_LINKS: usize = HELD;
/// One that goes on is made anew though there is no room, unless so many of its excerpts are followed: each takes the place of one before.
const MOST_OF_SCOPE: usize = 4;
/// Links that open nothing and are remembered.
const MISSING: usize = 1_000;
/// Excerpts that are made at once.
const MADE_AT_ONCE: usize = 4;
/// One that stands still, and that nobody follows, is made anew for who comes after this: it may not be kept any more, or be known better.
/// What is not known is asked for again after this.
const HELD_FOR: Duration = Duration::from_secs(30);
/// One that goes on is made anew this often; so is what cannot be read, and what may not have been listed yet is asked for again.
pub const ANEW_EVERY: Duration = Duration::from_secs(2);

/// The excerpts that were looked at lately, and those that are made.
pub struct Excerpts {
    cache: Arc<HubCache<Excerpt>>,
    missing: Arc<Shelf<Missing>>,
    made: Flights<Scope, Opened>,
}

/// What a link opens, or why it opens nothing.
type Opened = Result<Handle, Arc<Lost>>;

impl Default for Excerpts {
    fn default() -> Self {
        let most = Most {
            cached: (HELD, MOST_HELD),
            alive: (MOST, MOST_SIZE),
            of_one: MOST_OF_LINKS,
            of_links: MOST_OF_LINKS,
        };
        Self {
            cache: Arc::new(HubCache::new(&most)),
            missing: Arc::new(Shelf::of(MISSING, MISSING)),
            made: Flights::at_most(MADE_AT_ONCE),
        }
    }
}

struct Excerpt {
    scope: Scope,
    hub: Handle,
    /// Changes and objects.
    size: usize,
    /// When it is made anew.
    until: Instant,
}

impl Held for Excerpt {
    fn size(&self) -> usize {
        self.size
    }

    fn replaces(&self, other: &Self) -> bool {
        self.scope == other.scope
    }
}

impl Entry for Excerpt {
    type Key = Scope;

    fn key(&self) -> Scope {
        self.scope.clone()
    }

    fn hub(&self) -> &Handle {
        &self.hub
    }

    fn is_fresh(&self) -> bool {
        self.until > Instant::now()
    }
}

/// A link that opens nothing.
struct Missing {
    scope: Scope,
    why: Arc<Lost>,
    /// When it is asked for again.
    until: Instant,
}

impl Held for Missing {
    fn size(&self) -> usize {
        1
    }

    fn replaces(&self, other: &Self) -> bool {
        self.scope == other.scope
    }
}

/// What is known of a scope without asking a hub or the store. An excerpt that stands still is used for as long as somebody follows it.
fn find(cache: &HubCache<Excerpt>, missing: &Shelf<Missing>, scope: &Scope) -> Option<Opened> {
    let found = cache.find(|known| known.scope == *scope && (known.hub.is_over() || known.is_fresh()));
    if let Some(hub) = found {
        return Some(Ok(hub));
    }
    let mut missing = missing.things();
    missing.retain(|known| known.until > Instant::now());
    missing.iter().find(|known| known.scope == *scope).map(|known| Err(known.why.clone()))
}

/// Where something is cut out: the hub of a cluster, and what is kept of it.
struct Whole {
    live: Handle,
    kept: Option<(Archive, Past)>,
}

/// What is copied out of a hub to make one.
struct Copied {
    past: History,
    skew_millis: Millis,
    deployment: Uid,
    /// Since when it is shown; `None` for the begin of the rollout that went on at its end.
    from_millis: Option<Millis>,
    to_millis: Millis,
    /// It goes on.
    is_live: bool,
    title: String,
}

impl Excerpts {
    /// What a link opens, where that is known.
    pub fn find(&self, scope: &Scope) -> Option<Opened> {
        find(&self.cache, &self.missing, scope)
    }

    /// It is made for somebody already.
    pub fn is_made(&self, scope: &Scope) -> bool {
        self.made.is_going(scope)
    }

    /// The excerpt that a link opens, out of the hub of its cluster or of what is kept of it.
    ///
    /// # Errors
    /// When nothing is known of it, what is kept cannot be read, or there is no room for one more.
    pub async fn open(&self, live: &Handle, kept: Option<(&Archive, &Past)>, scope: &Scope) -> Opened {
        if let Some(known) = self.find(scope) {
            return known;
        }
        let kept = kept.map(|(archive, past)| (archive.clone(), past.clone()));
        let (whole, what) = (Whole { live: live.clone(), kept }, scope.clone());
        let (cache, missing) = (self.cache.clone(), self.missing.clone());
        let make = |turn| async move {
            // The one before may have been made just now.
            if let Some(known) = find(&cache, &missing, &what) {
                return known;
            }
            let of_scope = cache.count(|known| known.scope == what);
            if !(1..MOST_OF_SCOPE).contains(&of_scope) && !cache.make_room() {
                return Err(Arc::new(Lost::Full));
            }
            let made = whole.cut(what.clone(), turn).await;
            if let Err(why) = &made
                && let Some(lasts) = whole.is_missing_for(why)
            {
                missing.hold(Missing { scope: what, why: why.clone(), until: Instant::now() + lasts });
            }
            made.map(|excerpt| cache.insert(excerpt))
        };
        self.made.join(scope, make).await
    }

    /// A way to a hub for a client who follows it; `None` where the links of one maker open too many excerpts at once already.
    pub fn seat(&self, hub: Handle, follower: &Follower) -> Option<Handle> {
        self.cache.seat(hub, follower)
    }
}

impl Whole {
    async fn cut(&self, scope: Scope, turn: Turn) -> Result<Excerpt, Arc<Lost>> {
        let unknown = || Arc::new(Lost::Unknown);
        let copied = match copy(&self.live, &scope).await {
            Some(copied) => copied,
            None => {
                let past = self.past(&scope).await?;
                let copied = copy(&past, &scope).await.ok_or_else(unknown)?;
                Copied { is_live: false, ..copied }
            }
        };
        let is_live = copied.is_live;
        let is_moment = matches!(scope, Scope::Moment { .. });
        let standing = tokio::task::spawn_blocking(move || {
            let standing = copied.stand(is_moment);
            drop(turn); // until here, though nobody may wait any more
            standing
        });
        let standing = standing.await.ok().flatten().ok_or_else(unknown)?;
        let model = standing.timeline.model();
        let objects = model.pods.len() + model.replica_sets.len() + model.deployments.len();
        let size = standing.history.changes().count() + 2 * objects;
        let hub = Handle::standing(self.live.name(), standing).with_accent(self.live.accent());
        let (hub, lasts) = if is_live { (hub.beside(&self.live), ANEW_EVERY) } else { (hub.over(), HELD_FOR) };
        Ok(Excerpt { scope, hub, size, until: Instant::now() + lasts })
    }

    /// For how long a link is not asked for again; `None` where the next client may have room.
    fn is_missing_for(&self, why: &Lost) -> Option<Duration> {
        let is_listed = !matches!(self.live.connection().borrow().state, ConnectionState::Connecting);
        match why {
            Lost::Unknown => Some(if is_listed { HELD_FOR } else { ANEW_EVERY }),
            Lost::Unreadable(_) => Some(ANEW_EVERY),
            Lost::Full => None,
        }
    }

    /// The rollout as it is kept, standing at its end or at the moment.
    async fn past(&self, scope: &Scope) -> Opened {
        let unknown = || Arc::new(Lost::Unknown);
        let ((archive, past), (of, uid)) = self.kept.as_ref().zip(scope.part()).ok_or_else(unknown)?;
        let number = kept(archive, scope).await.map_err(Lost::from)?.ok_or_else(unknown)?;
        let until_millis = if let Scope::Moment { at_millis, .. } = scope { Some(*at_millis) } else { None };
        let workload = Workload { rollout: Some(number), ..of.workload(Some(uid)) };
        past.open(archive, &workload, until_millis).await
    }
}

async fn copy(hub: &Handle, scope: &Scope) -> Option<Copied> {
    let scope = scope.clone();
    hub.read(move |reader| copied(reader, &scope)).await.ok().flatten()
}

/// What a link opens is known here, or kept.
pub async fn is_known(live: &Handle, archive: Option<&Archive>, scope: &Scope) -> bool {
    let this = scope.clone();
    if live.read(move |reader| found(reader, &this).is_some()).await.unwrap_or_default() {
        return true;
    }
    match archive {
        Some(archive) => kept(archive, scope).await.is_ok_and(|number| number.is_some()),
        None => false,
    }
}

/// The number of the rollout that is kept.
async fn kept(archive: &Archive, scope: &Scope) -> Result<Option<u32>, StoreError> {
    let Some((of, uid)) = scope.part() else { return Ok(None) };
    let sought = match scope {
        Scope::Moment { at_millis, .. } => Sought::At(*at_millis),
        Scope::Rollout { revision, .. } => Sought::Revision(*revision),
        Scope::Workload(_) | Scope::Wall { .. } => return Ok(None),
    };
    let cluster = of.cluster.clone();
    let found = archive.read(move |reader| reader.find(&cluster, uid, sought)).await?;
    // A link to a moment opens no later one.
    let is_meant = |began_millis: Millis| !matches!(sought, Sought::At(at_millis) if at_millis < began_millis);
    Ok(found.filter(|(_, began_millis)| is_meant(*began_millis)).map(|(number, _)| number))
}

/// What of a Deployment a link opens.
struct Found {
    from_millis: Option<Millis>,
    to_millis: Millis,
    is_live: bool,
    title: String,
}

/// In the hub's task: copies the past of the Deployment, where the hub knows of that rollout or moment.
fn copied(reader: &Reader<'_>, scope: &Scope) -> Option<Copied> {
    let (_, uid) = scope.part()?;
    let Found { from_millis, to_millis, is_live, title } = found(reader, scope)?;
    let (past, skew_millis) = (reader.history.only(reader.timeline.model(), uid), reader.timeline.skew_millis());
    Some(Copied { past, skew_millis, deployment: uid, from_millis, to_millis, is_live, title })
}

fn found(reader: &Reader<'_>, scope: &Scope) -> Option<Found> {
    let (of, uid) = scope.part()?;
    let model = reader.timeline.model();
    let known = of.workload(Some(uid)).find(model)?;
    let first = known.known_since_millis().max(reader.history.base_millis().unwrap_or(Millis::MIN));
    let (from_millis, to_millis, is_live, title) = match scope {
        Scope::Rollout { revision, .. } => {
            let at = known.rollouts.iter().rposition(|rollout| rollout.revision == *revision)?;
            let is_last = at + 1 == known.rollouts.len();
            let last = match is_last {
                true => rollout::next_sign_millis(model, known).map(|sign| sign - 1),
                false => rollout::last_moment_millis(model, known, at),
            };
            let to_millis = last.unwrap_or(reader.now_millis);
            (Some(shown_since(known, at).max(first)), to_millis, is_last, format!("{} revision {revision}", of.name))
        }
        Scope::Moment { at_millis, .. } => {
            (None, *at_millis, false, format!("{} at {} UTC", of.name, clock(*at_millis)))
        }
        Scope::Workload(_) | Scope::Wall { .. } => return None,
    };
    let is_seen = (from_millis.unwrap_or(first)..=reader.now_millis).contains(&to_millis);
    is_seen.then_some(Found { from_millis, to_millis, is_live, title })
}

/// Since when a rollout of a Deployment is shown: from a little before its begin, and nothing of what came before the one that it took
/// the place of.
fn shown_since(deployment: &Deployment, rollout: usize) -> Millis {
    let began = |at: usize| deployment.rollouts.get(at).and_then(|rollout| rollout.started_millis);
    let before = rollout.checked_sub(1).and_then(began).unwrap_or(Millis::MIN);
    began(rollout).map_or(Millis::MIN, |began| began - LEAD_MILLIS).max(before)
}

impl Copied {
    /// What a hub stands still with, which shows that and nothing else.
    fn stand(self, is_moment: bool) -> Option<Standing> {
        let Self { past, skew_millis, deployment, from_millis, to_millis, is_live: _, title } = self;
        let from_millis = match from_millis {
            Some(from_millis) => from_millis,
            None => {
                let mut walk = past.walk();
                let then = walk.to(to_millis).deployments.get(&deployment)?;
                shown_since(then, then.rollouts.len().saturating_sub(1)).max(then.known_since_millis())
            }
        };
        let (history, model) = past.excerpt(deployment, from_millis, to_millis);
        model.deployments.contains_key(&deployment).then(|| Standing {
            history: if is_moment { History::end(model.clone(), to_millis) } else { history },
            timeline: Timeline::from_model(model, skew_millis),
            from_millis,
            at_millis: to_millis,
            state: ConnectionState::Replay { name: title },
        })
    }
}

#[cfg(test)]
mod tests {
    use timeline::WorkloadKind;

    use super::*;
    use crate::access::Subjects;
    use crate::access::scope::Named;
    use crate::feed::recording::Recording;
    use crate::history::past;
    use crate::kube::SourceEvent;
    use crate::kube::review::Subject;
    use crate::telemetry::clock::OwnClock;

    fn hub(name: &str) -> Handle {
        Handle::start(name, Arc::default(), timeline::Retention::default()).0
    }

    fn moment(cluster: &str, at_millis: Millis) -> Scope {
        let (namespace, name) = ("shop".to_owned(), "web".to_owned());
        let of = Named { cluster: cluster.to_owned(), kind: WorkloadKind::Deployment, namespace, name };
        Scope::Moment { of, uid: "00000000-0000-0000-0000-000000000001".parse().unwrap(), at_millis }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn one_that_takes_long_holds_up_no_other_and_ends_when_nobody_waits() {
        let (excerpts, slow, quick) = (Arc::new(Excerpts::default()), hub("slow"), hub("quick"));
        // The hub of one cluster is busy for as long as we want.
        let (let_go, is_over) = std::sync::mpsc::channel::<()>();
        let busy = slow.clone();
        tokio::spawn(async move { busy.read(move |_| is_over.recv()).await.is_ok() });
        let waiting: Vec<_> = (0..MADE_AT_ONCE - 1)
            .map(|at| {
                let (excerpts, slow) = (excerpts.clone(), slow.clone());
                tokio::spawn(async move { excerpts.open(&slow, None, &moment("slow", at as Millis)).await.is_ok() })
            })
            .collect();
        let began = Instant::now();
        while excerpts.made.count() < waiting.len() {
            tokio::task::yield_now().await;
            assert!(began.elapsed() < Duration::from_secs(10), "they are being made");
        }
        let scope = moment("quick", 0);
        let other = tokio::time::timeout(Duration::from_secs(10), excerpts.open(&quick, None, &scope)).await;
        assert!(other.expect("it is not waited for the slow ones").is_err(), "nothing is known there");
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        while excerpts.made.count() > 0 {
            tokio::task::yield_now().await;
            assert!(began.elapsed() < Duration::from_secs(20), "nobody waits for them");
        }
        drop(let_go);
    }

    #[tokio::test]
    async fn what_is_held_is_bounded_in_number_and_in_size() {
        let (excerpts, hub) = (Excerpts::default(), hub("prod"));
        let until = Instant::now() + HELD_FOR;
        let hold = |at, size| {
            excerpts.cache.insert(Excerpt { scope: moment("prod", at), hub: hub.clone(), size, until });
        };
        let left = || -> Vec<Millis> {
            let is_held = |at: &Millis| excerpts.cache.count(|known| known.scope == moment("prod", *at)) > 0;
            (0..300).filter(is_held).collect()
        };
        (0..100).for_each(|at| hold(at, 1));
        assert_eq!(left().len(), HELD);
        let used = excerpts.find(&moment("prod", 40));
        assert!(used.is_some_and(|known| known.is_ok()), "it is the last one now that was looked at");
        hold(200, MOST_HELD - 3);
        assert_eq!(left(), [40, 98, 99, 200]);
        hold(201, 2 * MOST_HELD);
        assert_eq!(left(), [201], "who looks at the largest need not have it made again each time");
    }

    #[tokio::test]
    async fn those_that_are_followed_are_bounded_too_and_the_links_of_one_maker_leave_room_for_others() {
        let by = |maker: &str, link: Millis| {
            let subject = Subject { user: maker.to_owned(), ..Subject::default() };
            Follower::Known(Arc::new(Subjects::Same(subject)), Some(link.to_string()))
        };
        let (excerpts, hub) = (Excerpts::default(), hub("prod"));
        let until = Instant::now() + HELD_FOR;
        let open = |at| excerpts.cache.insert(Excerpt { scope: moment("prod", at), hub: hub.clone(), size: 1, until });
        let mut seats: Vec<_> = (0..64).map(|at| excerpts.seat(open(at), &by("ann", at)).unwrap()).collect();
        assert!(excerpts.seat(open(64), &by("ann", 64)).is_none(), "one too many");
        assert!(excerpts.seat(open(0), &by("ann", 0)).is_some(), "which is followed, made anew");
        assert!(excerpts.seat(open(64), &by("bob", 0)).is_some(), "somebody else's");
        seats.pop();
        assert!(excerpts.seat(open(64), &by("ann", 64)).is_some(), "there is room");
        // All that there may be are followed.
        seats.extend((64..MOST as Millis + 1).map(|at| excerpts.seat(open(at), &Follower::Many).unwrap()));
        let full = excerpts.open(&hub, None, &moment("prod", 999)).await;
        assert!(matches!(full.map_err(|why| matches!(*why, Lost::Full)), Err(true)), "nothing is made");
        assert!(excerpts.find(&moment("prod", 999)).is_none(), "there may be room for the next one");
        let anew = excerpts.open(&hub, None, &moment("prod", 70)).await;
        assert!(anew.is_ok(), "what is followed is handed out");
        drop((seats, anew));
        let room = excerpts.open(&hub, None, &moment("prod", 999)).await;
        assert!(matches!(room.map_err(|why| matches!(*why, Lost::Unknown)), Err(true)), "there is room");
    }

    #[tokio::test(start_paused = true)]
    async fn that_nothing_is_known_is_asked_once_and_again_after_a_while() {
        let excerpts = Excerpts::default();
        let (live, events) = Handle::start("prod", Arc::default(), timeline::Retention::default());
        let opened = excerpts.open(&live, None, &moment("prod", 0)).await;
        assert!(opened.is_err());
        assert!(excerpts.find(&moment("prod", 0)).is_some_and(|known| known.is_err()), "it is remembered");
        assert!(excerpts.find(&moment("prod", 1)).is_none(), "of that one alone");
        tokio::time::advance(ANEW_EVERY).await;
        assert!(excerpts.find(&moment("prod", 0)).is_none(), "it may have been listed meanwhile");
        let clock = OwnClock { start_millis: 0, started: Instant::now(), speed: 0.0 };
        events.send(SourceEvent::Begins { name: String::new(), clock }).await.unwrap();
        live.connection().wait_for(|connection| connection.state.is_live()).await.unwrap();
        assert!(excerpts.open(&live, None, &moment("prod", 0)).await.is_err());
        tokio::time::advance(HELD_FOR - ANEW_EVERY).await;
        assert!(excerpts.find(&moment("prod", 0)).is_some(), "everything was listed: it is not asked for again soon");
        tokio::time::advance(ANEW_EVERY).await;
        assert!(excerpts.find(&moment("prod", 0)).is_none());
    }

    #[tokio::test]
    async fn what_is_known_is_what_can_be_cut_out() {
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollover.jsonl");
        let recording = Recording::read(&std::fs::read_to_string(text).unwrap());
        let (from_millis, to_millis) = recording.span().unwrap();
        let live =
            Handle::standing("prod", past::standing("rollover".to_owned(), recording.observed, to_millis).unwrap());
        let uid = live.read(|reader| *reader.timeline.model().deployments.keys().next().unwrap()).await.unwrap();
        let (namespace, name) = ("rollover".to_owned(), "web".to_owned());
        let of = Named { cluster: "prod".to_owned(), kind: WorkloadKind::Deployment, namespace, name };
        let moments = (from_millis - 3_000..to_millis + 3_000).step_by(3_000);
        let moments = moments.map(|at_millis| Scope::Moment { of: of.clone(), uid, at_millis });
        let rollouts = (0..5).map(|revision| Scope::Rollout { of: of.clone(), uid, revision });
        let mut known = [0, 0];
        for scope in moments.chain(rollouts) {
            let is_known = is_known(&live, None, &scope).await;
            assert_eq!(is_known, Excerpts::default().open(&live, None, &scope).await.is_ok(), "{scope:?}");
            known[usize::from(is_known)] += 1;
        }
        assert!(known.iter().all(|count| *count > 2), "{known:?}");
    }
}
