//! What it costs to keep history: time per pod event, size of a day, time to go on after a restart and to open a rollout.
//!
//! `cargo run --release --example kept`. A day is 500 rollouts of 20 pods of 25 Deployments, written in batches of half a second as the
//! writer does, and tidied. The restart is of a cluster of 10,000 pods with a checkpoint and ten minutes of events after it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a tool of our own on data of its own"
)]

use std::time::{Duration, Instant};

use app::history::{Day, PastRollout, Search};
use server::history::batch::pack;
use server::history::index;
use server::history::options::Limits;
use server::history::resume::{self, FINGERPRINT, Standing};
use server::history::sql::Reader;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Lines, Store};
use server::recording::{Recording, lines};
use server::sight::Sight;
use server::source::SourceEvent;
use server::translate::Object;
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::{History, Millis, Timeline, Uid};

const DAY_MILLIS: Millis = 24 * 3_600_000;
const START_MILLIS: Millis = 1_795_000_000_000;
const DEPLOYMENTS: u64 = 25;
const ROLLOUTS: u64 = 500;
const PODS: u64 = 20;
/// Rollouts among which is searched.
const MANY: u32 = 100_000;
/// What is written at once.
const BATCH_MILLIS: Millis = 500;

/// Makes objects as a real cluster has them: what changes from event to event changes.
struct World {
    random: fastrand::Rng,
    version: u64,
}

impl World {
    fn uid(&mut self) -> String {
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

struct Pod {
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
fn rollout(
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

fn commit(text: &str, span: (Millis, Millis)) -> Commit {
    let lines = Lines { from_millis: span.0, to_millis: span.1, body: pack(text).unwrap() };
    Commit {
        number: 0,
        cluster: "prod".into(),
        scope: "".into(),
        lines: Some(lines),
        heard_millis: span.1,
        checkpoint: None,
        rollouts: Vec::new(),
    }
}

/// Writes events in batches as the writer does; returns the time it took and how many there were.
fn write(store: &mut Sqlite, events: &[SourceEvent]) -> (Duration, usize) {
    let began = Instant::now();
    let (mut text, mut span): (String, Option<(Millis, Millis)>) = (String::new(), None);
    for event in events {
        let event = event.clone(); // as the hub does for the writer
        let now = at(&event);
        if let Some((from, to)) = span.filter(|(from, _)| now > from + BATCH_MILLIS) {
            store.commit(&[commit(&text, (from, to))]).unwrap();
            (text, span) = (String::new(), None);
        }
        for line in lines(&event) {
            text.push_str(&line);
            text.push('\n');
        }
        span = Some(span.map_or((now, now), |(from, _)| (from, now)));
    }
    if let Some(span) = span {
        store.commit(&[commit(&text, span)]).unwrap();
    }
    (began.elapsed(), events.len())
}

fn day() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let mut world = World { random: fastrand::Rng::with_seed(1), version: 1_000_000 };
    let mut apps: Vec<(String, String, Vec<Pod>)> =
        (0..DEPLOYMENTS).map(|number| (format!("app-{number}"), world.uid(), Vec::new())).collect();
    let (mut took, mut events, mut timeline, mut rollouts) = (Duration::ZERO, 0, Timeline::new(), Vec::new());
    for number in 0..ROLLOUTS {
        let began = START_MILLIS + number as Millis * (DAY_MILLIS / ROLLOUTS as Millis);
        let (name, uid, pods) = &mut apps[(number % DEPLOYMENTS) as usize];
        let (told, new) = rollout(&mut world, name, uid, number / DEPLOYMENTS + 1, began, pods);
        *pods = new;
        let (time, many) = write(&mut store, &told);
        (took, events) = (took + time, events + many);
        for event in &told {
            let SourceEvent::Object { object, seen, at_millis } = event.clone() else { continue };
            timeline.apply(at_millis, object.fact(seen).unwrap().unwrap());
        }
        let now = Now { millis: began + 30_000, skew_millis: 0 };
        let of = index::rollouts("prod", timeline.model(), uid.parse().unwrap(), now, index::LAST);
        rollouts.extend(of.last().cloned());
        let known = Commit { lines: None, rollouts: of, ..commit("", (began, began)) };
        store.commit(&[known]).unwrap();
        while store.tidy(began).unwrap() {}
    }
    println!("to keep {events} events of a day of {ROLLOUTS} rollouts of {PODS} pods:");
    println!("  write      {:>7.2} µs an event (limit 15)", took.as_secs_f64() * 1e6 / events as f64);
    // What waits for a checkpoint is not joined yet; a server puts one down every five minutes.
    let standing = Standing { timeline: &timeline, history: &History::default(), observed: None };
    let done = Commit { lines: None, checkpoint: resume::checkpoint(&standing), ..commit("", (0, 0)) };
    store.commit(&[done]).unwrap();
    while store.tidy(START_MILLIS).unwrap() {}
    println!("  size       {:>7.2} MB (limit 30)", store.bytes().unwrap() as f64 / 1e6);
    let reader = Reader::of_folder(folder.path());
    let mut times: Vec<f64> = rollouts
        .iter()
        .rev()
        .take(100)
        .map(|rollout| {
            let began = Instant::now();
            let cut = reader.cut("prod", rollout.uid, rollout.number, None).unwrap().unwrap();
            assert!(Recording::read(&cut.text).play().model().pods.len() >= PODS as usize);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("  open       {:>7.1} ms a rollout, median; {:.1} ms p95 (limit 300)", times[50], times[95]);
    list(&mut store, &reader, &rollouts);
}

/// What a page of the history costs among very many rollouts.
fn list(store: &mut Sqlite, reader: &Reader, some: &[PastRollout]) {
    let many = |number: u32| PastRollout {
        revision: 1_000 + u64::from(number),
        started_millis: START_MILLIS + Millis::from(number) * 25_000,
        ..some[number as usize % some.len()].clone()
    };
    let rollouts = (0..MANY).map(many).collect();
    store.commit(&[Commit { lines: None, rollouts, ..commit("", (0, 0)) }]).unwrap();
    let day = |number: Millis| Day {
        from_millis: START_MILLIS + number * DAY_MILLIS,
        name: String::new(),
        rollouts: 0,
        troubled: 0,
    };
    let words = |text: &str| Search { text: text.to_owned(), ..Search::default() };
    let last = START_MILLIS + Millis::from(MANY) * 25_000;
    for (name, search) in [
        ("all", words("")),
        ("words", words("app-7 shop v12")),
        ("late", Search { from_millis: Some(last - 60_000), ..Search::default() }),
        ("name", Search { name: "app-7".to_owned(), ..Search::default() }),
    ] {
        let began = Instant::now();
        let found = reader.rollouts(&search, &Sight::All, None, 50).unwrap().rollouts.len();
        let days = reader.days(&search, &Sight::All, (0..30).map(day).collect()).unwrap();
        let counted: u32 = days.iter().map(|day| day.rollouts).sum();
        let took = began.elapsed().as_secs_f64() * 1e3;
        println!("  list {name:<5} {took:>7.1} ms for {found} of {MANY} rollouts, {counted} in the strip (limit 100)");
    }
}

fn restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let mut world = World { random: fastrand::Rng::with_seed(2), version: 1 };
    let (mut timeline, mut history, mut later) = (Timeline::new(), History::default(), Vec::new());
    let many = 10_000 / PODS;
    for number in 0..many {
        let uid = world.uid();
        let began = START_MILLIS + number as Millis * 30_000;
        let (events, _) = rollout(&mut world, &format!("app-{number}"), &uid, 1, began, &[]);
        for event in &events {
            let SourceEvent::Object { object, seen, at_millis } = event.clone() else { continue };
            let changes = timeline.apply(at_millis, object.fact(seen).unwrap().unwrap());
            history.note(at_millis, &changes);
        }
        if number + 20 > many {
            later.push(events);
        }
    }
    let pods = timeline.model().pods.len();
    let standing = Standing { timeline: &timeline, history: &history, observed: None };
    let began = Instant::now();
    let checkpoint = resume::checkpoint(&standing).unwrap();
    let (took, size) = (began.elapsed(), checkpoint.body.len());
    store.commit(&[Commit { lines: None, checkpoint: Some(checkpoint), ..commit("", (0, 0)) }]).unwrap();
    let mut tail = 0;
    for events in &later {
        tail += write(&mut store, events).1;
    }
    let began = Instant::now();
    let stored = store.resume("prod", Some(FINGERPRINT), 0).unwrap().unwrap();
    let resumed = resume::resume("prod", stored).unwrap();
    assert_eq!(resumed.timeline.model().pods.len(), pods);
    println!("a cluster of {pods} pods:");
    println!("  checkpoint {:>7.1} ms in the hub, {:.1} MB", took.as_secs_f64() * 1e3, size as f64 / 1e6);
    println!("  resume     {:>7.1} ms with {tail} events after it (limit 2000)", began.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    day();
    restart();
}
