//! A day of rollouts as a real cluster tells them, to be kept: what it takes is measured (`cargo run --example kept`) and has a limit.

#![allow(dead_code, clippy::cast_possible_wrap, reason = "not every test needs all of it; numbers are small")]

use std::time::{Duration, Instant};

use server::feed::recording::lines;
use server::history::batch::Batch;
use server::history::recorder::Recorder;
use server::history::resume;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store};
use server::kube::SourceEvent;
use server::kube::translate::Object;
use timeline::episodes::{EpisodeRow, rollout_rows};
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::{History, Millis, Timeline, Uid};

pub const DAY_MILLIS: Millis = 24 * 3_600_000;
pub const START_MILLIS: Millis = 1_795_000_000_000;
const DEPLOYMENTS: u64 = 25;
pub const ROLLOUTS: u64 = 500;
pub const PODS: u64 = 20;
/// What is written at once.
const BATCH_MILLIS: Millis = 500;
/// A day takes no more than that, in bytes.
pub const MOST_BYTES: u64 = 30_000_000;

/// Makes objects as a real cluster has them: what changes from event to event changes.
pub struct World {
    pub random: fastrand::Rng,
    pub version: u64,
}

impl World {
    pub fn uid(&mut self) -> String {
        let bits = self.random.u128(..);
        Uid::from_bits(bits).to_string()
    }

    fn stamp(at_millis: Millis) -> String {
        jiff::Timestamp::from_second(at_millis / 1_000).unwrap().to_string()
    }

    fn meta(&mut self, name: &str, uid: &str, owner: Option<(&str, &str, &str)>, made: Millis) -> String {
        self.version += self.random.u64(1..40);
        let owner = owner.map(|(kind, name, uid)| format!(
            r#","ownerReferences":[{{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"{uid}","controller":true}}]"#
        )).unwrap_or_default();
        let made = Self::stamp(made);
        format!(
            r#""name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"{}","generation":3,"creationTimestamp":"{made}"{owner}"#,
            self.version
        )
    }

    fn event(kind: Kind, seen: Seen, at_millis: Millis, json: &str) -> SourceEvent {
        SourceEvent::Object { object: Object::decode(kind, json).unwrap(), seen, at_millis }
    }

    fn pod(&mut self, pod: &Pod, step: u64, at: Millis) -> SourceEvent {
        let meta = self.meta(&pod.name, &pod.uid, Some(("ReplicaSet", &pod.set.0, &pod.set.1)), pod.made);
        let deletion =
            if step >= 5 { format!(r#","deletionTimestamp":"{}""#, Self::stamp(at + 30_000)) } else { String::new() };
        let node = if step == 0 {
            String::new()
        } else {
            format!(r#""nodeName":"ip-10-0-{}-17.eu-west-1.compute.internal","#, pod.node)
        };
        let condition = |kind: &str, is: bool| {
            let status = if is { "True" } else { "False" };
            format!(r#"{{"type":"{kind}","status":"{status}","lastTransitionTime":"{}"}}"#, Self::stamp(at))
        };
        let state = if step < 3 || step == 6 {
            r#""waiting":{"reason":"ContainerCreating"}"#.to_owned()
        } else {
            format!(r#""running":{{"startedAt":"{}"}}"#, Self::stamp(at))
        };
        let json = format!(
            r#"{{"metadata":{{{meta}{deletion}}},"spec":{{{node}"terminationGracePeriodSeconds":30,"containers":[{{"name":"web","image":"registry.example.com/shop/{}"}}]}},"status":{{"phase":"{}","conditions":[{},{},{}],"containerStatuses":[{{"name":"web","restartCount":0,"ready":{},"state":{{{state}}}}}]}}}}"#,
            pod.image,
            if step < 3 { "Pending" } else { "Running" },
            condition("PodScheduled", step > 0),
            condition("ContainersReady", (4..6).contains(&step)),
            condition("Ready", (4..6).contains(&step)),
            step == 4,
        );
        let seen = match step {
            0 => Seen::Added,
            7 => Seen::Deleted,
            _ => Seen::Modified,
        };
        Self::event(Kind::Pod, seen, at, &json)
    }

    fn owner(&mut self, kind: Kind, of: &Owner, at: Millis, counts: [u64; 3]) -> SourceEvent {
        let meta = self.meta(
            &of.name,
            &of.uid,
            of.owner.as_ref().map(|(name, uid)| ("Deployment", name.as_str(), uid.as_str())),
            of.made,
        );
        let [desired, updated, available] = counts;
        let json = format!(
            r#"{{"metadata":{{{meta},"annotations":{{"deployment.kubernetes.io/revision":"{}"}},"labels":{{"app":"web","pod-template-hash":"{}"}}}},"spec":{{"replicas":{desired},"template":{{"spec":{{"containers":[{{"name":"web","image":"registry.example.com/shop/{}"}}]}}}}}},"status":{{"observedGeneration":3,"replicas":{desired},"updatedReplicas":{updated},"readyReplicas":{available},"availableReplicas":{available},"conditions":[{{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","message":"ReplicaSet \"{}\" is progressing.","lastUpdateTime":"{}"}}]}}}}"#,
            of.revision,
            of.hash,
            of.image,
            of.name,
            Self::stamp(at)
        );
        Self::event(kind, Seen::Modified, at, &json)
    }
}

pub struct Pod {
    name: String,
    uid: String,
    set: (String, String),
    made: Millis,
    node: u8,
    image: String,
}

struct Owner {
    name: String,
    uid: String,
    owner: Option<(String, String)>,
    made: Millis,
    revision: u64,
    hash: String,
    image: String,
}

/// Events of one rollout in the order of their times.
pub fn rollout(
    world: &mut World,
    name: &str,
    uid: &str,
    revision: u64,
    began: Millis,
    old: &[Pod],
) -> (Vec<SourceEvent>, Vec<Pod>) {
    let hash = format!("{:09x}", world.random.u32(..));
    let image = format!("{name}:v{revision}");
    let owned = |name: String, uid: String, owner| Owner {
        name,
        uid,
        owner,
        made: began,
        revision,
        hash: hash.clone(),
        image: image.clone(),
    };
    let deployment = owned(name.to_owned(), uid.to_owned(), None);
    let set_uid = world.uid();
    let set = owned(format!("{name}-{hash}"), set_uid, Some((name.to_owned(), uid.to_owned())));
    let mut events: Vec<(Millis, SourceEvent)> =
        vec![(began, world.owner(Kind::Deployment, &deployment, began, [PODS, 0, PODS]))];
    events.push((began + 20, world.owner(Kind::ReplicaSet, &set, began + 20, [0, 0, 0])));
    let mut pods = Vec::new();
    for number in 0..PODS {
        let at = began + 100 + number as Millis * 900;
        let suffix: String = (0..5).map(|_| world.random.alphanumeric().to_ascii_lowercase()).collect();
        let (uid, node) = (world.uid(), world.random.u8(..40));
        let pod = Pod {
            name: format!("{}-{suffix}", set.name),
            uid,
            set: (set.name.clone(), set.uid.clone()),
            made: at,
            node,
            image: image.clone(),
        };
        for (step, after) in [0, 15, 30, 400, 2_400].into_iter().enumerate() {
            let at = at + after + world.random.i64(0..300);
            events.push((at, world.pod(&pod, step as u64, at)));
        }
        let ready = at + 3_000;
        events.push((ready, world.owner(Kind::ReplicaSet, &set, ready, [number + 1, number + 1, number])));
        events.push((ready + 40, world.owner(Kind::Deployment, &deployment, ready + 40, [PODS, number + 1, PODS])));
        pods.push(pod);
    }
    for (number, pod) in old.iter().enumerate() {
        let at = began + 3_500 + number as Millis * 900;
        for (step, after) in [(5, 0), (6, 1_500), (7, 2_200)] {
            events.push((at + after, world.pod(pod, step, at + after)));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    (events.into_iter().map(|(_, event)| event).collect(), pods)
}

fn at(event: &SourceEvent) -> Millis {
    match event {
        SourceEvent::Object { at_millis, .. } => *at_millis,
        _ => 0,
    }
}

pub fn commit(text: &str, span: (Millis, Millis)) -> Commit {
    let lines = Batch::pack(span.0, span.1, text).unwrap();
    Commit { number: 0, cluster: "prod".into(), lines: Some(lines), heard_millis: span.1, ..Commit::default() }
}

/// Writes events in batches as the writer does, of one workload that is at rest at their end; returns the time it took and how many there
/// were.
pub fn write(store: &mut Sqlite, recorder: &mut Recorder, workload: Uid, events: &[SourceEvent]) -> (Duration, usize) {
    let began = Instant::now();
    let (mut text, mut span): (String, Option<(Millis, Millis)>) = (String::new(), None);
    for event in events {
        let now = at(event);
        if let Some((from, to)) = span.filter(|(from, _)| now > from + BATCH_MILLIS) {
            recorder.record(&text);
            recorder.begin_episode(workload);
            let (episodes, snapshots) = recorder.pending_writes();
            store.commit(&[Commit { episodes, snapshots, ..commit(&text, (from, to)) }]).unwrap();
            (text, span) = (String::new(), None);
        }
        for line in lines(event) {
            text.push_str(&line);
            text.push('\n');
        }
        span = Some(span.map_or((now, now), |(from, _)| (from, now)));
    }
    if let Some(span) = span {
        recorder.record(&text);
        let episodes = recorder.settle(workload).into_iter().collect();
        let (_, snapshots) = recorder.pending_writes();
        store.commit(&[Commit { episodes, snapshots, ..commit(&text, span) }]).unwrap();
    }
    (began.elapsed(), events.len())
}

/// What a day of rollouts came to.
pub struct KeptDay {
    /// The time it took to write the events.
    pub took: Duration,
    /// How many there were.
    pub events: usize,
    /// They, as the index has them.
    pub rollouts: Vec<EpisodeRow>,
}

/// Keeps so many rollouts of [`PODS`] pods, as many in a day as there are in [`ROLLOUTS`], and tidies as a server does.
pub fn keep(store: &mut Sqlite, many: u64) -> KeptDay {
    let mut world = World { random: fastrand::Rng::with_seed(1), version: 1_000_000 };
    let mut apps: Vec<(String, String, Vec<Pod>)> =
        (0..DEPLOYMENTS).map(|number| (format!("app-{number}"), world.uid(), Vec::new())).collect();
    let (mut took, mut events, mut timeline, mut rollouts) = (Duration::ZERO, 0, Timeline::new(), Vec::new());
    let mut recorder = Recorder::default();
    for number in 0..many {
        let began = START_MILLIS + number as Millis * (DAY_MILLIS / ROLLOUTS as Millis);
        let (name, uid, pods) = &mut apps[(number % DEPLOYMENTS) as usize];
        let (told, new) = rollout(&mut world, name, uid, number / DEPLOYMENTS + 1, began, pods);
        *pods = new;
        let workload = uid.parse().unwrap();
        let (time, many) = write(store, &mut recorder, workload, &told);
        (took, events) = (took + time, events + many);
        for event in &told {
            let SourceEvent::Object { object, seen, at_millis } = event else { continue };
            timeline.apply(*at_millis, object.clone().fact(*seen).unwrap().unwrap());
        }
        let now = Now { millis: began + 30_000, skew_millis: 0 };
        let of = rollout_rows::rollouts("prod", &timeline, workload, now, rollout_rows::LAST);
        rollouts.extend(of.last().cloned());
        let known = Commit { lines: None, rollouts: of, ..commit("", (began, began)) };
        store.commit(&[known]).unwrap();
        while store.tidy(began).unwrap() {}
    }
    // What waits for a checkpoint is not joined yet; a server puts one down every five minutes.
    let checkpoint = resume::serialize(&timeline, &History::default(), 0, None);
    let checkpoint = checkpoint.and_then(|bytes| resume::compress(&bytes));
    let done = Commit { lines: None, checkpoint, ..commit("", (0, 0)) };
    store.commit(&[done]).unwrap();
    while store.tidy(START_MILLIS).unwrap() {}
    KeptDay { took, events, rollouts }
}
