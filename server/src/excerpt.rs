//! One rollout, or one moment, cut out for who came by a link to that alone: a hub of its own that holds nothing else, so that pages,
//! details, moments and the stream are made as those of a cluster are, and cannot tell more.
//!
//! ```text
//!   the cluster's hub, or what is kept ──► the past of one Deployment ──► History::excerpt ──► Handle::standing
//! ```
//! A rollout whose revision is the current one is cut out anew every two seconds while somebody looks; once another one has begun, it
//! stands still just before that.

use std::collections::VecDeque;
use std::time::Duration;

use app::detail::rollouts::BEFORE_MILLIS;
use timeline::model::Deployment;
use timeline::wire::ConnectionState;
use timeline::words::clock;
use timeline::{History, Millis, Timeline, Uid, Workload};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::history::Archive;
use crate::history::past::Past;
use crate::history::slice::LEAD_MILLIS;
use crate::history::store::Sought;
use crate::hub::{Handle, Reader, Standing};
use crate::scope::Scope;

/// Excerpts that are held, those looked at last; whoever looks at another one has it made again.
const HELD: usize = 64;
/// One that stands still is made anew for who comes after this: it may not be kept any more, or be known better.
const HELD_FOR: Duration = Duration::from_secs(30);
/// One that goes on is made anew this often.
pub const ANEW_EVERY: Duration = Duration::from_secs(2);

/// The excerpts that were looked at lately. One is made at a time.
#[derive(Default)]
pub struct Excerpts(Mutex<VecDeque<Held>>);

struct Held {
    scope: Scope,
    hub: Handle,
    /// When it is made anew.
    until: Instant,
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
    /// The excerpt that a link opens, out of the hub of its cluster or of what is kept of it.
    pub async fn open(&self, live: &Handle, kept: Option<(&Archive, &Past)>, scope: &Scope) -> Option<Handle> {
        let mut held = self.0.lock().await;
        held.retain(|known| known.until > Instant::now());
        if let Some(at) = held.iter().position(|known| known.scope == *scope) {
            let known = held.remove(at)?;
            let hub = known.hub.clone();
            held.push_front(known);
            return Some(hub);
        }
        let copied = match copy(live, scope).await {
            Some(copied) => copied,
            None => copy(&past(kept, scope).await?, scope).await.map(|copied| Copied { is_live: false, ..copied })?,
        };
        let is_live = copied.is_live;
        let is_moment = matches!(scope, Scope::Moment { .. });
        let standing = tokio::task::spawn_blocking(move || copied.stand(is_moment)).await.ok()??;
        let hub = Handle::standing(live.name(), standing).with_accent(live.accent());
        let (hub, lasts) = if is_live { (hub.beside(live), ANEW_EVERY) } else { (hub.over(), HELD_FOR) };
        let until = Instant::now() + lasts;
        held.push_front(Held { scope: scope.clone(), hub: hub.clone(), until });
        held.truncate(HELD);
        Some(hub)
    }
}

/// The rollout as it is kept, standing at its end or at the moment.
async fn past(kept: Option<(&Archive, &Past)>, scope: &Scope) -> Option<Handle> {
    let ((archive, past), (of, uid)) = (kept?, scope.part()?);
    let (sought, until_millis) = match scope {
        Scope::Moment { at_millis, .. } => (Sought::At(*at_millis), Some(*at_millis)),
        Scope::Rollout { revision, .. } => (Sought::Revision(*revision), None),
        Scope::Workload(_) | Scope::Wall { .. } => return None,
    };
    let cluster = of.cluster.clone();
    let number = archive.read(move |reader| reader.find(&cluster, uid, sought)).await.ok()??;
    let workload = Workload { rollout: Some(number), ..of.workload(Some(uid)) };
    past.open(archive, &workload, until_millis).await.ok()
}

async fn copy(hub: &Handle, scope: &Scope) -> Option<Copied> {
    let scope = scope.clone();
    hub.read(move |reader| copied(reader, &scope)).await.ok().flatten()
}

/// In the hub's task: copies the past of the Deployment, where the hub knows of that rollout or moment.
fn copied(reader: &Reader<'_>, scope: &Scope) -> Option<Copied> {
    let (of, uid) = scope.part()?;
    let model = reader.timeline.model();
    let known = of.workload(Some(uid)).find(model)?;
    let first = known.known_since_millis().max(reader.history.base_millis().unwrap_or(Millis::MIN));
    let (from_millis, to_millis, is_live, title) = match scope {
        Scope::Rollout { revision, .. } => {
            let at = known.rollouts.iter().rposition(|rollout| rollout.revision == *revision)?;
            let next = known.rollouts.get(at + 1).and_then(|next| next.started_millis);
            // The next one makes its ReplicaSet before it begins.
            let to_millis = next.unwrap_or(reader.now_millis) - BEFORE_MILLIS;
            (
                Some(shown_since(known, at).max(first)),
                to_millis,
                next.is_none(),
                format!("{} revision {revision}", of.name),
            )
        }
        Scope::Moment { at_millis, .. } => {
            (None, *at_millis, false, format!("{} at {} UTC", of.name, clock(*at_millis)))
        }
        Scope::Workload(_) | Scope::Wall { .. } => return None,
    };
    ((from_millis.unwrap_or(first)..=reader.now_millis).contains(&to_millis)).then(|| Copied {
        past: reader.history.only(model, uid),
        skew_millis: reader.timeline.skew_millis(),
        deployment: uid,
        from_millis,
        to_millis,
        is_live,
        title,
    })
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
