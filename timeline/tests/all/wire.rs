//! What travels: its shape for each protocol, and what becomes of bytes that are something else.

use std::fmt::Write;
use std::sync::Arc;

use serde_reflection::{ContainerFormat, Format, Named, Samples, Tracer, TracerConfig, VariantFormat};
use timeline::fact::{ConditionStatus, Container, ContainerState, Image, Kind, PodCondition, Role};
use timeline::list::{By, Column, Common, Group, RowDelta};
use timeline::model::story::{Adopter, Entry, Happening};
use timeline::model::{EndReason, Event, PodState, RemovedBecause, ScaleCause};
use timeline::story::LineKind;
use timeline::verdict::KubectlVerdict;
use timeline::view::{Hold, Tone};
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{
    self, ConnectionState, Delta, Objects, PROTOCOL, Said, Scope, ServerFrame, Snapshot, Unreadable, ViewerFrame,
};
use timeline::{Change, Workload, WorkloadKind, fact, story};

use crate::made::{self, Web};

/// The shapes of all types of both sides, a line for each field and variant.
fn shapes() -> String {
    let mut tracer = Tracer::new(TracerConfig::default());
    let samples = Samples::new();
    macro_rules! trace {
        ($($known:ty),*) => { $(tracer.trace_type::<$known>(&samples).unwrap();)* };
    }
    trace!(ServerFrame, ViewerFrame, Scope, ConnectionState, Change, PodState, EndReason, RemovedBecause, ScaleCause);
    trace!(KubectlVerdict, Kind, LineKind, Hold, Tone, Common, Group, By, Column, RowDelta, WorkloadKind);
    let mut out = format!("protocol {PROTOCOL}\n");
    let fields = |out: &mut String, fields: &[Named<_>], indent: &str| {
        let travels = fields.iter().filter(|field| field.value != Format::Unit); // others stay on the server
        travels.for_each(|field| writeln!(out, "{indent}{}: {:?}", field.name, field.value).unwrap());
    };
    for (name, format) in tracer.registry().unwrap() {
        writeln!(out, "{name}").unwrap();
        match format {
            ContainerFormat::Struct(known) => fields(&mut out, &known, "  "),
            ContainerFormat::Enum(variants) => {
                for (index, variant) in variants {
                    match variant.value {
                        VariantFormat::Struct(known) => {
                            writeln!(out, "  {index} {}", variant.name).unwrap();
                            fields(&mut out, &known, "      ");
                        }
                        other => writeln!(out, "  {index} {} {other:?}", variant.name).unwrap(),
                    }
                }
            }
            other => writeln!(out, "  {other:?}").unwrap(),
        }
    }
    out
}

#[test]
fn who_changes_what_travels_raises_the_protocol() {
    // The first line is the protocol's number: accept a new snapshot only with a new number in it.
    insta::assert_snapshot!(shapes());
}

#[test]
fn every_pod_state_is_in_the_list_of_all() {
    let (mut tracer, samples) = (Tracer::new(TracerConfig::default()), Samples::new());
    tracer.trace_type::<PodState>(&samples).unwrap();
    let registry = tracer.registry().unwrap();
    let Some(ContainerFormat::Enum(variants)) = registry.get("PodState") else { panic!("{registry:?}") };
    let names: Vec<&str> = variants.values().map(|variant| &*variant.name).collect();
    assert_eq!(PodState::ALL.map(PodState::name).to_vec(), names);
}

/// Revision 2 of a Deployment half way, as a viewer is told of it.
fn snapshot(web: &Web) -> Snapshot {
    let (timeline, uid) = (&web.timeline, made::WEB);
    Snapshot {
        epoch: 1,
        seq: timeline.seq(),
        cluster: "prod".to_owned(),
        now_millis: web.now,
        deployment: Some(uid),
        looking_since_millis: 0,
        objects: Objects::of(timeline.model(), uid),
        said: Said { view: Some(web.view()), story: story::story(timeline.model(), uid), ..Said::default() }
            .with_version(),
    }
}

#[test]
fn a_snapshot_is_not_about_a_deployment_of_that_name_in_another_cluster() {
    let snapshot = snapshot(&Web::live(3));
    let known = &snapshot.objects.deployments[0];
    let is_of =
        |cluster: &str, name: &str| snapshot.is_of(&Workload::deployment(cluster, known.namespace.as_str(), name));
    assert!(is_of("prod", &known.name));
    assert!(!is_of("staging", &known.name));
    assert!(!is_of("prod", "another"));
}

#[test]
fn a_frame_that_ends_early_goes_on_or_holds_something_unknown_is_refused() {
    let bytes = wire::encode(&ServerFrame::Snapshot(Box::new(snapshot(&Web::live(3))))).unwrap();
    assert!(wire::decode::<ServerFrame>(&bytes).is_ok());
    for end in 0..bytes.len() {
        let cut = wire::decode::<ServerFrame>(&bytes[..end]);
        assert!(matches!(cut, Err(Unreadable::Malformed(_))), "cut after {end} bytes");
    }
    let longer = [bytes.as_slice(), &[0, 0]].concat();
    let told = wire::decode::<ServerFrame>(&longer).unwrap_err().to_string();
    assert_eq!(told, "this frame cannot be read: it is 2 bytes longer than it should be");
    assert!(matches!(wire::decode::<ServerFrame>(&[200]), Err(Unreadable::Malformed(_))));
    assert!(matches!(wire::decode::<ViewerFrame>(&[200]), Err(Unreadable::Malformed(_))));
}

#[test]
fn every_version_reads_the_hello_of_every_other() {
    let hello = wire::encode(&ServerFrame::Hello { protocol: 300, build: "b".into() }).unwrap();
    assert_eq!(hello, [0, 0xac, 0x02, 1, b'b']);
    let hello = wire::encode(&ViewerFrame::Hello { protocol: 300, build: "b".into() }).unwrap();
    assert_eq!(hello, [0, 0xac, 0x02, 1, b'b']);
}

#[test]
fn a_delta_after_a_gap_alters_nothing() {
    let mut web = Web::made(3);
    let mut copy = DeploymentCopy::default();
    let delta = |from, to| Delta { from, to, now_millis: 0, changes: Vec::new(), said: None };
    assert_eq!(copy.take_delta(delta(0, 1)), Taken::BeforeSnapshot);
    assert_eq!(copy, DeploymentCopy::default());
    let first = snapshot(&web);
    let seq = first.seq;
    assert!(!copy.take_snapshot(first), "there was no other life before");
    let before = copy.clone();
    web.pod(100, made::ready);
    let known = web
        .timeline
        .model()
        .pods
        .values()
        .find(|pod| pod.name == "web-100")
        .or_else(|| web.timeline.model().pods.values().next());
    let changes = known.map(|pod| Change::Pod(Box::new(pod.clone()))).into_iter().collect();
    assert_eq!(copy.take_delta(Delta { changes, ..delta(seq + 1, seq + 2) }), Taken::Missed);
    assert_eq!(copy, before);
    assert_eq!(copy.take_delta(delta(seq, seq + 2)), Taken::Fits);
    assert_eq!(copy.position().map(|at| at.seq), Some(seq + 2));
    assert!(copy.take_snapshot(Snapshot { epoch: 2, ..snapshot(&web) }), "another life of the server");
}

#[test]
fn no_frame_holds_what_stays_on_the_server() {
    const STAYS: &str = "stays-on-the-server";
    let stays = || STAYS.to_owned();
    let failed = || Some(made::condition(ConditionStatus::True, STAYS, STAYS));
    let entry =
        || Entry { id: 1, at_millis: 0, what: Happening::Adopted { pod: stays(), by: Adopter::Same, removed: None } };
    let event = || Event { reason: stays(), message: stays(), about: (stays(), stays()), ..Event::default() };
    let mut full = snapshot(&Web::live(3));
    let known = &mut full.objects.deployments[0];
    (known.story, known.events) = (vec![entry()], vec![event()]);
    known.now.labels = [(stays(), stays())].into();
    known.now.restarted_at = Some(stays());
    known.now.spec.images = vec![Image { container: stays(), image: stays() }];
    (known.now.status.progressing, known.now.status.replica_failure) = (failed(), failed());
    known.rollouts.iter_mut().for_each(|rollout| rollout.restarted_at = Some(stays()));
    for set in &mut full.objects.replica_sets {
        (set.restarted_at, set.now.change_cause, set.now.failure) = (Some(stays()), Some(stays()), failed());
        (set.now.managed_by, set.now.version) = (stays(), stays());
    }
    for pod in &mut full.objects.pods {
        let now = Arc::make_mut(&mut pod.now);
        (now.pull_error, now.disruption) = (stays().into(), Some((stays(), 0).into()));
        let waits = Some(ContainerState::Waiting { reason: stays(), message: stays() });
        now.containers = vec![Container { state: waits, ..Container::new(stays(), Role::App) }];
        let condition = |status| PodCondition { kind: stays(), status, reason: stays(), message: stays() };
        now.conditions = vec![condition(ConditionStatus::False)];
    }
    assert_eq!(serde_json::to_string(&full.objects).unwrap().matches(STAYS).count(), 45);
    let Objects { deployments, replica_sets, pods } = &full.objects;
    let (known, set, pod) = (&deployments[0], &replica_sets[0], &pods[0]);
    let uid = known.uid;
    let changes = vec![
        Change::DeploymentNow(uid, Box::new(known.now.clone())),
        Change::Rollout(uid, 0, Box::new(known.rollouts[0].clone())),
        Change::ReplicaSetNow(set.uid, Box::new(set.now.clone())),
        Change::PodNow(pod.uid, pod.now.clone()),
        Change::Deployment(Box::new(known.clone())),
        Change::ReplicaSet(Box::new(set.clone())),
        Change::Pod(Box::new(pod.clone())),
        Change::Story(uid, Box::new(entry())),
        Change::Event(uid, Box::new(event())),
    ];
    let delta = Delta { from: full.seq, to: full.seq + 1, now_millis: 0, changes, said: None };
    for frame in [ServerFrame::Snapshot(Box::new(full)), ServerFrame::Delta(delta)] {
        let bytes = wire::encode(&frame).unwrap();
        assert!(!bytes.windows(STAYS.len()).any(|window| window == STAYS.as_bytes()));
        assert_eq!(wire::encode(&wire::decode::<ServerFrame>(&bytes).unwrap()).unwrap(), bytes);
    }
}

#[test]
fn what_only_sentences_are_made_of_is_empty_at_a_viewer() {
    let travelled = wire::encode(&snapshot(&Web::live(3))).unwrap();
    let copy = DeploymentCopy::from(wire::decode::<Snapshot>(&travelled).unwrap());
    let known = copy.deployment().unwrap();
    assert!(known.story.is_empty() && known.verdicts.is_empty() && known.now.spec == fact::DeploymentSpec::default());
    assert!(!copy.said.story.is_empty() && copy.said.view.is_some(), "sentences travel as sentences");
}
