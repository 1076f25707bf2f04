//! The index of rollouts: what a row keeps, and who finds it.

use std::collections::BTreeSet;
use std::sync::Arc;

use server::access::permissions::Permissions;
use server::access::scope::{LinkScope, WorkloadName};
use server::history::options::Limits;
use server::history::sql::Reader;
use server::history::store::{Commit, Episode, Store};
use server::history::{Archive, tap};
use server::kube::Observed;
use server::telemetry::clock;
use timeline::episodes::{EpisodeRow, Search, UNKNOWN_CAUSE, rollout_rows};
use timeline::fact::{Kind, Seen};
use timeline::rollout::{Outcome, Trigger};
use timeline::view::Now;
use timeline::{Fact, Millis, Retention, Timeline, Uid, Workload};

use crate::common::fed::feed;
use crate::history::one_replica::{apply, complete, last_row, set, web};
use crate::history::{Indexed, SMALL, commit, in_folder, indexed, places, recorded};

#[test]
fn a_link_to_a_workload_leads_to_its_rollouts_alone() {
    for place in places() {
        let mut store = place.open(SMALL);
        let own = indexed().rollouts;
        let named = |name: &str, namespace: &str, uid: u128| {
            let of = |rollout: &EpisodeRow| EpisodeRow {
                uid: Uid::from_bits(uid),
                name: name.into(),
                namespace: namespace.into(),
                change_cause: Some("\"name\":\"web\" nul \0".into()),
                ..rollout.clone()
            };
            own.iter().map(of).collect::<Vec<_>>()
        };
        let place_of = own[0].namespace.clone();
        let rollouts = [own.clone(), named("other", &place_of, 7), named(&own[0].name, "elsewhere", 8)].concat();
        store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        let only = |name: &str| {
            let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("c", place_of.as_str(), name)));
            let sight = Permissions::All.limited_to(&scope);
            let reader = Reader::new(&place.location);
            let found = reader.search(&Search::default(), &sight, None, 50).unwrap().rollouts;
            found.into_iter().map(|rollout| (rollout.namespace, rollout.name)).collect::<Vec<_>>()
        };
        for name in [own[0].name.as_str(), "other"] {
            assert_eq!(only(name), vec![(place_of.clone(), name.to_owned()); own.len()]);
        }
        assert_eq!(only("never"), []);
    }
}

#[test]
fn the_last_rollout_of_what_exists_stays_in_the_index_whatever_its_age() {
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let Indexed { now, rollouts, .. } = indexed();
        let revisions = |store: &mut dyn Store, rollouts: Vec<EpisodeRow>| -> Vec<u64> {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
            while store.tidy(now.millis + 60_000).unwrap() {}
            let found =
                Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 50).unwrap().rollouts;
            found.iter().map(|rollout| rollout.revision).collect()
        };
        assert_eq!(revisions(&mut *store, rollouts.clone()), [3]);
        let deleted = rollouts.into_iter().map(|rollout| EpisodeRow { is_deleted: true, ..rollout });
        assert_eq!(revisions(&mut *store, deleted.collect()), [0; 0]);
    }
}

/// A rollout that went on when watching began is told as it ended, too.
#[test]
fn what_went_on_when_watching_began_is_told_once_it_is_over() {
    let Indexed { timeline, uid, .. } = indexed();
    let model = timeline.model();
    let told = |completed: Millis| {
        let mut model = model.clone();
        let deployment = model.deployments.get_mut(&uid).unwrap();
        let first = &mut deployment.rollouts[0];
        (first.started_millis, first.superseded_millis) = (None, None);
        first.completed_millis = Some(deployment.first_seen_millis + completed);
        let now = Now { millis: deployment.first_seen_millis + 3_600_000, skew_millis: 0 };
        let timeline = Timeline::from_model(model, 0);
        let told = rollout_rows::rollouts("c", &timeline, uid, now, 99);
        let revision = timeline.model().deployments.get(&uid).unwrap().rollouts[0].revision;
        told.first().filter(|told| told.revision == revision).cloned()
    };
    let over = told(5_000).unwrap();
    assert_eq!((over.took_millis(), over.outcome), (None, timeline::rollout::Outcome::Complete), "nobody saw it begin");
    assert_eq!(over.ended_millis.map(|ended| ended - over.started_millis), Some(5_000));
    assert!(told(0).is_none(), "what was complete when watching began was not seen");
}

/// A process that restarts in the middle of a rollout, and cannot read its checkpoint, sees it go on: what was seen before stays.
#[test]
fn a_begin_that_was_seen_stays_seen_after_a_restart() {
    let began = indexed().rollouts.last().unwrap().clone();
    let at = began.started_millis;
    let seen = EpisodeRow {
        ended_millis: None,
        outcome: Outcome::Progressing,
        first_available_millis: Some(700),
        deadline_millis: Some(at + 10_000),
        ..began
    };
    let joined = EpisodeRow {
        trigger: Trigger::Unknown,
        started_millis: at + 20_000,
        first_available_millis: None,
        deadline_millis: None,
        peak_pods: 0,
        min_available: seen.min_available + 1,
        ..seen.clone()
    };
    let over = EpisodeRow { ended_millis: Some(at + 30_000), outcome: Outcome::Complete, ..joined.clone() };
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let mut kept = |rollout: &EpisodeRow| {
            store.commit(&[Commit { rollouts: vec![rollout.clone()], ..commit(None, None) }]).unwrap();
            let mut found = reader.search(&Search::default(), &Permissions::All, None, 9).unwrap().rollouts;
            assert_eq!(found.len(), 1);
            found.remove(0)
        };
        let known = |rollout: EpisodeRow| {
            (rollout.trigger, rollout.started_millis, rollout.deadline_millis, rollout.first_available_millis)
        };
        let first = known(kept(&seen));
        assert_eq!(known(kept(&joined)), first);
        let last = kept(&over);
        assert_eq!((last.took_millis(), last.outcome), (Some(30_000), Outcome::Complete));
        assert_eq!((last.peak_pods, last.min_available), (seen.peak_pods, seen.min_available));
        assert_eq!(known(last), first);
    }
    // A begin that nobody saw stays unknown, unless another process saw it at that time.
    for (later, trigger) in [(500, seen.trigger), (20_000, Trigger::Unknown)] {
        for place in places() {
            let mut store = place.open(SMALL);
            let listed = EpisodeRow { trigger: Trigger::Unknown, ..seen.clone() };
            let watched = EpisodeRow { started_millis: at + later, ..seen.clone() };
            for rollout in [listed, watched] {
                store.commit(&[Commit { rollouts: vec![rollout], ..commit(None, None) }]).unwrap();
            }
            let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 9).unwrap();
            assert_eq!(found.rollouts[0].trigger, trigger);
        }
    }
}

/// A rollout whose progress deadline passed goes on until its Deployment is deleted.
#[test]
fn a_stuck_rollout_whose_deployment_is_deleted_is_over_with_the_deletion() {
    let mut timeline = complete();
    apply(&mut timeline, [(20_000, web(2, [2, 1, 1])), (20_000, set(2, 0, Seen::Added))]);
    let mut model = timeline.model().clone();
    let deployment = model.deployments.get_mut(&Uid::from_bits(1)).unwrap();
    deployment.deleted_millis = Some(900_000);
    deployment.rollouts.last_mut().unwrap().deadline_exceeded_millis = Some(620_000);
    let row = last_row(&Timeline::from_model(model, 0), 900_000);
    let told = (row.outcome, row.ended_millis, row.deadline_millis, row.moment_millis);
    assert_eq!(told, (Outcome::Deleted, None, Some(620_000), Some(900_000)));
    for place in places() {
        let mut store = place.open(SMALL);
        store.commit(&[Commit { rollouts: vec![row.clone()], ..commit(None, None) }]).unwrap();
        let found = [900_000, 900_001].map(|from_millis| {
            let search = Search { from_millis: Some(from_millis), ..Search::default() };
            Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts.len()
        });
        assert_eq!(found, [1, 0]);
    }
}

/// Pods that fail after a rollout was complete are trouble of it, for as long as its episode goes on.
#[test]
fn a_rollout_with_trouble_is_found_until_its_episode_is_over_or_the_next_one_begins() {
    let uid = Uid::from_bits(1);
    let rollout = |revision: u64, started_millis: Millis, cause: &str| EpisodeRow {
        uid,
        revision,
        started_millis,
        ended_millis: Some(started_millis + 1_000),
        outcome: Outcome::Complete,
        cause: cause.to_owned(),
        ..EpisodeRow::default()
    };
    let (first, failing) = (rollout(1, 20_000, ""), rollout(1, 20_000, "Containers crash."));
    let next = rollout(2, 60_000, "");
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let mut found = |rollouts: Vec<EpisodeRow>, is_open: bool, times: [Millis; 2]| {
            let to_millis = if is_open { 50_000 } else { 100_000 };
            let (row_before, row) = (None, None);
            let episode = Episode { uid, from_millis: 20_500, to_millis, is_open, row_before, row, body: vec![0] };
            let known = Commit { rollouts, episodes: vec![episode], heard_millis: 100_000, ..commit(None, None) };
            store.commit(&[known]).unwrap();
            times.map(|from_millis| {
                let search = Search { from_millis: Some(from_millis), ..Search::default() };
                let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
                let overview = reader.overview(&search, &Permissions::All, &[("c", uid)], 9).unwrap();
                assert_eq!(overview.last, std::slice::from_ref(&found));
                found.into_iter().map(|row| row.revision).collect::<Vec<_>>()
            })
        };
        assert_eq!(found(vec![first.clone()], false, [21_000, 21_001]), [vec![1], vec![]]);
        assert_eq!(found(vec![failing.clone()], false, [100_000, 100_001]), [vec![1], vec![]]);
        assert_eq!(found(Vec::new(), true, [100_000, 100_001]), [vec![1], vec![]], "heard of until then");
        assert_eq!(found(vec![next.clone()], false, [59_999, 60_000]), [vec![2, 1], vec![2]]);
    }
}

/// A day after a rollout the timeline forgets the limits of then: its row keeps them when the Deployment is scaled.
#[test]
fn a_rollout_that_is_over_keeps_its_replicas_and_limits_when_its_deployment_is_scaled() {
    let mut timeline = complete();
    let over = last_row(&timeline, 10_000);
    let Fact::Deployment(mut scaled, _) = web(1, [1, 1, 1]) else { unreachable!() };
    (scaled.now.generation, scaled.now.status.observed_generation, scaled.now.spec.replicas) = (2, 2, 3);
    timeline.apply(20_000, Fact::Deployment(scaled, Seen::Modified));
    let retention = Retention::default();
    timeline.prune(20_001 + retention.age_millis, &retention, &BTreeSet::new());
    let later = last_row(&timeline, 20_001 + retention.age_millis);
    let figures = |row: &EpisodeRow| (row.outcome, row.replicas, row.ceiling, row.floor);
    assert_eq!(figures(&later), (Outcome::Complete, 3, None, None), "the limits of now are not those of then");
    for place in places() {
        let mut store = place.open(SMALL);
        for row in [&over, &later] {
            store.commit(&[Commit { rollouts: vec![row.clone()], ..commit(None, None) }]).unwrap();
        }
        let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 9).unwrap();
        let found: Vec<_> = found.rollouts.iter().map(figures).collect();
        assert_eq!(found, [(Outcome::Complete, 1, Some(2), Some(1))]);
    }
}

/// After the newest ReplicaSets were deleted, a later rollout gets the revision of an earlier one. Each has its row, however often
/// they are written.
#[test]
fn rollouts_of_the_same_revision_have_one_row_each() {
    let began = |index: Millis| 1_000_000 + index * 60_000;
    let rollouts = indexed().rollouts.into_iter().zip([(0, 1), (1, 2), (2, 1)]).map(|(rollout, (index, revision))| {
        let (started_millis, ended_millis) = (began(index), Some(began(index) + 30_000));
        EpisodeRow { revision, started_millis, ended_millis, ..rollout }
    });
    let rollouts: Vec<EpisodeRow> = rollouts.collect();
    for place in places() {
        let mut store = place.open(SMALL);
        for _ in 0..3 {
            store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        }
        let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 50).unwrap();
        let rows = found.rollouts.iter().map(|row| (row.number, row.revision, row.started_millis));
        assert_eq!(rows.collect::<Vec<_>>(), [(2, 1, began(2)), (1, 2, began(1)), (0, 1, began(0))]);
    }
}

/// The cause that is found is the last one that is known, however the rollout ended.
#[test]
fn the_last_known_cause_stays_and_words_find_it() {
    let one = EpisodeRow { cause: String::new(), ..indexed().rollouts.last().unwrap().clone() };
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let found = |words: &str| {
            let search = Search { text: words.to_owned(), ..Search::default() };
            let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
            found.into_iter().map(|rollout| rollout.cause).collect::<Vec<_>>()
        };
        let mut kept = |cause: &str, deadline_millis| {
            let told = EpisodeRow { cause: cause.to_owned(), deadline_millis, ..one.clone() };
            store.commit(&[Commit { rollouts: vec![told], ..commit(None, None) }]).unwrap();
            found("").pop().unwrap()
        };
        assert_eq!(kept(UNKNOWN_CAUSE, None), UNKNOWN_CAUSE);
        assert_eq!(kept("Image missing.", None), "Image missing.");
        assert_eq!(kept(UNKNOWN_CAUSE, None), "Image missing.", "that nothing is known any more is no news");
        assert_eq!(kept("Containers crash.", None), "Containers crash.", "the last one says most");
        assert_eq!(kept("", Some(1)), "Containers crash.", "it is over");
        assert_eq!((found("crash"), found("missing")), (vec!["Containers crash.".to_owned()], Vec::new()));
        assert_eq!(found("deadline").len(), 1);
    }
}

#[test]
fn rollouts_are_found_by_the_words_of_refusals_and_by_their_trouble() {
    let own = indexed().rollouts;
    let of = |before: Option<&str>, after: Option<&str>| {
        let [refusal, next_refusal] = [before, after].map(|words| words.map(str::to_owned));
        let cause = String::new();
        EpisodeRow { cause, refusal, next_refusal, losses: None, ..own.last().unwrap().clone() }
    };
    let before = of(Some("Revision 3 could not start: quota sets was used up."), None);
    let after = of(None, Some("The next revision could not start: webhook policy denied the new ReplicaSet"));
    for (rollout, words, is_trouble) in [(before, "quota sets", true), (after, "webhook policy", false)] {
        for place in places() {
            let mut store = place.open(SMALL);
            store.commit(&[Commit { rollouts: vec![rollout.clone()], ..commit(None, None) }]).unwrap();
            let found = |text: &str, had_trouble| {
                let search = Search { text: format!("\"{text}\""), had_trouble, ..Search::default() };
                let reader = Reader::new(&place.location);
                let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
                found.into_iter().map(|row| (row.refusal, row.next_refusal)).collect::<Vec<_>>()
            };
            let told = (rollout.refusal.clone(), rollout.next_refusal.clone());
            assert_eq!(found(words, false), std::slice::from_ref(&told));
            assert_eq!(found(words, true), if is_trouble { vec![told] } else { Vec::new() });
            assert_eq!(found("limit range", false), []);
        }
    }
}

#[test]
fn what_has_not_come_yet_is_not_told() {
    let Indexed { batches, uid, now, rollouts, .. } = indexed();
    let heard_millis = now.millis;
    let last = rollouts.len() - 1;
    for place in places() {
        let mut store = place.open(SMALL);
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), heard_millis, ..recorded(&batches, uid) }]).unwrap();
        let reader = Reader::new(&place.location);
        let cut = |until_millis| reader.recording("c", uid, last as u32, until_millis).unwrap().unwrap();
        let ahead = cut(Some(heard_millis + 3_600_000));
        assert_eq!((ahead.to_millis, ahead.is_settled), (heard_millis, false), "nobody has seen it");
        // An hour passes in which nothing happens.
        let heard_millis = heard_millis + 3_600_000;
        store.commit(&[Commit { heard_millis, ..commit(None, None) }]).unwrap();
        let then = cut(Some(heard_millis));
        assert_eq!((then.to_millis, then.is_settled), (heard_millis, true));
        let usual = cut(None);
        assert!(usual.is_settled);
        // Whatever is asked for after its last moment, no more is read than without it.
        let last_moment = usual.most_millis;
        store.commit(&[Commit { heard_millis: last_moment + 3_600_000, ..commit(None, None) }]).unwrap();
        assert_eq!(cut(Some(last_moment)).to_millis, last_moment);
        assert_eq!((cut(Some(last_moment + 1)).to_millis, usual.to_millis < last_moment), (usual.to_millis, true));
    }
}

/// Rows are made for some Deployments at a time; a program that ends leaves none for later.
#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_very_many_workloads_are_there_when_the_program_ends() {
    let folder = tempfile::tempdir().unwrap();
    let options = in_folder(folder.path());
    let archive = Archive::start(options.clone());
    let (_hub, events) = tap::start(Some(&archive), "c", &[], Arc::default(), Retention::default());
    let observed = |fact: Fact| Observed { at_millis: clock::now_millis(), fact: Some(fact) };
    let listed =
        Kind::ALL.map(|kind| Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    feed(&events, listed.into_iter().map(observed).collect()).await;
    for number in 1..=450 {
        let (Fact::Deployment(mut deployment, _), Fact::ReplicaSet(mut set, _)) =
            (web(1, [1, 1, 0]), set(1, 0, Seen::Added))
        else {
            unreachable!()
        };
        let uid = Uid::from_bits(number);
        (deployment.meta.uid, deployment.meta.name) = (uid, format!("web-{number}"));
        (set.meta.uid, set.meta.name) = (Uid::from_bits(1_000 + number), format!("web-{number}-1"));
        set.meta.controller = Some(uid);
        let facts = [Fact::Deployment(deployment, Seen::Added), Fact::ReplicaSet(set, Seen::Added)];
        feed(&events, facts.map(observed).into()).await;
    }
    archive.checkpoint().await;
    archive.close().await;
    let found = tokio::task::block_in_place(|| {
        Reader::new(&options.location).search(&Search::default(), &Permissions::All, None, 999).unwrap()
    });
    assert_eq!(found.rollouts.len(), 450);
}
