//! Plays a schedule, and asks what is asked after every fault.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use simcluster::action::edit;
use simcluster::change::Verb as Change;
use simcluster::{Key, Object, Resource, Settings, World, story};
use timeline::fact::{Kind, Seen};
use timeline::{Millis, Workload};
use tokio::time::Instant;

use super::schedule::{DEPLOYMENTS, HURRIED_MILLIS, Schedule, Step, VIEWERS, What};
use super::witness::Witness;
use crate::common::network::NetworkFault;
use crate::common::{chaos, simulated};
use crate::live::faults::stage::{CONVERGED_WITHIN, REQUESTS_PER_MINUTE, Stage};
use crate::live::faults::viewer::Viewer;
use crate::live::support::{Fault, Verb, WATCHED};

const NAMESPACE: &str = "shop";
/// The time of the cluster when a simulation begins.
const START_MILLIS: Millis = 1_800_000_000_000;
/// The cluster has been there for so long.
const BEFORE_MILLIS: Millis = 20_000;
/// Time between changes while somebody hurries: all together they are more frames than are kept for a viewer.
const HURRIED_EVERY_MILLIS: Millis = 120;

/// Where no byte passes, pages say within this time that the cluster is not live.
const SAID_WITHIN: Duration = Duration::from_secs(10);

/// The cluster, and the API server that tells of it.
struct Simulation<'s> {
    world: World,
    told: u64,
    witness: Witness,
    stage: Stage,
    schedule: &'s Schedule,
    /// When the schedule began, and the time of the cluster then.
    began: (Instant, Millis),
    viewers: Vec<Viewer>,
    /// Faults that last.
    standing: BTreeSet<usize>,
    /// Faults of the network, and since when.
    networks: Vec<(Instant, Option<NetworkFault>)>,
    /// Changes that are still to come, the next one last.
    hurried: Vec<(Millis, usize)>,
}

fn kind(object: &Value) -> Kind {
    Kind::ALL.into_iter().find(|kind| object["kind"] == kind.name()).unwrap()
}

fn key(of: usize) -> Key {
    Key::new(NAMESPACE, DEPLOYMENTS[of])
}

fn cluster(seed: u64) -> World {
    let mut world = World::new(seed, START_MILLIS - BEFORE_MILLIS, Settings::default());
    let namespace = json!({ "metadata": { "name": NAMESPACE } });
    world.create(Object::read(Resource::Namespace, namespace).unwrap()).unwrap();
    let mut rng = Rng::with_seed(seed);
    for name in DEPLOYMENTS {
        let made = story::manifest(NAMESPACE, name, rng.i32(1..=4));
        world.create(Object::read(Resource::Deployment, made).unwrap()).unwrap();
    }
    world.advance_to(START_MILLIS);
    world
}

/// What came of it: with nothing of each, nothing was put to the test.
#[derive(Debug, Clone, Copy, Default)]
pub struct Played {
    /// Lists after which pages showed a gap.
    pub gaps: u64,
    /// Frames that viewers missed.
    pub missed_frames: u64,
}

/// Plays it; panics where a promise is not kept.
pub async fn play(seed: u64, schedule: Schedule) -> Played {
    let world = cluster(seed);
    let objects = simulated::KINDS.into_iter().flat_map(|kind| world.store().list(kind, Some(NAMESPACE), None));
    let objects: Vec<_> = objects.map(|stored| stored.object.to_value()).collect();
    let existing: Vec<_> = objects.iter().map(|object| (kind(object), object.to_string())).collect();
    let (page_size, streams_lists) = (schedule.page_size, schedule.streams_lists);
    let stage = Stage::with(objects.into_iter(), START_MILLIS, page_size, streams_lists).await;
    let viewer = |number: usize| {
        let name = DEPLOYMENTS[number % DEPLOYMENTS.len()];
        Viewer::of(Workload::deployment("fake", NAMESPACE, name))
    };
    let told = world.store().revision();
    let mut simulation = Simulation {
        world,
        told,
        witness: Witness::of(&existing, START_MILLIS),
        began: (Instant::now(), stage.hub.now_millis()),
        stage,
        schedule: &schedule,
        viewers: (0..VIEWERS).map(viewer).collect(),
        standing: BTreeSet::new(),
        networks: Vec::new(),
        hurried: Vec::new(),
    };
    for (at, step) in &schedule.steps {
        simulation.pass_until(*at).await;
        simulation.step(*at, *step).await;
    }
    simulation.pass_until(schedule.ends_millis).await;
    simulation.check().await
}

impl Simulation<'_> {
    async fn pass_until(&mut self, millis: Millis) {
        loop {
            let next = self.world.next_millis().map(|at| at - self.began.1);
            let hurried = self.hurried.last().map(|(at, _)| *at);
            let at = next.into_iter().chain(hurried).min().filter(|at| *at <= millis);
            let until = at.unwrap_or(millis);
            let since = Duration::from_millis(u64::try_from(until).unwrap_or(0));
            tokio::time::sleep_until(self.began.0 + since).await; // in the test's own time
            self.world.advance_to(self.began.1 + until);
            if let Some((_, of)) = self.hurried.pop_if(|(at, _)| *at <= until) {
                let rolling = json!({ "maxSurge": 1 + self.hurried.len() % 2, "maxUnavailable": 0 });
                let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": rolling });
                let strategy = Some(serde_json::from_value(strategy).unwrap());
                let _ = edit(&mut self.world, &key(of), |known| known.spec.as_mut().unwrap().strategy = strategy); // it may be gone
            }
            self.tell();
            if at.is_none() {
                return;
            }
        }
    }

    /// Tells the API server what happened.
    fn tell(&mut self) {
        for change in simulated::changes_since(&self.world, self.told) {
            let object = change.object.object.to_value();
            let seen = match change.verb {
                Change::Added => Seen::Added,
                Change::Modified => Seen::Modified,
                Change::Deleted => Seen::Deleted,
            };
            // What happened before the schedule began is told with its first step.
            let at_millis = self.world.now_millis().max(self.began.1);
            self.witness.see(kind(&object), seen, &object.to_string(), at_millis);
            match change.verb {
                Change::Added | Change::Modified => self.stage.api.put(object),
                Change::Deleted => self.stage.api.delete(&object),
            }
        }
        self.told = self.world.store().revision();
    }

    async fn step(&mut self, at: Millis, step: Step) {
        match step {
            Step::Act(of, seed) => {
                chaos::act(&mut self.world, &key(of), &mut Rng::with_seed(seed));
                self.tell();
            }
            Step::Hurry(of) => {
                if !self.viewers[of].is_there() {
                    self.viewers[of].come(&self.stage.hub).await;
                }
                self.viewers[of].stall(true);
                let times = (0..HURRIED_MILLIS / HURRIED_EVERY_MILLIS).map(|number| number * HURRIED_EVERY_MILLIS);
                self.hurried = times.rev().map(|since| (at + since, of)).collect();
            }
            Step::Begin(number) => self.begin(number),
            Step::End(number) => self.end(number),
            Step::Expire(kind) => self.stage.api.expire(WATCHED[kind]),
            Step::SayAgain(kind, seed) => {
                self.stage.api.say_again(WATCHED[kind], |lines| Rng::with_seed(seed).usize(..lines));
            }
            Step::HangUp => self.stage.api.hang_up(),
            Step::Reset => self.stage.network.reset(),
            Step::Look(number) if self.viewers[number].is_there() => self.viewers[number].leave(),
            Step::Look(number) => self.viewers[number].come(&self.stage.hub).await,
            Step::Stall(number) => self.viewers[number].stall(!self.viewers[number].is_stalled()),
        }
    }

    fn begin(&mut self, number: usize) {
        self.standing.insert(number);
        match &self.schedule.faults[number].what {
            What::Network(fault) => self.set_network(Some(*fault)),
            What::Requests(..) => self.stand(),
        }
        if self.schedule.faults[number].hangs_up {
            self.stage.api.hang_up();
        }
    }

    fn end(&mut self, number: usize) {
        self.standing.remove(&number);
        let faults = &self.schedule.faults;
        match &faults[number].what {
            What::Network(_) => {
                // Another one that lasts goes on. What those do that begin with a blow was done.
                let others = self.standing.iter().rev().find_map(|other| match &faults[*other].what {
                    What::Network(fault) => Some(*fault),
                    What::Requests(..) => None,
                });
                self.set_network(others);
            }
            What::Requests(..) => self.stand(),
        }
        if faults[number].expires {
            WATCHED.iter().for_each(|kind| self.stage.api.expire(kind));
        }
        if matches!(&faults[number].what, What::Requests(_, _, Fault::Mute)) {
            self.stage.api.hang_up(); // the server has reached the position, and tells
        }
    }

    fn set_network(&mut self, fault: Option<NetworkFault>) {
        self.stage.network.set(fault);
        self.networks.push((Instant::now(), fault));
    }

    /// Requests meet the faults that last; the last one of each that there is.
    fn stand(&self) {
        let verbs = [Verb::List, Verb::Next, Verb::Stream, Verb::Watch];
        let api = &self.stage.api;
        api.stand_all(&verbs, None);
        api.stand(Verb::Version, "version", None);
        for number in &self.standing {
            let What::Requests(verbs, kinds, fault) = &self.schedule.faults[*number].what else { continue };
            for verb in *verbs {
                match verb {
                    Verb::Version => api.stand(*verb, "version", Some(fault.clone())),
                    _ => kinds.iter().for_each(|kind| api.stand(*verb, kind, Some(fault.clone()))),
                }
            }
        }
    }

    /// A fault in which no byte passes was said in time, where it lasted so long. What was on its way when it began may arrive.
    fn check_said(&self) {
        let delay_millis = u64::try_from(self.schedule.delay_millis()).unwrap();
        let within = SAID_WITHIN + Duration::from_millis(delay_millis + 50);
        let ends = self.networks.iter().skip(1).map(|(at, _)| *at).chain([Instant::now()]);
        for ((began, fault), ended) in self.networks.iter().zip(ends) {
            let is_silent = matches!(fault, Some(NetworkFault::Freeze | NetworkFault::Refusal));
            if is_silent && ended - *began >= within {
                let said = self.stage.states_between(*began, *began + within);
                let is_said = said.iter().any(|state| !state.is_live());
                let since = began.duration_since(self.began.0);
                assert!(is_said, "{fault:?} since {since:?} is not said within {within:?}; said {said:?}");
            }
        }
    }

    async fn check(mut self) -> Played {
        self.check_said();
        let converged = self.stage.converged().await;
        assert!(converged <= CONVERGED_WITHIN, "converged after {converged:?}");
        let requests = self.stage.requests_per_minute(self.began.0);
        assert!(requests <= REQUESTS_PER_MINUTE, "{requests} requests of one watch in a minute");
        self.stage.check_order().await;
        self.witness.pass_until(self.stage.hub.now_millis());
        let (witness, began_millis, late_millis) = (self.witness, self.began.1, self.schedule.late_millis());
        let slow_times = self.schedule.slow_times();
        let wrong = self.stage.hub.read(move |reader| {
            let shown = reader.timeline.model();
            [witness.differences(shown), witness.uncovered(shown, began_millis, late_millis, &slow_times)].concat()
        });
        let wrong = wrong.await.unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for viewer in &mut self.viewers {
            viewer.stall(false);
            if !viewer.is_there() {
                viewer.come(&self.stage.hub).await;
            }
            viewer.check(&self.stage.hub).await;
        }
        let counters = self.stage.hub.counters();
        let [gaps, missed_frames] = [&counters.gaps, &counters.dropped].map(|count| count.load(Ordering::Relaxed));
        Played { gaps, missed_frames }
    }
}
