//! Stories: step-by-step demonstrations on a Deployment, with an explanation at each step. They play automatically, one after
//! another, for a first visit and for the wall.
//!
//! ```text
//!   next story ─► step: explain, act ─► until its condition holds and the reading time has passed ─► next step … ─► next story
//! ```

mod lives;
mod stories;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStrategy};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::action::{self, Action, Choice, PLENTY};
use crate::object::{Key, Kind, Object, Resource};
use crate::runtime::Behavior;
use crate::{World, meta};

pub use self::stories::STORIES;

/// Shortest time for which a sentence is shown, in milliseconds.
const READ_MILLIS: i64 = 4_000;
/// Longest wait of a step for its condition.
const PATIENCE_MILLIS: i64 = 180_000;

/// A story.
#[derive(Debug)]
pub struct Story {
    /// Name in addresses.
    pub name: &'static str,
    /// Title shown to people.
    pub title: &'static str,
    /// Steps, in order.
    pub steps: &'static [Step],
}

/// A step of a story.
#[derive(Debug)]
pub struct Step {
    /// Explanation of the step that is shown to people.
    pub say: &'static str,
    does: Act,
    until: Until,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Look,
    Prepare(Start),
    /// Sets the next version of the image, with a word for its behavior.
    Version(&'static str),
    KillPod,
    Unlabel,
    Label,
    DeleteReplicaSet,
    Scale(i32),
    Pause,
    Resume,
    Undo,
    Restart,
    /// Sets the quota to the present number of pods, or to one that does not limit them.
    Quota(bool),
    LoseNode,
    AddNodes,
    Drain,
    Uncordon,
    /// Patches the container of this name, so that its program behaves differently, with the next image.
    Patch(fn(&str, &str) -> Value),
    /// Creates the ConfigMap that [`lives`] mounts.
    MakeConfigMap,
}

/// The healthy Deployment at the start of a story.
#[derive(Debug, Clone, Copy)]
struct Start {
    replicas: i32,
    deadline_seconds: i32,
    min_ready_seconds: i32,
    /// Whether the strategy is Recreate.
    is_recreate: bool,
    /// Whether every node has pods: the story is about nodes.
    is_spread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Only the reading time has passed.
    Read,
    /// The rollout is complete, and nothing is terminating.
    Stable,
    /// Every pod of the newest ReplicaSet was started; nothing more can happen.
    Halted,
    /// Half of the pods are of the newest revision.
    Half,
    /// The deadline has passed.
    Deadline,
    /// No pod is bound to a node that is gone.
    WrittenOff,
    /// This number of milliseconds has passed.
    Passed(i64),
}

const fn step(say: &'static str, does: Act, until: Until) -> Step {
    Step { say, does, until }
}

/// Progress of the autopilot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryProgress {
    /// Name of the story.
    pub story: &'static str,
    /// Title of the story.
    pub title: &'static str,
    /// Explanation shown to people.
    pub sentence: &'static str,
    /// Number of the step, from 1.
    pub step: usize,
    /// Number of steps.
    pub steps: usize,
    /// Command of this step; empty if the step has none.
    pub command: String,
    /// Whether the story advances automatically.
    pub is_playing: bool,
}

/// The autopilot of one Deployment.
#[derive(Debug)]
pub struct Player {
    of: Key,
    story: usize,
    step: usize,
    /// Start of the present step; `None` before it started.
    since_millis: Option<i64>,
    command: String,
    is_playing: bool,
}

impl Player {
    /// Creates an autopilot that starts with the first story.
    pub const fn new(of: Key) -> Self {
        Self { of, story: 0, step: 0, since_millis: None, command: String::new(), is_playing: true }
    }

    fn current(&self) -> (&'static Story, &'static Step) {
        static NOTHING: Step = step("", Act::Look, Until::Read);
        static NONE: Story = Story { name: "", title: "", steps: &[] };
        let story = STORIES.get(self.story).unwrap_or(&NONE);
        (story, story.steps.get(self.step).unwrap_or(&NOTHING))
    }

    /// Returns the present progress.
    pub fn told(&self) -> StoryProgress {
        let (story, step) = self.current();
        StoryProgress {
            story: story.name,
            title: story.title,
            sentence: step.say,
            step: self.step + 1,
            steps: story.steps.len(),
            command: self.command.clone(),
            is_playing: self.is_playing,
        }
    }

    /// Starts or stops automatic play.
    pub const fn set_playing(&mut self, is_playing: bool) {
        self.is_playing = is_playing;
    }

    /// Begins a story and returns whether it exists; an unknown name changes nothing.
    pub fn choose(&mut self, name: &str) -> bool {
        let Some(story) = STORIES.iter().position(|story| story.name == name) else { return false };
        self.begin(story, 0);
        self.is_playing = true;
        true
    }

    /// Begins the next story.
    pub fn next_story(&mut self) {
        self.begin((self.story + 1) % STORIES.len(), 0);
        self.is_playing = true;
    }

    fn begin(&mut self, story: usize, step: usize) {
        (self.story, self.step, self.since_millis) = (story, step, None);
        self.command.clear();
    }

    /// Does the next step if its time has come. Called repeatedly; a call without work is cheap.
    pub fn look(&mut self, world: &mut World) {
        if !self.is_playing {
            return;
        }
        let (story, step) = self.current();
        let Some(since) = self.since_millis else {
            self.command = act(world, &self.of, step.does);
            self.since_millis = Some(world.now_millis());
            return;
        };
        let passed = world.now_millis() - since;
        let least = if let Until::Passed(millis) = step.until { millis } else { READ_MILLIS };
        if passed < least || (passed < PATIENCE_MILLIS && !is_there(world, &self.of, step.until)) {
            return;
        }
        if self.step + 1 < story.steps.len() {
            self.begin(self.story, self.step + 1);
        } else {
            self.next_story();
        }
    }
}

/// Performs the act and returns its command. A rejected action is ignored: the next story prepares everything again.
fn act(world: &mut World, of: &Key, act: Act) -> String {
    if let Act::Prepare(start) = act {
        prepare(world, of, start);
        return String::new();
    }
    let Some(choice) = Choice::of(world, of) else { return String::new() };
    let Some(action) = action(world, &choice, of, act) else { return String::new() };
    let command = action.command(world, of);
    let _ = action.perform(world, of);
    command
}

fn action(world: &World, choice: &Choice, of: &Key, act: Act) -> Option<Action> {
    // Nodes of the autoscaler are added and removed automatically.
    let last_node = || world.settings.nodes.iter().rfind(|node| choice.nodes.contains(node)).cloned();
    Some(match act {
        Act::Look | Act::Prepare(_) => return None,
        Act::Version(fate) => Action::Image(choice.next_image(fate)),
        Act::KillPod => Action::KillPod(choice.pods.first()?.clone()),
        Act::Unlabel => Action::Unlabel(choice.pods.first()?.clone()),
        Act::Label => Action::Label(choice.out_of_rotation.first()?.clone()),
        Act::DeleteReplicaSet => Action::DeleteReplicaSet(choice.newest.clone()?),
        Act::Scale(replicas) => Action::Scale(replicas),
        Act::Pause => Action::Pause,
        Act::Resume => Action::Resume,
        Act::Undo => Action::Undo(None),
        Act::Restart => Action::Restart,
        Act::Quota(true) => Action::Quota(choice.counted),
        Act::Quota(false) => Action::Quota(PLENTY),
        Act::LoseNode => Action::LoseNode(last_node()?),
        Act::AddNodes => Action::AddNode(choice.lost.first()?.clone()),
        Act::Drain => Action::Drain(last_node()?),
        Act::Uncordon => Action::Uncordon(choice.drained.first()?.clone()),
        Act::Patch(patch) => Action::Patch(patch(&of.name, &choice.next_image(""))),
        Act::MakeConfigMap => Action::MakeConfigMap(lives::CONFIG_MAP.to_owned()),
    })
}

/// Prepares the Deployment for a story: healthy, not paused, all nodes present, no quota in the way.
fn prepare(world: &mut World, of: &Key, start: Start) {
    if world.store().typed::<Deployment>(of).is_none()
        && let Ok(made) = Object::read(Resource::Deployment, manifest(&of.namespace, &of.name, start.replicas))
    {
        // The Deployment was deleted.
        let _ = world.create(made);
    }
    let Some(choice) = Choice::of(world, of) else { return };
    let mut before: Vec<Action> = choice.lost.iter().cloned().map(Action::AddNode).collect();
    before.extend(choice.drained.iter().cloned().map(Action::Uncordon));
    before.extend(choice.out_of_rotation.iter().cloned().map(Action::KillPod));
    before.push(Action::Quota(PLENTY));
    for action in before {
        // An action on a node or pod that is in the wanted state already may fail.
        let _ = action.perform(world, of);
    }
    world.delete_if_there(Resource::ConfigMap, &Key::new(&of.namespace, lives::CONFIG_MAP));
    let image = choice.next_image("");
    let is_sick = Behavior::of_image(&choice.image) != Behavior::Healthy;
    let is_uneven = start.is_spread && leaves_node_empty(world, of, &choice, start.replicas);
    let _ = action::edit(world, of, |deployment| {
        let spec = deployment.spec.get_or_insert_default();
        spec.replicas = Some(start.replicas);
        spec.paused = None;
        spec.progress_deadline_seconds = Some(start.deadline_seconds);
        spec.min_ready_seconds = Some(start.min_ready_seconds);
        let recreate = || DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None };
        spec.strategy = start.is_recreate.then(recreate);
        if let Some(pod) = &mut spec.template.spec
            && (lives::forget(pod) || is_sick || is_uneven)
            && let Some(container) = pod.containers.first_mut()
        {
            container.image = Some(image);
        }
    });
}

/// Returns whether a node has no pods of a Deployment that has enough of them for every node. New pods are spread, but running
/// pods stay on their node, for example after another node was drained.
fn leaves_node_empty(world: &World, of: &Key, choice: &Choice, replicas: i32) -> bool {
    let pods = choice.pods.iter().filter_map(|pod| world.store().typed::<Pod>(&Key::new(&of.namespace, pod)));
    let nodes_of_pods: Vec<&str> = pods.filter_map(meta::node_of).collect();
    let nodes = &world.settings.nodes;
    let used = nodes.iter().filter(|node| nodes_of_pods.contains(&node.as_str())).count();
    let wanted = usize::try_from(replicas).unwrap_or_default();
    let new = wanted.saturating_sub(nodes_of_pods.len());
    wanted >= nodes.len() && used + new < nodes.len()
}

/// Returns a Deployment for the playground, as people write one.
pub fn manifest(namespace: &str, name: &str, replicas: i32) -> Value {
    let labels = json!({ "app": name });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": namespace, "labels": labels },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": name, "image": format!("{name}:v1") }] } },
        },
    })
}

fn is_there(world: &World, of: &Key, until: Until) -> bool {
    let Some(deployment) = world.store().typed::<Deployment>(of) else { return true };
    let status = deployment.status.clone().unwrap_or_default();
    let (n, number) = (meta::desired(deployment), |number: Option<i32>| number.unwrap_or_default());
    let is_seen = status.observed_generation == deployment.metadata.generation;
    let reason = |r#type: &str| {
        status.conditions.iter().flatten().find(|of| of.type_ == r#type).and_then(|of| of.reason.clone())
    };
    match until {
        Until::Read | Until::Passed(_) => true,
        Until::Half => is_seen && number(status.updated_replicas) * 2 >= n,
        Until::Deadline => reason("Progressing").as_deref() == Some("ProgressDeadlineExceeded"),
        Until::Stable => {
            let is_complete = if deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true) {
                number(status.available_replicas) == n
            } else {
                number(status.updated_replicas) == n
                    && number(status.available_replicas) == n
                    && number(status.replicas) == n
            };
            is_seen && is_complete && number(status.terminating_replicas) == 0
        }
        Until::Halted => {
            let is_refused = reason("ReplicaFailure").is_some();
            let asked: i32 = action::revisions(world, of).iter().map(|(_, set)| meta::replicas_of(set)).sum();
            let terminating = number(status.terminating_replicas);
            let is_waiting = number(status.unavailable_replicas) > 0 && number(status.replicas) == asked;
            is_seen && terminating == 0 && (is_refused || (is_waiting && no_pod_starts(world, of)))
        }
        Until::WrittenOff => {
            let is_stray = |pod: &Pod| {
                meta::node_of(pod).is_some_and(|node| world.store().get(Resource::Node, &Key::new("", node)).is_none())
            };
            !world.store().all::<Pod>(Some(&of.namespace)).any(is_stray)
        }
    }
}

/// Returns whether no container of the newest ReplicaSet can still start: each was started, or failed to.
fn no_pod_starts(world: &World, of: &Key) -> bool {
    let sets = action::revisions(world, of);
    let pods = sets.iter().flat_map(|(_, set)| world.store().pods_of(set.metadata.uid.as_deref().unwrap_or_default()));
    let is_starting = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        let waiting = |of: &k8s_openapi::api::core::v1::ContainerStatus| {
            of.state.as_ref().is_some_and(|state| {
                state.waiting.as_ref().is_some_and(|waiting| waiting.reason.as_deref() == Some("ContainerCreating"))
            })
        };
        statuses.is_none_or(|statuses| statuses.iter().any(waiting))
    };
    !pods.filter_map(|stored| Pod::of(&stored.object)).any(is_starting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::world::Pool;

    #[test]
    fn every_story_comes_to_its_end_by_itself() {
        let of = Key::new("default", "web");
        let settings = Settings { pool: Some(Pool::default()), ..Settings::default() };
        let mut world = World::new(1, 1_800_000_000_000, settings);
        world.create(Object::read(Resource::Deployment, manifest("default", "web", 4)).unwrap()).unwrap();
        let mut player = Player::new(of);
        let mut seen = Vec::new();
        let end = world.now_millis() + 3_600_000;
        while seen.len() < STORIES.len() * 2 {
            assert!(world.now_millis() < end, "it hangs in {:?} after {seen:?}", player.told());
            let next = world.now_millis() + 200;
            world.advance_to(next);
            player.look(&mut world);
            let told = player.told();
            if seen.last() != Some(&told.story) {
                seen.push(told.story);
            }
            // No step may wait until its limit: then the explanation would not match the picture.
            let waited = player.since_millis.map_or(0, |since| world.now_millis() - since);
            assert!(waited < PATIENCE_MILLIS, "{told:?} waits in vain");
        }
        let expected: Vec<&str> = STORIES.iter().map(|story| story.name).collect();
        assert_eq!(seen, [expected.clone(), expected].concat());
    }
}
