//! What of the log and of episodes goes with its age or for its size, and what stays.

use server::cli::commands::history as command;
use server::feed::recording::Recording;
use server::history::batch::pack;
use server::history::options::Limits;
use server::history::recorder::Recorder;
use server::history::sql::Reader;
use server::history::store::{Commit, Store};
use timeline::Millis;
use timeline::episodes::EpisodeRow;

use crate::history::lines::{line, listed};
use crate::history::{Indexed, SMALL, checkpoint, commit, existing, indexed, longest, places, play, resumed};

fn written(store: &mut dyn Store, batches: &[(Millis, Millis, String)]) {
    for (from, to, text) in batches {
        store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
    }
}

/// Everything that exists is known without the lines that told of it, and without a checkpoint.
#[test]
fn what_is_too_old_goes_and_what_exists_stays() {
    for place in places() {
        let mut store = place.open(Limits { log_millis: 1_000, ..SMALL });
        let batches = longest();
        written(&mut *store, &batches);
        let (whole, _) = play(&batches);
        let mut recorder = Recorder::default();
        batches.iter().for_each(|(.., text)| recorder.record(text));
        for uid in whole.model().deployments.keys() {
            assert_eq!(recorder.settle(*uid), None, "nothing said that it was not at rest");
        }
        store.commit(&[Commit { snapshots: recorder.pending_writes().1, ..commit(None, None) }]).unwrap();
        while store.tidy(batches.last().unwrap().1 + 2_000).unwrap() {}
        let stored = store.resume("c", false).unwrap().unwrap();
        assert_eq!(stored.batches.len(), 1, "what existed before the log, and no log");
        let there = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with(" gone")).collect::<Vec<_>>();
        let resumed = resumed(&mut *store, false);
        assert_eq!(there(existing(resumed.timeline.model())), there(existing(whole.model())));
    }
}

/// After an upgrade, a restart does not play the log of a whole day before it shows anything.
#[test]
fn without_a_checkpoint_the_newest_part_of_the_log_is_read_and_what_exists_is_known() {
    for (place, is_at_rest) in [true, false].into_iter().flat_map(|rest| places().into_iter().map(move |of| (of, rest)))
    {
        let batches = longest();
        let (whole, _) = play(&batches);
        let packed: Vec<u64> = batches.iter().map(|(.., text)| pack(text).unwrap().len() as u64).collect();
        let replayed_bytes = packed.iter().rev().take(3).sum();
        let mut store = place.open(Limits { replayed_bytes, ..SMALL });
        written(&mut *store, &batches);
        let mut recorder = Recorder::default();
        for (index, (.., text)) in batches.iter().enumerate() {
            recorder.record(text);
            if index == batches.len() / 2 && !is_at_rest {
                whole.model().deployments.keys().for_each(|uid| recorder.begin_episode(*uid));
            }
        }
        if is_at_rest {
            whole.model().deployments.keys().for_each(|uid| assert_eq!(recorder.settle(*uid), None));
        }
        let (episodes, snapshots) = recorder.pending_writes();
        assert_eq!(episodes.is_empty(), is_at_rest);
        store.commit(&[Commit { episodes, snapshots, ..commit(None, None) }]).unwrap();
        let stored = store.resume("c", false).unwrap().unwrap();
        assert_eq!(stored.batches.len(), 1 + 3, "the objects before them, too");
        let there = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with(" gone")).collect::<Vec<_>>();
        let resumed = resumed(&mut *store, false);
        assert_eq!(there(existing(resumed.timeline.model())), there(existing(whole.model())));
    }
}

#[test]
fn the_last_rollout_of_what_exists_stays_pod_by_pod_and_others_go_with_their_age_or_for_their_size() {
    let Indexed { batches, uid, now, rollouts, .. } = indexed();
    let last = rollouts.len() - 1;
    for (place, is_by_age) in
        [true, false].into_iter().flat_map(|by| places().into_iter().map(move |place| (place, by)))
    {
        let mut store = place.open(SMALL);
        written(&mut *store, &batches);
        // Each rollout is an episode of its own.
        let begins = rollouts.iter().skip(1).map(|rollout| rollout.started_millis - 500).chain([Millis::MAX]);
        let (mut recorder, mut rest) = (Recorder::default(), batches.iter().peekable());
        for begin in begins {
            while let Some((.., text)) = rest.next_if(|(from, ..)| *from < begin) {
                recorder.record(text);
                recorder.begin_episode(uid);
            }
            let episodes = recorder.settle(uid).into_iter().collect();
            let (_, snapshots) = recorder.pending_writes();
            store.commit(&[Commit { episodes, snapshots, rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        }
        let reader = Reader::new(&place.location);
        let cut = |number: usize| reader.recording("c", uid, number as u32, None).unwrap();
        let as_before = cut(last).unwrap().text;
        drop(store);
        let limits = if is_by_age { Limits { age_millis: 1_000, ..SMALL } } else { Limits { bytes: 1, ..SMALL } };
        let mut store = place.open(limits);
        while store.tidy(if is_by_age { now.millis + 60_000 } else { 0 }).unwrap() {}
        let known = reader.rollouts("c", uid, None, 9).unwrap();
        assert_eq!((known[0].revision, known[0].is_kept), (3, true));
        assert_eq!(known.len(), 1, "the others are too old, or there is no room for them");
        assert_eq!(cut(last).unwrap().text, as_before);
        assert!(Recording::read(&as_before).play().model().pods.len() > 3);
        assert!(command::check(&place.options()).is_ok());
        place.damage_episodes();
        let why = command::check(&place.options()).unwrap_err().to_string();
        assert!(why.starts_with(&format!("an episode of workload {uid} in cluster c: ")), "{why}");
        // Once the workload goes, all of it goes in time.
        let deleted = rollouts.iter().map(|rollout| EpisodeRow { is_deleted: true, ..rollout.clone() }).collect();
        store.commit(&[Commit { rollouts: deleted, ..commit(None, None) }]).unwrap();
        drop(store);
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        while store.tidy(now.millis + 60_000).unwrap() {}
        assert!(cut(last).is_none() && reader.workloads(uid).unwrap().is_empty());
    }
}

/// Batches that a checkpoint includes may all be gone by the next start: what follows has higher numbers, or nobody would read it again.
#[test]
fn what_follows_a_checkpoint_is_read_though_all_batches_before_it_are_gone() {
    for place in places() {
        let mut store = place.open(Limits { log_millis: 1_000, ..SMALL });
        let (text, later) = (listed(1_000), line(900_000, "Pod", 12, "ADDED"));
        let (timeline, history) = play(&[(1_000, 1_000, text.clone())]);
        let checkpoint = checkpoint(&timeline, &history, (1_000, 1_000));
        store.commit(&[commit(Some((1_000, 1_000, &text)), checkpoint)]).unwrap();
        while store.tidy(800_000).unwrap() {}
        drop(store);
        let mut store = place.open(SMALL);
        assert_eq!(store.last_response("c").unwrap(), Some(1_000));
        store.commit(&[commit(Some((900_000, 900_000, &later)), None)]).unwrap();
        let stored = store.resume("c", true).unwrap().unwrap();
        assert!(stored.checkpoint.is_some());
        let [batch] = &stored.batches[..] else { panic!("one batch: {:?}", stored.batches) };
        assert_eq!(batch.text().unwrap(), later);
    }
}
