//! What holds at every instant of everything that is played: no sentence contradicts the arithmetic, the document or the sentence
//! beside it, whatever happens and whatever history is let go of ([`crate::common::invariants`] has the rules).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

use server::feed::recording::Recording;
use server::kube::Observed;
use timeline::fact::Kind;
use timeline::{Millis, Retention, Timeline};

use crate::common::invariants::Invariants;
use crate::common::{self, chaos, simulated};

/// Random clusters of every test run; the whole set has a command of its own, which runs by night.
const SEEDS: std::ops::Range<u64> = 0..6;
const ALL_SEEDS: std::ops::Range<u64> = 0..1_000;
const ACTIONS: usize = 25;
/// Time passes by as much at most without a look.
const LOOK_MILLIS: Millis = 500;

/// Kinds arrive later than others by so much on a busy machine.
const LATE_MILLIS: Millis = 80;

/// Lets history go after seconds, so that it is cut in the middle of rollouts.
const SHORT: Retention = Retention {
    age_millis: 12_000,
    gone_pods: 4,
    gone_pods_in_all: 100,
    rollouts: 2,
    steps: 6,
    deleted: 1,
    screen_millis: 4_000,
};

/// Plays it, looks at every instant, and returns what is wrong.
fn look(observed: Vec<Observed>, retention: Option<&Retention>) -> Invariants {
    let (mut timeline, mut invariants) = (Timeline::new(), Invariants::default());
    let mut now = observed.first().map_or(0, |first| first.at_millis);
    for Observed { at_millis, fact } in observed {
        while now + LOOK_MILLIS < at_millis {
            now += LOOK_MILLIS;
            timeline.tick(now);
            invariants.passed(&timeline, now);
            if let Some(retention) = retention {
                timeline.prune(now, retention, &BTreeSet::new());
                invariants.passed(&timeline, now);
            }
        }
        now = at_millis;
        let changes = match fact.clone() {
            Some(fact) => timeline.apply(now, fact),
            None => timeline.tick(now),
        };
        invariants.applied(&timeline, fact.as_ref(), &changes, now);
    }
    invariants
}

/// What is wrong, and what was looked at.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    looked_at: [u64; 3],
}

impl Found {
    /// Plays it twice: with all of its history, and with history that is cut again and again.
    fn look(&mut self, name: &str, observed: &[Observed]) {
        for retention in [None, Some(&SHORT)] {
            let invariants = look(observed.to_vec(), retention);
            let cut = if retention.is_some() { ", history cut" } else { "" };
            self.wrong.extend(invariants.wrong.into_iter().map(|what| format!("{name}{cut} {what}")));
            self.looked_at.iter_mut().zip(invariants.looked_at).for_each(|(all, more)| *all += more);
        }
    }
}

/// Looks at everything that is played, on all processors.
fn hold(played: impl Iterator<Item = (String, Vec<Observed>)> + Send) {
    let (played, found) = (Mutex::new(played), Mutex::new(Found::default()));
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = played.lock().unwrap().next();
                    let Some((name, observed)) = next else { break };
                    let mut mine = Found::default();
                    mine.look(&name, &observed);
                    let mut all = found.lock().unwrap();
                    all.wrong.extend(mine.wrong);
                    all.looked_at.iter_mut().zip(mine.looked_at).for_each(|(all, more)| *all += more);
                }
            });
        }
    });
    let Found { wrong, looked_at } = found.into_inner().unwrap();
    let [sentences, lines, steps] = looked_at;
    println!("{sentences} sentences, {lines} lines of stories, {steps} steps");
    assert!(sentences > 10_000 && lines > 10_000 && steps > 50, "{looked_at:?}");
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} things are not so:\n{shown}", wrong.len());
}

fn simulated(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (String, Vec<Observed>)> + Send {
    seeds.map(|seed| {
        let text = simulated::recording_of(seed, ACTIONS, chaos::act);
        (format!("seed {seed}"), Recording::read(&text).observed)
    })
}

#[test]
fn invariants_hold_in_every_recording() {
    hold(common::recordings().into_iter().flat_map(|(name, text)| overtaken(&name, &text)));
}

/// A recording as it is, and with each kind arriving later than the others: streams overtake each other.
fn overtaken(name: &str, text: &str) -> Vec<(String, Vec<Observed>)> {
    let late = |kind: Kind| {
        let mut observed = Recording::read(text).observed;
        for one in observed.iter_mut().filter(|one| one.fact.as_ref().is_some_and(|fact| fact.kind() == kind)) {
            one.at_millis += LATE_MILLIS;
        }
        observed.sort_by_key(|one| one.at_millis);
        (format!("{name}, {}s late", kind.name()), observed)
    };
    let as_it_is = (name.to_owned(), Recording::read(text).observed);
    [Kind::Deployment, Kind::ReplicaSet, Kind::Pod].into_iter().map(late).chain([as_it_is]).collect()
}

/// What tests on clusters recorded: every story on both, and chaos on the real control plane.
#[test]
#[ignore = "needs recordings of tests on clusters; `cargo xtask test` makes them"]
fn invariants_hold_in_recordings_of_clusters() {
    let folder = std::env::var("ROLLCAST_RECORDED").expect("ROLLCAST_RECORDED names the folder of recordings");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    println!("{} recordings", files.len());
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        overtaken(&name, &std::fs::read_to_string(file).unwrap())
    };
    hold(files.into_iter().flat_map(read));
}

#[test]
fn invariants_hold_under_random_actions_on_simulated_clusters() {
    hold(simulated(SEEDS));
}

#[test]
#[ignore = "minutes; `cargo xtask invariants` runs it"]
fn invariants_hold_on_a_thousand_simulated_clusters() {
    // One of them can be looked at alone.
    let only = std::env::var("ROLLCAST_TEST_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    hold(simulated(only.map_or(ALL_SEEDS, |seed| seed..seed + 1)));
}
