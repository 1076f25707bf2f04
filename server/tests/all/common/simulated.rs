//! Recordings of simulated clusters: seeded actions in virtual time, written as a watch would see them.

use fastrand::Rng;
use serde_json::json;
use server::feed::recording::Recording;
use server::kube::Observed;
use simcluster::action::{Action, Choice, edit};
use simcluster::change::{Change, Verb};
use simcluster::{Key, Object, Resource, Settings, World, story};

/// Kinds that are watched.
pub const KINDS: [Resource; 4] = [Resource::Deployment, Resource::ReplicaSet, Resource::Pod, Resource::Event];

/// Simulated clusters that the timeline is held to, beside the recordings of real ones.
#[allow(dead_code, reason = "some tests choose seeds of their own")]
pub fn clusters() -> impl Iterator<Item = (String, Vec<Observed>)> {
    (0..40).map(|seed| (format!("seed {seed}"), Recording::read(&recording(seed, 20)).observed))
}

/// A recording of this many actions.
#[allow(dead_code, reason = "some tests choose actions of their own")]
pub fn recording(seed: u64, actions: usize) -> String {
    recording_of(seed, actions, act)
}

/// A recording of this many actions, chosen so.
pub fn recording_of(seed: u64, actions: usize, act: impl Fn(&mut World, &Key, &mut Rng)) -> String {
    let mut rng = Rng::with_seed(seed);
    let mut recorder = Recorder::begin(seed, rng.i32(1..=10));
    for _ in 0..actions {
        // Sometimes at rest, sometimes in the middle of what the action before began.
        recorder.pass(rng.i64(200..=12_000));
        recorder.act(|world, of| act(world, of, &mut rng));
    }
    recorder.lines.join("\n")
}

/// A simulated cluster with one Deployment, and what a watch would see of it.
pub struct Recorder {
    world: World,
    told: u64,
    /// What was seen so far.
    pub lines: Vec<String>,
}

impl Recorder {
    /// A Deployment of so many pods is made.
    pub fn begin(seed: u64, replicas: i32) -> Self {
        let world = World::new(seed, 1_800_000_000_000, Settings::default());
        let listed = |kind: &Resource| {
            json!({ "observedAtMillis": world.now_millis(), "kind": kind.kind(), "type": "LIST_DONE", "object": { "metadata": {} } }).to_string()
        };
        let lines = KINDS.iter().map(listed).collect();
        let mut recorder = Self { told: world.store().revision(), world, lines };
        let made = story::manifest("default", "web", replicas);
        recorder.world.create(Object::read(Resource::Deployment, made).unwrap()).unwrap();
        recorder
    }

    /// Time passes.
    pub fn pass(&mut self, millis: i64) {
        let until = self.world.now_millis() + millis;
        while let Some(next) = self.world.next_millis().filter(|next| *next <= until) {
            self.world.advance_to(next);
            tell(&self.world, &mut self.told, &mut self.lines);
        }
        self.world.advance_to(until);
    }

    /// Somebody does something to the Deployment.
    pub fn act(&mut self, act: impl FnOnce(&mut World, &Key)) {
        act(&mut self.world, &Key::new("default", "web"));
        tell(&self.world, &mut self.told, &mut self.lines);
    }
}

/// Changes of what is watched since a revision, in their order.
pub fn changes_since(world: &World, revision: u64) -> Vec<&Change> {
    let mut changes: Vec<_> = KINDS.iter().flat_map(|kind| world.store().since(*kind, revision).unwrap()).collect();
    changes.sort_by_key(|change| change.object.revision);
    changes
}

fn tell(world: &World, told: &mut u64, lines: &mut Vec<String>) {
    for change in changes_since(world, *told) {
        let verb = match change.verb {
            Verb::Added => "ADDED",
            Verb::Modified => "MODIFIED",
            Verb::Deleted => "DELETED",
        };
        let object = &change.object.object;
        let line = json!({ "observedAtMillis": world.now_millis(), "kind": object.resource().kind(), "type": verb, "object": object.to_value() });
        lines.push(line.to_string());
    }
    *told = world.store().revision();
}

#[allow(dead_code, reason = "some tests choose actions of their own")]
fn act(world: &mut World, of: &Key, rng: &mut Rng) {
    let Some(choice) = Choice::of(world, of) else { return };
    let action = match rng.u8(..12) {
        0..=4 => Action::Image(choice.next_image(["", "", "slow", "never", "crash"][rng.usize(..5)])),
        5 | 6 => Action::Scale(rng.i32(0..=12)),
        7 => Action::Undo(None),
        8 if choice.is_paused => Action::Resume,
        8 => Action::Pause,
        9 => match choice.pods.first() {
            Some(pod) => Action::KillPod(pod.clone()),
            None => return,
        },
        _ => {
            let amounts = [
                (json!(1), json!(0)),
                (json!("25%"), json!("25%")),
                (json!(0), json!(1)),
                (json!(3), json!(2)),
                (json!("100%"), json!(0)),
            ];
            let (surge, unavailable) = amounts[rng.usize(..amounts.len())].clone();
            let rolling = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
            edit(world, of, |deployment| {
                deployment.spec.as_mut().unwrap().strategy = Some(serde_json::from_value(rolling).unwrap())
            })
            .unwrap();
            return;
        }
    };
    // What makes no sense now is refused, as kubectl would.
    let _ = action.perform(world, of);
}
