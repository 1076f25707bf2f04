//! One rollout, or one moment, cut out for who came by a link to that alone: a hub of its own that holds nothing else, so that pages,
//! details, moments and the stream are made as those of a cluster are, and cannot tell more.
//!
//! ```text
//!   the cluster's hub, or what is kept ──► the past of one Deployment ──► History::excerpt ──► Handle::standing
//! ```
//! Each is made by itself, so that one which takes long holds up no other one, and once for all who want it at the same time. A rollout
//! whose revision is the current one is cut out anew every two seconds while somebody looks; once there is a sign of another one, it
//! stands still just before that.

use std::sync::Arc;
use std::time::Duration;

use timeline::history::MOST_CHANGES;
use timeline::model::Deployment;
use timeline::wire::ConnectionState;
use timeline::words::clock;
use timeline::{History, Millis, Timeline, Uid, Workload, rollout};
use tokio::time::Instant;

use crate::flight::{Flights, Turn};
use crate::history::Archive;
use crate::history::past::Past;
use crate::history::slice::LEAD_MILLIS;
use crate::history::store::Sought;
use crate::hub::{Handle, Reader, Standing};
use crate::scope::Scope;
use crate::shelf::{self, Shelf};

/// Excerpts that are held, those looked at last, and changes and objects in all of them together; whoever looks at another one has it
/// made again.
const HELD: usize = 64;
const MOST_HELD: usize = 4 * MOST_CHANGES;
/// Excerpts that are made at once.
const MADE_AT_ONCE: usize = 4;
/// One that stands still is made anew for who comes after this: it may not be kept any more, or be known better.
const HELD_FOR: Duration = Duration::from_secs(30);
/// One that goes on is made anew this often.
pub const ANEW_EVERY: Duration = Duration::from_secs(2);

/// The excerpts that were looked at lately, and those that are made.
pub struct Excerpts {
    /// The one first that was looked at last.
    held: Arc<Shelf<Held>>,
    made: Flights<Scope, Option<Handle>>,
}

impl Default for Excerpts {
    fn default() -> Self {
        Self { held: Arc::new(Shelf::of(HELD, MOST_HELD)), made: Flights::at_most(MADE_AT_ONCE) }
    }
}

struct Held {
    scope: Scope,
    hub: Handle,
    /// Changes and objects.
    size: usize,
    /// When it is made anew.
    until: Instant,
}

impl shelf::Held for Held {
    fn size(&self) -> usize {
        self.size
    }

    fn replaces(&self, other: &Self) -> bool {
        self.scope == other.scope
    }
}

/// What is held of a scope, which is the one then that was looked at last.
fn find(held: &Shelf<Held>, scope: &Scope) -> Option<Handle> {
    let mut things = held.things();
    things.retain(|known| known.until > Instant::now());
    let at = things.iter().position(|known| known.scope == *scope)?;
    let known = things.remove(at)?;
    let hub = known.hub.clone();
    things.push_front(known);
    Some(hub)
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
    /// The excerpt that a link opens, where it is held.
    pub fn find(&self, scope: &Scope) -> Option<Handle> {
        find(&self.held, scope)
    }

    /// The excerpt that a link opens, out of the hub of its cluster or of what is kept of it.
    pub async fn open(&self, live: &Handle, kept: Option<(&Archive, &Past)>, scope: &Scope) -> Option<Handle> {
        if let Some(known) = self.find(scope) {
            return Some(known);
        }
        let kept = kept.map(|(archive, past)| (archive.clone(), past.clone()));
        let (whole, held, what) = (Whole { live: live.clone(), kept }, self.held.clone(), scope.clone());
        let make = |turn| async move {
            // The one before may have been made just now.
            let known = find(&held, &what);
            if known.is_some() {
                return known;
            }
            let made = whole.cut(what, turn).await?;
            let hub = made.hub.clone();
            held.hold(made);
            Some(hub)
        };
        self.made.join(scope, make).await
    }
}

impl Whole {
    async fn cut(&self, scope: Scope, turn: Turn) -> Option<Held> {
        let copied = match copy(&self.live, &scope).await {
            Some(copied) => copied,
            None => {
                let past = self.past(&scope).await?;
                copy(&past, &scope).await.map(|copied| Copied { is_live: false, ..copied })?
            }
        };
        let is_live = copied.is_live;
        let is_moment = matches!(scope, Scope::Moment { .. });
        let standing = tokio::task::spawn_blocking(move || {
            let standing = copied.stand(is_moment);
            drop(turn); // until here, though nobody may wait any more
            standing
        });
        let standing = standing.await.ok()??;
        let model = standing.timeline.model();
        let objects = model.pods.len() + model.replica_sets.len() + model.deployments.len();
        let size = standing.history.changes().count() + 2 * objects;
        let hub = Handle::standing(self.live.name(), standing).with_accent(self.live.accent());
        let (hub, lasts) = if is_live { (hub.beside(&self.live), ANEW_EVERY) } else { (hub.over(), HELD_FOR) };
        Some(Held { scope, hub, size, until: Instant::now() + lasts })
    }

    /// The rollout as it is kept, standing at its end or at the moment.
    async fn past(&self, scope: &Scope) -> Option<Handle> {
        let ((archive, past), (of, uid)) = (self.kept.as_ref()?, scope.part()?);
        let number = kept(archive, scope).await?;
        let until_millis = if let Scope::Moment { at_millis, .. } = scope { Some(*at_millis) } else { None };
        let workload = Workload { rollout: Some(number), ..of.workload(Some(uid)) };
        past.open(archive, &workload, until_millis).await.ok()
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
        Some(archive) => kept(archive, scope).await.is_some(),
        None => false,
    }
}

/// The number of the rollout that is kept.
async fn kept(archive: &Archive, scope: &Scope) -> Option<u32> {
    let (of, uid) = scope.part()?;
    let sought = match scope {
        Scope::Moment { at_millis, .. } => Sought::At(*at_millis),
        Scope::Rollout { revision, .. } => Sought::Revision(*revision),
        Scope::Workload(_) | Scope::Wall { .. } => return None,
    };
    let cluster = of.cluster.clone();
    archive.read(move |reader| reader.find(&cluster, uid, sought)).await.ok()?
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
            timeline: Timeline::standing(model, skew_millis),
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
    use crate::history::past::play;
    use crate::recording::Recording;
    use crate::scope::Named;

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
                tokio::spawn(async move { excerpts.open(&slow, None, &moment("slow", at as Millis)).await.is_some() })
            })
            .collect();
        let began = Instant::now();
        while excerpts.made.count() < waiting.len() {
            tokio::task::yield_now().await;
            assert!(began.elapsed() < Duration::from_secs(10), "they are being made");
        }
        let scope = moment("quick", 0);
        let other = tokio::time::timeout(Duration::from_secs(10), excerpts.open(&quick, None, &scope)).await;
        assert!(other.expect("it is not waited for the slow ones").is_none(), "nothing is known there");
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        while excerpts.made.count() > 0 {
            tokio::task::yield_now().await;
            assert!(began.elapsed() < Duration::from_secs(20), "nobody waits for them");
        }
        drop(let_go);
    }

    #[tokio::test]
    async fn what_is_held_is_bounded_in_number_and_in_size() {
        let (shelf, hub) = (Shelf::of(HELD, MOST_HELD), hub("prod"));
        let until = Instant::now() + HELD_FOR;
        let held = |at, size| Held { scope: moment("prod", at), hub: hub.clone(), size, until };
        (0..100).for_each(|at| shelf.hold(held(at, 1)));
        assert_eq!(shelf.things().len(), HELD);
        assert!(find(&shelf, &moment("prod", 40)).is_some(), "it is the last one now that was looked at");
        shelf.hold(held(200, MOST_HELD - 3));
        let left: Vec<_> = shelf.things().iter().map(|held| held.scope.clone()).collect();
        assert_eq!(left, [200, 40, 99, 98].map(|at| moment("prod", at)));
        shelf.hold(held(201, 2 * MOST_HELD));
        assert_eq!(shelf.things().len(), 1, "who looks at the largest need not have it made again each time");
    }

    #[tokio::test]
    async fn what_is_known_is_what_can_be_cut_out() {
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollover.jsonl");
        let recording = Recording::read(&std::fs::read_to_string(text).unwrap());
        let (from_millis, to_millis) = recording.span().unwrap();
        let live = play("prod", "rollover".to_owned(), recording, to_millis).await.unwrap();
        let uid = live.read(|reader| *reader.timeline.model().deployments.keys().next().unwrap()).await.unwrap();
        let (namespace, name) = ("rollover".to_owned(), "web".to_owned());
        let of = Named { cluster: "prod".to_owned(), kind: WorkloadKind::Deployment, namespace, name };
        let moments = (from_millis - 3_000..to_millis + 3_000).step_by(3_000);
        let moments = moments.map(|at_millis| Scope::Moment { of: of.clone(), uid, at_millis });
        let rollouts = (0..5).map(|revision| Scope::Rollout { of: of.clone(), uid, revision });
        let mut known = [0, 0];
        for scope in moments.chain(rollouts) {
            let is_known = is_known(&live, None, &scope).await;
            assert_eq!(is_known, Excerpts::default().open(&live, None, &scope).await.is_some(), "{scope:?}");
            known[usize::from(is_known)] += 1;
        }
        assert!(known.iter().all(|count| *count > 2), "{known:?}");
    }
}
