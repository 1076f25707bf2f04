//! What viewers may see, as their clusters say: asked when they come, and again for as long as they look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use moka::future::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch as signal};
use tokio::time::{Instant, timeout};

use super::answers::{self, Answers, PATIENCE};
use super::checked::{Checked, Terms};
use super::{Subjects, Viewer};
use crate::access::sight::{Seen, Sight};
use crate::hub::Handle;
use crate::kube::review::Subject;

/// Namespaces that were not there before are looked for this often, once for all viewers.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const THERE: Terms = Terms { ask_again: LOOK_EVERY, good_for: LOOK_EVERY, ask_the_silent: LOOK_EVERY };
/// Those of which something is kept are read again after as long as permissions are. While they cannot be read, the last ones count.
const KEPT: Terms = Terms { good_for: Duration::MAX, ask_the_silent: answers::TERMS.ask_again, ..answers::TERMS };
/// A refusal is not asked about again for this long.
const REFUSED_FOR: Duration = Duration::from_secs(5);
const REFUSED: Terms = Terms { ask_again: REFUSED_FOR, good_for: REFUSED_FOR, ask_the_silent: REFUSED_FOR };
/// What is known of a viewer is forgotten when they have not looked for this long.
const FORGET: Duration = Duration::from_secs(60);
/// Most viewers whose rights are held.
const MOST: usize = 4_096;
/// Most namespaces that a viewer named whose answers are held: refusals, those seen anyway, and beside these as many more.
const MOST_NAMED: usize = 64;
/// Namespaces that one viewer names and that clusters are asked about at once: each may be a question to many clusters.
const NAMED_AT_ONCE: usize = 4;
/// What is kept is waited for no longer than this.
const READ: Duration = Duration::from_secs(1);

/// The namespaces of clusters, by their names.
pub type Places = BTreeMap<String, BTreeSet<String>>;

/// Asks for the namespaces of everything that is kept; `None` when they cannot be read now.
pub type KeptNamespaces = Box<dyn Fn() -> BoxFuture<'static, Option<Places>> + Send + Sync>;

/// What viewers may see.
pub struct Rights {
    clusters: Vec<Handle>,
    history: Option<KeptNamespaces>,
    viewers: Cache<Arc<Subjects>, Arc<Permissions>>,
    /// One permit for each viewer whose permissions are asked about.
    room: Arc<Semaphore>,
    /// The namespaces of each cluster.
    namespaces: Mutex<Checked<String, Arc<BTreeSet<String>>>>,
    /// Those of which something is kept.
    kept: tokio::sync::Mutex<Checked<(), Arc<Places>>>,
    all: signal::Sender<Arc<Sight>>,
}

/// There are too many viewers to know the rights of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many viewers at once")]
pub struct TooMany;

/// What is known of those whom clusters know by the same names.
struct Permissions {
    state: Mutex<State>,
    /// The turns of those who ask about what is named.
    turns: Semaphore,
}

struct State {
    /// Tells what they may see; `None` when nothing is asked for them any more.
    sight: Option<signal::Sender<Arc<Sight>>>,
    /// When somebody looked last.
    looked: Instant,
    /// Namespaces that they named and may see. Nobody else asks about those in which nothing is, or will be by the next round.
    named: Places,
    /// Those that they may not see (`false`) or of which their cluster did not say so (`None`).
    refused: Checked<(String, String), Option<bool>>,
}

impl Rights {
    /// In these clusters, and in what is kept of them.
    #[must_use]
    pub fn new(clusters: Vec<Handle>, history: Option<KeptNamespaces>) -> Arc<Self> {
        Arc::new(Self {
            clusters,
            history,
            viewers: Cache::builder().build(),
            room: Arc::new(Semaphore::new(MOST)),
            namespaces: Mutex::new(Checked::new(THERE)),
            kept: tokio::sync::Mutex::new(Checked::new(KEPT)),
            all: signal::Sender::new(Arc::new(Sight::All)),
        })
    }

    /// What a viewer may see, now and from now on. It ends when that is not asked any more.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn of(self: &Arc<Self>, viewer: &Viewer) -> Result<signal::Receiver<Arc<Sight>>, TooMany> {
        let Some(subjects) = &viewer.subjects else { return Ok(self.all.subscribe()) };
        loop {
            if let Some(told) = self.permissions(subjects).await?.subscribe() {
                return Ok(told);
            }
            self.viewers.invalidate(subjects).await; // asking ended a moment ago
        }
    }

    /// What is known of a viewer. Who is not known is asked about, once for all who want to know it.
    async fn permissions(self: &Arc<Self>, subjects: &Arc<Subjects>) -> Result<Arc<Permissions>, TooMany> {
        self.viewers.try_get_with_by_ref(subjects, Asker::begin(self, subjects)).await.map_err(|_| TooMany)
    }

    /// Whether a viewer may see a namespace that they name. Namespaces in which nothing is are asked about as well: something may be
    /// there later, or was there a moment ago. Whether there is such a namespace makes no difference.
    pub async fn may_see(self: &Arc<Self>, viewer: &Viewer, cluster: &str, namespace: &str) -> bool {
        self.says(viewer, cluster, namespace).await == Some(true)
    }

    /// The same; `None` where the cluster does not say.
    pub async fn says(self: &Arc<Self>, viewer: &Viewer, cluster: &str, namespace: &str) -> Option<bool> {
        let Some(subjects) = &viewer.subjects else { return Some(true) };
        let known = self.permissions(subjects).await.ok()?;
        let place = (cluster.to_owned(), namespace.to_owned());
        if let Some(said) = known.state().remembered(&place) {
            return said;
        }
        // Whose turn does not come is told as little as whose cluster does not say.
        let _turn = timeout(PATIENCE, known.turns.acquire()).await.ok()?.ok()?;
        if let Some(said) = known.state().remembered(&place) {
            return said; // somebody else asked meanwhile
        }
        let sight = known.state().sight();
        let sees = |cluster: &str| sight.of(cluster).is_some();
        // Of a cluster of which nothing is seen nobody may learn that it is there, nor from how long an answer takes: whichever is named, all
        // that are hidden are asked, and all of them are waited for.
        let is_asked = |hub: &&Handle| if sees(cluster) { hub.name() == cluster } else { !sees(hub.name()) };
        let asked = self.clusters.iter().filter(is_asked).filter_map(|hub| {
            let subject = subjects.of(hub.name())?;
            Some(async move {
                let answer = timeout(PATIENCE, hub.reviewer().may_list_pods(subject, Some(namespace))).await;
                (hub.name(), answer.ok().and_then(Result::ok))
            })
        });
        let answers = join_all(asked).await;
        let said = answers.into_iter().find(|(name, _)| *name == cluster).map_or(Some(false), |(_, said)| said);
        match said {
            Some(true) => known.state().note(&place, 2 * MOST_NAMED),
            // It may say more the next time. Of a hidden one nobody may learn that it is there from being kept waiting twice.
            None if sees(cluster) => {}
            _ => known.state().refuse(place, said),
        }
        said
    }

    /// The namespaces of a cluster that there are now.
    fn namespaces(&self, hub: &Handle) -> Arc<BTreeSet<String>> {
        let (mut all, cluster) =
            (self.namespaces.lock().unwrap_or_else(PoisonError::into_inner), hub.name().to_owned());
        if let Some(namespaces) = all.get(&cluster) {
            return namespaces.clone();
        }
        let list = hub.list().borrow().clone();
        let found: BTreeSet<&str> = list.iter().map(|listed| listed.summary.namespace.as_str()).collect();
        let found: Arc<BTreeSet<String>> = Arc::new(found.into_iter().map(str::to_owned).collect());
        all.answer(cluster, Instant::now(), found.clone());
        found
    }

    /// The namespaces of everything that is kept, as they were a while ago at most. What cannot be read cannot be shown either.
    async fn kept(&self) -> Arc<Places> {
        let Some(ask) = &self.history else { return Arc::default() };
        let mut kept = self.kept.lock().await;
        if kept.is_due(&()) {
            match timeout(READ, ask()).await.ok().flatten() {
                Some(places) => kept.answer((), Instant::now(), Arc::new(places)),
                None => kept.set_silent(Instant::now(), true),
            }
        }
        kept.get(&()).cloned().unwrap_or_default()
    }
}

impl Permissions {
    fn new() -> Arc<Self> {
        let state = State {
            sight: Some(signal::Sender::new(Arc::new(Sight::nothing()))),
            looked: Instant::now(),
            named: Places::new(),
            refused: Checked::new(REFUSED),
        };
        Arc::new(Self { state: Mutex::new(state), turns: Semaphore::new(NAMED_AT_ONCE) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they may see from now on; `None` where nothing is asked for them any more.
    fn subscribe(&self) -> Option<signal::Receiver<Arc<Sight>>> {
        let mut state = self.state();
        state.looked = Instant::now();
        state.sight.as_ref().map(signal::Sender::subscribe)
    }
}

impl State {
    fn sight(&self) -> Arc<Sight> {
        self.sight.as_ref().map_or_else(|| Arc::new(Sight::nothing()), |sight| sight.borrow().clone())
    }

    /// Tells what may be seen now; `false` when nobody has looked lately.
    fn tell(&mut self, sight: Sight) -> bool {
        let Some(told) = &self.sight else { return false };
        if told.receiver_count() > 0 {
            self.looked = Instant::now();
        }
        told.send_if_modified(|now| {
            let is_new = **now != sight;
            *now = Arc::new(sight);
            is_new
        });
        self.looked.elapsed() < FORGET
    }

    /// What need not be asked again of a place: whether they may see it, and `None` in it where its cluster did not say. If it is seen it
    /// stays among what is asked about.
    fn remembered(&mut self, place: &(String, String)) -> Option<Option<bool>> {
        let (sight, (cluster, namespace)) = (self.sight(), place);
        let Some(seen) = sight.of(cluster).filter(|seen| seen.has_all_of(namespace)) else {
            return self.refused.get(place).copied();
        };
        // Who sees all of a cluster need not name parts of it.
        if *seen != Seen::All {
            self.note(place, MOST_NAMED);
        }
        Some(Some(true))
    }

    /// Asks about a place from now on, where fewer than so many are.
    fn note(&mut self, (cluster, namespace): &(String, String), most: usize) {
        if self.named.values().map(BTreeSet::len).sum::<usize>() < most {
            self.named.entry(cluster.clone()).or_default().insert(namespace.clone());
        }
    }

    fn refuse(&mut self, place: (String, String), said: Option<bool>) {
        self.refused.retain_good();
        if self.refused.good().count() < MOST_NAMED {
            self.refused.answer(place, Instant::now(), said);
        }
    }
}

/// Asks the clusters for one viewer.
struct Asker {
    rights: Arc<Rights>,
    subjects: Arc<Subjects>,
    known: Arc<Permissions>,
    answers: Vec<(Handle, Subject, Answers)>,
    _room: OwnedSemaphorePermit,
}

/// However asking ends, nothing that was told before counts any longer: whoever listens hears that it ended.
impl Drop for Asker {
    fn drop(&mut self) {
        self.known.state().sight = None;
    }
}

impl Asker {
    /// Asks for the first time, and from then on for as long as somebody looks.
    async fn begin(rights: &Arc<Rights>, subjects: &Arc<Subjects>) -> Result<Arc<Permissions>, TooMany> {
        let room = rights.room.clone().try_acquire_owned().map_err(|_| TooMany)?;
        let own = |hub: &Handle| Some((hub.clone(), subjects.of(hub.name())?.clone(), Answers::new(answers::TERMS)));
        let answers = rights.clusters.iter().filter_map(own).collect();
        let (rights, subjects, known) = (rights.clone(), subjects.clone(), Permissions::new());
        let mut asker = Self { rights, subjects, known: known.clone(), answers, _room: room };
        asker.ask().await;
        tokio::spawn(asker.run());
        Ok(known)
    }

    /// Asks for as long as somebody looks, and a while longer: they may look again.
    async fn run(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !self.ask().await {
                return self.rights.viewers.invalidate(&self.subjects).await;
            }
        }
    }

    /// Asks all clusters at once, and tells what they said: one that does not answer keeps the others waiting for no longer than a round
    /// may take. Returns `false` when nobody has looked lately.
    async fn ask(&mut self) -> bool {
        let (kept, named) = (self.rights.kept().await, self.known.state().named.clone());
        let rounds = self.answers.iter_mut().map(|(hub, subject, answers)| {
            let there = self.rights.namespaces(hub);
            let others = [kept.get(hub.name()), named.get(hub.name())];
            async move {
                let namespaces = there.iter().chain(others.into_iter().flatten().flatten()).collect();
                answers.ask(hub, subject, &namespaces).await;
            }
        });
        join_all(rounds).await;
        let seen = self.answers.iter().filter_map(|(hub, _, answers)| Some((hub.name().to_owned(), answers.seen()?)));
        let clusters: BTreeMap<String, Seen> = seen.collect();
        // It does not say, and nothing that it said before is good any more.
        let is_silent =
            |(hub, _, answers): &(Handle, Subject, Answers)| answers.is_silent() && !clusters.contains_key(hub.name());
        let is_silent = self.answers.iter().any(is_silent);
        self.known.state().tell(Sight::Part { clusters, is_silent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_anyway_takes_no_place_of_what_is_seen_because_it_was_named() {
        let place = |namespace: &str| ("prod".to_owned(), namespace.to_owned());
        let names: BTreeSet<String> = (0..2 * MOST_NAMED).map(|n| format!("n-{n}")).collect();
        let known = |seen| {
            let (known, clusters) = (Permissions::new(), BTreeMap::from([("prod".to_owned(), seen)]));
            known.state().tell(Sight::Part { clusters, is_silent: false });
            known
        };
        let part = known(Seen::Namespaces(names.clone()));
        for name in &names {
            assert_eq!(part.state().remembered(&place(name)), Some(Some(true)), "{name}");
        }
        assert_eq!(part.state().named["prod"].len(), MOST_NAMED, "they are bounded as well");
        assert_eq!(part.state().remembered(&place("empty")), None);
        for name in 0..2 * MOST_NAMED {
            part.state().note(&place(&format!("empty-{name}")), 2 * MOST_NAMED);
        }
        assert_eq!(part.state().named["prod"].len(), 2 * MOST_NAMED, "as many as that have a place");
        let all = known(Seen::All);
        assert_eq!(all.state().remembered(&place("n-1")), Some(Some(true)));
        assert!(all.state().named.is_empty());
    }
}
