//! What viewers may see, as their clusters say: asked when they come, and again for as long as they look.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use tokio::sync::{Semaphore, watch as signal};
use tokio::time::{Instant, timeout};

use super::answers::{ASK_AGAIN, Answers, PATIENCE};
use super::once::Once;
use super::{Subjects, Viewer};
use crate::access::sight::{Seen, Sight};
use crate::hub::Handle;

/// Namespaces that were not there before are looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What is known of a viewer is forgotten when they have not looked for this long.
const FORGET: Duration = Duration::from_secs(60);
/// Most viewers whose rights are held.
const MOST: usize = 4_096;
/// Most namespaces that a viewer named whose answers are held, and how long a refusal is not asked about again.
const MOST_NAMED: usize = 64;
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// Namespaces that one viewer names and that clusters are asked about at once: each may be a question to many clusters.
const NAMED_AT_ONCE: usize = 4;
/// What is kept is waited for no longer than this.
const READ: Duration = Duration::from_secs(1);

/// The namespaces of clusters, by their names.
pub type Places = BTreeMap<String, BTreeSet<String>>;

/// Asks for the namespaces of everything that is kept; `None` when they cannot be read now.
pub type KeptNamespaces = Box<dyn Fn() -> BoxFuture<'static, Option<Places>> + Send + Sync>;

/// The namespaces of one, and when that was so.
type Looked = (Instant, Arc<BTreeSet<String>>);

/// What viewers may see.
pub struct Rights {
    clusters: Vec<Handle>,
    history: Option<KeptNamespaces>,
    known: Mutex<HashMap<Arc<Subjects>, Known>>,
    first: Once<Arc<Subjects>>,
    /// The namespaces of each cluster, and when that was so: looked at once for everybody.
    namespaces: Mutex<HashMap<String, Looked>>,
    /// Those of which something is kept, in the same way.
    kept: tokio::sync::Mutex<Option<(Instant, Arc<Places>)>>,
    all: signal::Sender<Arc<Sight>>,
}

/// There are too many viewers to know the rights of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many viewers at once")]
pub struct TooMany;

/// What is known of those whom clusters know by the same names.
struct Known {
    sight: signal::Sender<Arc<Sight>>,
    /// When somebody looked last.
    looked: Instant,
    /// Namespaces that they named and may see, in which nothing was: nobody else would ask about these.
    named: Places,
    /// Those that they named and that were seen anyway: something was in them then, which may be gone by the next round.
    looked_at: Places,
    /// Those that they may not see (`false`) or of which their cluster did not say so (`None`), and when that was.
    refused: HashMap<(String, String), (Instant, Option<bool>)>,
    /// The turns of those who ask about what is named.
    turns: Arc<Semaphore>,
}

/// What is known of a place that somebody names.
struct Remembered {
    sight: Arc<Sight>,
    /// What need not be asked again: whether they may see it, and `None` in it where its cluster did not say.
    said: Option<Option<bool>>,
    turns: Arc<Semaphore>,
}

impl Rights {
    /// In these clusters, and in what is kept of them.
    #[must_use]
    pub fn new(clusters: Vec<Handle>, history: Option<KeptNamespaces>) -> Arc<Self> {
        Arc::new(Self {
            clusters,
            history,
            known: Mutex::default(),
            first: Once::default(),
            namespaces: Mutex::default(),
            kept: tokio::sync::Mutex::default(),
            all: signal::Sender::new(Arc::new(Sight::All)),
        })
    }

    /// What a viewer may see, now and from now on. It ends when that is not asked any more.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn of(self: &Arc<Self>, viewer: &Viewer) -> Result<signal::Receiver<Arc<Sight>>, TooMany> {
        let Some(subjects) = &viewer.subjects else { return Ok(self.all.subscribe()) };
        if let Some(known) = self.known(subjects) {
            return Ok(known);
        }
        let _turn = self.first.turn(subjects).await;
        if let Some(known) = self.known(subjects) {
            return Ok(known); // somebody else asked meanwhile
        }
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).len() >= MOST {
            return Err(TooMany);
        }
        let mut asker = Asker { rights: self.clone(), subjects: subjects.clone(), answers: BTreeMap::new() };
        asker.ask().await;
        let (sight, told) = signal::channel(Arc::new(asker.sight()));
        let known = Known::new(sight);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(subjects.clone(), known);
        tokio::spawn(asker.run());
        Ok(told)
    }

    fn known(&self, subjects: &Arc<Subjects>) -> Option<signal::Receiver<Arc<Sight>>> {
        self.of_known(subjects, |known| {
            known.looked = Instant::now();
            known.sight.subscribe()
        })
    }

    fn of_known<T>(&self, subjects: &Arc<Subjects>, read: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get_mut(subjects).map(read)
    }

    /// Whether a viewer may see a namespace that they name. Namespaces in which nothing is are asked about as well: something may be
    /// there later, or was there a moment ago. Whether there is such a namespace makes no difference.
    pub async fn may_see(&self, viewer: &Viewer, cluster: &str, namespace: &str) -> bool {
        self.says(viewer, cluster, namespace).await == Some(true)
    }

    /// The same; `None` where the cluster does not say.
    pub async fn says(&self, viewer: &Viewer, cluster: &str, namespace: &str) -> Option<bool> {
        let Some(subjects) = &viewer.subjects else { return Some(true) };
        let place = (cluster.to_owned(), namespace.to_owned());
        let mut remembered = self.of_known(subjects, |known| known.remembered(&place));
        let mut turn = None;
        if let Some(Remembered { said: None, turns, .. }) = &remembered {
            // Whose turn does not come is told as little as whose cluster does not say.
            turn = Some(timeout(PATIENCE, turns.clone().acquire_owned()).await.ok()?);
            remembered = self.of_known(subjects, |known| known.remembered(&place)); // somebody else may have asked meanwhile
        }
        if let Some(said) = remembered.as_ref().and_then(|remembered| remembered.said) {
            return said;
        }
        let sees = |cluster: &str| remembered.as_ref().is_some_and(|known| known.sight.of(cluster).is_some());
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
        drop(turn);
        let said = answers.into_iter().find(|(name, _)| *name == cluster).map_or(Some(false), |(_, said)| said);
        let is_hidden = !sees(cluster);
        self.of_known(subjects, |known| match said {
            Some(true) => known.name(&place),
            // It may say more the next time. Of a hidden one nobody may learn that it is there from being kept waiting twice.
            None if !is_hidden => {}
            _ => known.refuse(place, said),
        });
        said
    }

    /// Tells what may be seen now; `false` when nobody has looked lately, and nothing is told any more.
    fn tell(&self, subjects: &Arc<Subjects>, sight: Sight) -> bool {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = all.get_mut(subjects) else { return false };
        if known.sight.receiver_count() > 0 {
            known.looked = Instant::now();
        }
        if known.looked.elapsed() >= FORGET {
            all.remove(subjects);
            return false;
        }
        known.sight.send_if_modified(|now| {
            let is_new = **now != sight;
            *now = Arc::new(sight);
            is_new
        });
        true
    }

    /// The namespaces of a cluster that there are now.
    fn namespaces(&self, hub: &Handle) -> Arc<BTreeSet<String>> {
        let mut all = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, namespaces)) = all.get(hub.name())
            && at.elapsed() < LOOK_EVERY
        {
            return namespaces.clone();
        }
        let list = hub.list().borrow().clone();
        let found: BTreeSet<&str> = list.iter().map(|listed| listed.summary.namespace.as_str()).collect();
        let found: Arc<BTreeSet<String>> = Arc::new(found.into_iter().map(str::to_owned).collect());
        all.insert(hub.name().to_owned(), (Instant::now(), found.clone()));
        found
    }

    /// The namespaces of everything that is kept, as they were a while ago at most. What cannot be read cannot be shown either.
    async fn kept(&self) -> Arc<Places> {
        let Some(ask) = &self.history else { return Arc::default() };
        let mut kept = self.kept.lock().await;
        let before = match &*kept {
            Some((at, places)) if at.elapsed() < ASK_AGAIN => return places.clone(),
            Some((_, places)) => places.clone(),
            None => Arc::default(),
        };
        let now = timeout(READ, ask()).await.ok().flatten().map_or(before, Arc::new);
        *kept = Some((Instant::now(), now.clone()));
        now
    }
}

impl Known {
    fn new(sight: signal::Sender<Arc<Sight>>) -> Self {
        Self {
            sight,
            looked: Instant::now(),
            named: Places::new(),
            looked_at: Places::new(),
            refused: HashMap::new(),
            turns: Arc::new(Semaphore::new(NAMED_AT_ONCE)),
        }
    }

    /// What is known of a place; if it is seen it stays among what is asked about.
    fn remembered(&mut self, place: &(String, String)) -> Remembered {
        let (cluster, namespace) = place;
        let sight = self.sight.borrow().clone();
        let seen = sight.of(cluster).filter(|seen| seen.has_all_of(namespace));
        let refused = self.refused.get(place).filter(|(at, _)| at.elapsed() < REFUSED_FOR).map(|(_, said)| *said);
        let said = if seen.is_some() { Some(Some(true)) } else { refused };
        let is_named = self.named.get(cluster).is_some_and(|named| named.contains(namespace));
        // Who sees all of a cluster need not name parts of it.
        if seen.is_some_and(|seen| *seen != Seen::All) && !is_named {
            note(&mut self.looked_at, place);
        }
        Remembered { sight, said, turns: self.turns.clone() }
    }

    fn name(&mut self, place: &(String, String)) {
        note(&mut self.named, place);
    }

    fn refuse(&mut self, place: (String, String), said: Option<bool>) {
        self.refused.retain(|_, (at, _)| at.elapsed() < REFUSED_FOR);
        if self.refused.len() < MOST_NAMED {
            self.refused.insert(place, (Instant::now(), said));
        }
    }
}

/// One place more, if there is room.
fn note(places: &mut Places, (cluster, namespace): &(String, String)) {
    if places.values().map(BTreeSet::len).sum::<usize>() < MOST_NAMED {
        places.entry(cluster.clone()).or_default().insert(namespace.clone());
    }
}

/// Asks the clusters for one viewer.
struct Asker {
    rights: Arc<Rights>,
    subjects: Arc<Subjects>,
    answers: BTreeMap<String, Answers>,
}

/// However asking ends, nothing that was told before counts any longer: whoever listens hears that it ended.
impl Drop for Asker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.rights.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.subjects);
        }
    }
}

impl Asker {
    fn sight(&self) -> Sight {
        let answers = || self.answers.iter();
        let seen =
            |(name, answers): (&String, &Answers)| -> Option<(String, Seen)> { Some((name.clone(), answers.seen()?)) };
        Sight::Part {
            clusters: answers().filter_map(seen).collect(),
            is_silent: answers().any(|(_, it)| it.is_silent()),
        }
    }

    /// Asks for as long as somebody looks, and a while longer: they may look again.
    async fn run(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.ask().await;
            if !self.rights.tell(&self.subjects, self.sight()) {
                return;
            }
        }
    }

    /// Asks all clusters at once: one that does not answer keeps the others waiting for no longer than a round may take.
    async fn ask(&mut self) {
        let kept = self.rights.kept().await;
        let Self { rights, subjects, answers } = self;
        let named = rights.of_known(subjects, |known| (known.named.clone(), known.looked_at.clone()));
        let (named, looked_at) = named.unwrap_or_default();
        for hub in &rights.clusters {
            if subjects.of(hub.name()).is_some() {
                answers.entry(hub.name().to_owned()).or_default();
            }
        }
        let rounds = answers.iter_mut().filter_map(|(cluster, answers)| {
            let hub = rights.clusters.iter().find(|hub| hub.name() == cluster)?;
            let (subject, there) = (subjects.of(cluster)?, rights.namespaces(hub));
            let others = [kept.get(cluster), named.get(cluster), looked_at.get(cluster)];
            Some(async move {
                let namespaces = there.iter().chain(others.into_iter().flatten().flatten()).collect();
                answers.ask(hub, subject, &namespaces).await;
            })
        });
        join_all(rounds).await;
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
            let clusters = BTreeMap::from([("prod".to_owned(), seen)]);
            Known::new(signal::Sender::new(Arc::new(Sight::Part { clusters, is_silent: false })))
        };
        let mut part = known(Seen::Namespaces(names.clone()));
        for name in &names {
            assert_eq!(part.remembered(&place(name)).said, Some(Some(true)), "{name}");
        }
        assert_eq!(part.looked_at["prod"].len(), MOST_NAMED, "they are bounded as well");
        assert_eq!(part.remembered(&place("empty")).said, None);
        part.name(&place("empty"));
        assert_eq!(part.named["prod"], BTreeSet::from(["empty".to_owned()]));
        let mut all = known(Seen::All);
        assert_eq!(all.remembered(&place("n-1")).said, Some(Some(true)));
        assert!(all.looked_at.is_empty() && all.named.is_empty());
    }
}
