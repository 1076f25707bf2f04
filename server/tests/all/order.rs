//! Streams of different kinds overtake each other by some 50 ms, objects are seen twice, everything is listed again: the
//! timeline says the same of every recording.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};
use server::kube::Observed;
use timeline::fact::{Kind, Seen};
use timeline::{Fact, Uid, document};

use crate::common::played;

/// Seeds tried per recording.
const SEEDS: u64 = 12;
/// How far streams overtake each other, in milliseconds.
const APART_MILLIS: i64 = 50;

const fn kind(fact: &Fact) -> Kind {
    match fact {
        Fact::Deployment(..) => Kind::Deployment,
        Fact::ReplicaSet(..) => Kind::ReplicaSet,
        Fact::Pod(..) => Kind::Pod,
        Fact::Event(_) => Kind::Event,
        Fact::Listed { kind, .. } | Fact::Unseen { kind, .. } => *kind,
    }
}

fn play(observed: Vec<Observed>) -> Value {
    serde_json::to_value(document::document(played::play(observed).model(), None, None)).unwrap()
}

/// What a document says apart from times and from what depends on simultaneity.
fn essence(document: &Value) -> Value {
    let names = |items: &Value, fields: &[&str]| -> Value {
        let mut said: Vec<Value> = items
            .as_array()
            .unwrap()
            .iter()
            .map(|item| fields.iter().map(|field| item[*field].clone()).collect::<Vec<_>>().into())
            .collect();
        said.sort_by_key(ToString::to_string);
        said.into()
    };
    let deployments = document["deployments"].as_array().unwrap().iter().map(|d| {
        let verdicts: Vec<&Value> = d["verdicts"].as_array().unwrap().iter().map(|v| &v["verdict"]).collect();
        let pods: BTreeMap<String, Value> = d["pods"].as_array().unwrap().iter().map(|pod| {
            let states: Vec<&Value> = pod["states"].as_array().unwrap().iter().map(|state| &state[0]).collect();
            (pod["name"].to_string(), json!([states, pod["endReason"], pod["restarts"], pod["replicaSet"]]))
        }).collect();
        json!({
            "uid": d["uid"],
            "rollouts": names(&d["rollouts"], &["revision", "replicaSet", "trigger", "images", "maxSurge", "maxUnavailable", "outcome"]),
            "replicaSets": names(&d["replicaSets"], &["uid", "removedBecause", "images"]),
            "scales": names(&d["scales"], &["replicaSet", "from", "to", "cause"]),
            "marks": names(&d["marks"], &["kind", "detail"]),
            "verdicts": verdicts,
            "pods": pods,
        })
    });
    let mut deployments: Vec<Value> = deployments.collect();
    deployments.sort_by_key(|d| d["uid"].to_string());
    deployments.into()
}

/// Where two documents differ.
fn differences(path: &str, a: &Value, b: &Value, out: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().zip(b.values()).for_each(|((key, a), b)| differences(&format!("{path}.{key}"), a, b, out));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(index, (a, b))| differences(&format!("{path}[{index}]"), a, b, out));
        }
        _ if a == b => {}
        _ => out.push(format!("{path}: {a} instead of {b}")),
    }
}

#[test]
fn streams_that_overtake_each_other_change_nothing_but_times() {
    for (name, observed) in played::recordings() {
        let expected = essence(&play(observed.clone()));
        for seed in 0..SEEDS {
            let mut rng = Rng::with_seed(seed);
            // Each kind is late by something else; within a kind the order stays.
            let mut last: BTreeMap<Kind, i64> = BTreeMap::new();
            let mut late: BTreeMap<Kind, i64> = BTreeMap::new();
            let mut shuffled: Vec<Observed> = observed.clone();
            for one in &mut shuffled {
                let Some(kind) = one.fact.as_ref().map(kind) else { continue };
                if rng.u8(..8) == 0 {
                    late.insert(kind, rng.i64(0..=APART_MILLIS));
                }
                let at = one.at_millis + late.get(&kind).copied().unwrap_or(0);
                let at = at.max(last.get(&kind).copied().unwrap_or(at));
                last.insert(kind, at);
                one.at_millis = at;
            }
            shuffled.sort_by_key(|one| one.at_millis);
            let mut wrong = Vec::new();
            differences("", &essence(&play(shuffled)), &expected, &mut wrong);
            assert!(wrong.is_empty(), "{name}, seed {seed}:\n{}", wrong.join("\n"));
        }
    }
}

/// On a busy machine what made a pod end arrives much later than the end itself.
#[test]
fn why_pods_ended_is_told_also_when_their_owners_are_late() {
    let ends = |observed: Vec<Observed>| -> BTreeMap<String, Value> {
        let said = play(observed);
        let pods = said["deployments"].as_array().unwrap().iter().flat_map(|d| d["pods"].as_array().unwrap());
        pods.map(|pod| (pod["name"].to_string(), pod["endReason"].clone())).collect()
    };
    for (name, observed) in played::recordings() {
        let expected = ends(observed.clone());
        for late in [200, 400, 800] {
            let mut delayed = observed.clone();
            for one in &mut delayed {
                let is_owner = matches!(one.fact, Some(Fact::Deployment(..) | Fact::ReplicaSet(..)));
                one.at_millis += if is_owner { late } else { 0 };
            }
            delayed.sort_by_key(|one| one.at_millis);
            let found = ends(delayed);
            let wrong: Vec<_> = found.iter().filter(|(pod, end)| expected.get(*pod) != Some(*end)).collect();
            assert!(wrong.is_empty() && found.len() == expected.len(), "{name}, {late} ms late: {wrong:?}");
        }
    }
}

#[test]
fn objects_seen_twice_and_listed_again_change_nothing() {
    for (name, observed) in played::recordings() {
        let expected = play(observed.clone());
        for seed in 0..SEEDS {
            let mut rng = Rng::with_seed(seed);
            let mut there: BTreeMap<Kind, BTreeMap<Uid, Fact>> = BTreeMap::new();
            let mut listed: Vec<Kind> = Vec::new();
            let mut again = Vec::new();
            for one in observed.clone() {
                let at_millis = one.at_millis;
                again.push(one.clone());
                let Some(fact) = one.fact else { continue };
                match &fact {
                    Fact::Listed { kind, .. } => listed.push(*kind),
                    fact => {
                        let (uid, seen) = match fact {
                            Fact::Deployment(fact, seen) => (fact.meta.uid, *seen),
                            Fact::ReplicaSet(fact, seen) => (fact.meta.uid, *seen),
                            Fact::Pod(fact, seen) => (fact.meta.uid, *seen),
                            Fact::Event(_) | Fact::Listed { .. } | Fact::Unseen { .. } => continue,
                        };
                        let known = there.entry(kind(fact)).or_default();
                        if seen == Seen::Deleted {
                            known.remove(&uid);
                        } else {
                            known.insert(uid, fact.clone());
                        }
                    }
                }
                if rng.u8(..10) == 0 {
                    again.push(Observed { at_millis, fact: Some(fact) });
                }
                let kinds: Vec<Kind> = listed.iter().copied().filter(|kind| *kind != Kind::Event).collect();
                if rng.u8(..20) == 0 && !kinds.is_empty() {
                    let kind = kinds[rng.usize(..kinds.len())];
                    let known = there.entry(kind).or_default();
                    again.extend(known.values().map(|fact| Observed { at_millis, fact: Some(played::in_list(fact)) }));
                    let present = known.keys().copied().collect();
                    let fact = Fact::Listed { kind, namespace: None, present, gap_since_millis: None };
                    again.push(Observed { at_millis, fact: Some(fact) });
                }
            }
            assert_eq!(play(again), expected, "{name}, seed {seed}");
        }
    }
}
