//! Episodes: what a recorder makes of lines, and when it writes that.

use server::feed::recording::Recording;
use server::history::batch::unpack;
use server::history::episode_rows::episode_rows;
use server::history::recorder::Recorder;
use server::history::rollout_span;
use timeline::episodes::EpisodeRow;
use timeline::wire::Objects;
use timeline::{Millis, Model, Uid};

use crate::history::lines::{HOUR_MILLIS, begun, line, list_done, list_done_of, listed, web};
use crate::history::{existing, indexed, recorded};

/// An episode stands by itself: it tells of its workload what the whole stream does.
#[test]
fn an_episode_tells_of_its_workload_what_everything_told() {
    for (name, text) in crate::common::recordings() {
        let whole = Recording::read(&text).play();
        for deployment in whole.model().deployments.values() {
            let commit = recorded(&crate::history::batches(&text), deployment.uid);
            let [episode] = &commit.episodes[..] else { panic!("{name}: one episode") };
            let told = Recording::read(&unpack(&episode.body).unwrap());
            assert!(told.bad_lines.is_empty(), "{name}: {:?}", told.bad_lines);
            let told = told.play();
            let of = |model: &Model| existing(&Model::from(Objects::of(model, deployment.uid)));
            assert_eq!(of(told.model()), of(whole.model()), "{name}");
            let rollouts = |model: &Model| model.deployments.get(&deployment.uid).map(|known| known.rollouts.clone());
            assert_eq!(rollouts(told.model()), rollouts(whole.model()), "{name}");
        }
    }
}

/// Kinds are listed side by side: pods may have arrived before the ReplicaSet that is told first. The episode lasts until the last of
/// them, or nothing of it would be shown.
#[test]
fn an_episode_does_not_end_before_what_was_listed_first() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = Recorder::default();
    for (kind, number, at_millis) in [("Deployment", 1, began), ("ReplicaSet", 2, began + 27), ("Pod", 10, began + 1)] {
        recorder.record(&(line(at_millis, kind, number, "LISTED") + &list_done_of(at_millis, kind)));
    }
    recorder.begin_episode(web());
    let (episodes, _) = recorder.pending_writes();
    let [episode] = &episodes[..] else { panic!("one episode") };
    assert_eq!((episode.from_millis, episode.to_millis), (began + 27, began + 27));
    let shown = rollout_span::trim(&unpack(&episode.body).unwrap(), (began - 5_000, episode.to_millis));
    assert_eq!(Recording::read(&shown).play().model().pods.len(), 1);
}

/// The index offers a rollout as soon as it is over: its recording is written with it, though the episode goes on and was written
/// a moment ago.
#[test]
fn the_end_of_a_rollout_is_written_at_once() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    let open = indexed().rollouts.last().unwrap().clone();
    let open = EpisodeRow { uid: web(), started_millis: began, ended_millis: None, last_millis: None, ..open };
    recorder.record_rollout(&open);
    assert_eq!(recorder.pending_writes().0.len(), 1, "its begin");
    recorder.record(&line(began + 2_000, "Pod", 10, "ADDED"));
    recorder.record_rollout(&open);
    assert_eq!(recorder.pending_writes().0, [], "it was written lately");
    recorder.record(&line(began + 3_000, "Pod", 10, "MODIFIED"));
    let over = EpisodeRow { ended_millis: Some(began + 3_000), ..open };
    recorder.record_rollout(&over);
    let (written, _) = recorder.pending_writes();
    let [episode] = &written[..] else { panic!("one episode") };
    assert_eq!((episode.is_open, episode.to_millis), (true, began + 3_000));
    assert!(unpack(&episode.body).unwrap().contains("MODIFIED"));
    recorder.record(&line(began + 4_000, "Pod", 10, "MODIFIED"));
    recorder.record_rollout(&over);
    assert_eq!(recorder.pending_writes().0, [], "its end is written once");
}

/// Each write makes all of it again: the more lines there are, the longer it takes.
#[test]
fn the_longer_an_episode_goes_on_the_rarer_it_is_written() {
    let began = 1_000 * HOUR_MILLIS;
    let count_writes = |recorder: &mut Recorder, line: &str| {
        recorder.record(line);
        recorder.pending_writes().0.len()
    };
    let short = |minute: Millis| line(began + minute * 60_000, "Pod", 10, "MODIFIED");
    let mut recorder = begun(began);
    let by_hour = [0, 1, 2, 3, 4, 5, 6, 7].map(|hour| {
        let minutes = (0..60).step_by(5).map(|minute| hour * 60 + minute);
        minutes.map(|minute| count_writes(&mut recorder, &short(minute))).sum::<usize>()
    });
    assert_eq!(by_hour, [10, 5, 4, 4, 4, 4, 4, 4]);
    // With the fourth line there are more than 16 MB.
    let long = |minute: Millis| short(minute).replace("node-1", &"n".repeat(4 << 20));
    let mut recorder = begun(began);
    let written = (0..30).filter(|minute| count_writes(&mut recorder, &long(*minute)) > 0);
    assert_eq!(written.collect::<Vec<Millis>>(), [0, 1, 2, 17]);
}

/// Each takes a while to make, and the lines of the log wait for it.
#[test]
fn of_very_many_episodes_that_go_on_some_are_written_at_a_time() {
    let mut recorder = Recorder::default();
    let uid = |number: u64| -> Uid { format!("00000000-0000-4000-8000-{number:012}").parse().unwrap() };
    let tell = |recorder: &mut Recorder, number: u64, at_millis: Millis| {
        recorder.record(&line(at_millis, "Deployment", number, "MODIFIED"));
        recorder.begin_episode(uid(number));
    };
    (1..=70).for_each(|number| tell(&mut recorder, number, 1_000));
    assert_eq!([(); 3].map(|()| recorder.pending_writes().0.len()), [64, 6, 0]);
    (1..=71).for_each(|number| tell(&mut recorder, number, 20_000));
    let written: Vec<Uid> = recorder.pending_writes().0.iter().map(|episode| episode.uid).collect();
    assert!(written.len() < 70 && written.contains(&uid(71)), "what was never written comes first: {written:?}");
    let mut recorder = Recorder::default();
    let long = |line: String| line.replace("node-1", &"n".repeat(3 << 20));
    for number in 1..=3 {
        recorder.record(&long(line(1_000, "Deployment", number, "MODIFIED")));
        recorder.begin_episode(uid(number));
    }
    assert_eq!([(); 3].map(|()| recorder.pending_writes().0.len()), [2, 1, 0], "they have more than 4 MB");
}

/// After a restart, or a list after a gap, every workload has lines that are no begin of an episode.
#[test]
fn of_very_many_workloads_that_are_quiet_some_rest_at_a_time() {
    let mut recorder = Recorder::default();
    for at_millis in [1_000, 1_000 + 7 * HOUR_MILLIS] {
        (1..=70).for_each(|number| recorder.record(&line(at_millis, "Deployment", number, "MODIFIED")));
    }
    assert_eq!([(); 3].map(|()| recorder.pending_writes().1.len()), [70, 6, 0], "the others when they rest");
}

/// One that goes on for ten hours loses nothing of what is there at its end; step by step it is told for six hours.
#[test]
fn of_an_episode_that_goes_on_for_long_the_begin_is_whole_and_what_exists_at_the_end_is_there() {
    let uid = web();
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    for half in 0..=20 {
        let at_millis = began + half * HOUR_MILLIS / 2;
        // One stays, and another one comes and goes.
        let number = 10 + half.unsigned_abs() * 2;
        recorder.record(&line(at_millis, "Pod", number, "ADDED"));
        recorder.record(&line(at_millis, "Pod", number + 1, "ADDED"));
        recorder.record(&line(at_millis + 1_000, "Pod", number + 1, "DELETED"));
        let (open, _) = recorder.pending_writes();
        assert!(open.iter().all(|episode| episode.is_open && episode.from_millis == began));
    }
    let episode = recorder.settle(uid).unwrap();
    assert!(!episode.is_open);
    let made = Recording::read(&unpack(&episode.body).unwrap()).play();
    let pods = || made.model().pods.values();
    let there: Vec<&str> = pods().filter(|pod| pod.gone_millis().is_none()).map(|pod| pod.name.as_str()).collect();
    let expected: Vec<String> = (0..=20).map(|half| format!("web-1-{}", 10 + half * 2)).collect();
    assert_eq!(there, expected, "all that came until its end");
    let came = |number: u64| {
        let name = format!("web-1-{number}");
        pods().find(|pod| pod.name == name).map(|pod| pod.states[0].1)
    };
    assert_eq!(came(11 + 12 * 2), Some(began + 6 * HOUR_MILLIS), "six hours are told step by step");
    assert_eq!(came(11 + 13 * 2), None, "later only what stayed is");
    let [gap] = made.model().deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert_eq!(gap.from_millis, began + 6 * HOUR_MILLIS);
    assert_eq!(gap.to_millis, began + 10 * HOUR_MILLIS + 1_000);
    // What follows is the next episode, which begins with what exists.
    recorder.record(&line(began + 11 * HOUR_MILLIS, "Pod", 100, "ADDED"));
    recorder.begin_episode(uid);
    let next = recorder.settle(uid).unwrap();
    let made = Recording::read(&unpack(&next.body).unwrap()).play();
    assert_eq!(made.model().pods.len(), 22);
    assert_eq!(recorder.settle(uid), None);
}

/// A controller that annotates a pod each minute changes nothing that is shown, and the workload stays at rest: its lines take no room away
/// from the next episode.
#[test]
fn an_episode_is_whole_after_hours_of_changes_that_show_nothing() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = Recorder::default();
    recorder.record(&listed(began));
    for minute in 1..480 {
        recorder.record(&line(began + minute * 60_000, "Pod", 10, "MODIFIED"));
        recorder.pending_writes();
    }
    recorder.record(&line(began + 8 * HOUR_MILLIS, "Pod", 12, "ADDED"));
    recorder.begin_episode(web());
    recorder.record(&line(began + 8 * HOUR_MILLIS + 1_000, "Pod", 12, "DELETED"));
    let episode = recorder.settle(web()).unwrap();
    assert!(episode.from_millis > began + 6 * HOUR_MILLIS);
    let made = Recording::read(&unpack(&episode.body).unwrap()).play();
    let gone: Vec<_> = made.model().pods.values().map(|pod| (pod.name.clone(), pod.gone_millis())).collect();
    let ended_millis = Some(began + 8 * HOUR_MILLIS + 1_000);
    assert_eq!(gone, [("web-1-10".to_owned(), None), ("web-1-12".to_owned(), ended_millis)]);
    assert!(made.model().deployments.values().all(|known| known.gaps.is_empty()));
}

/// However much happens, a row that is read for a viewer stays small, and nothing that exists at its end is missing.
#[test]
fn an_episode_has_at_most_16_mb_of_lines_and_what_exists_at_its_end() {
    let uid = web();
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    let mut told = 0;
    for number in 0..31_000 {
        let line = line(began + number, "Pod", 10 + number.unsigned_abs() % 40, "MODIFIED");
        told += line.len();
        recorder.record(&line);
    }
    assert!(told > 17 << 20, "{told}");
    let text = unpack(&recorder.settle(uid).unwrap().body).unwrap();
    assert!((15 << 20..17 << 20).contains(&text.len()), "{}", text.len());
    let made = Recording::read(&text).play();
    assert_eq!(made.model().pods.len(), 40);
    let [gap] = made.model().deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert_eq!(gap.to_millis, began + 30_999);
}

/// An owner counts within its namespace only: what names it elsewhere is in no recording of it.
#[test]
fn what_claims_to_belong_to_a_workload_of_another_namespace_is_not_in_its_episode() {
    let uid = web();
    let mut recorder = Recorder::default();
    let elsewhere = |line: String| line.replace("\"shop\"", "\"strange\"").replace("web-1", "strange-1");
    // Before the Deployment is seen, and after.
    recorder.record(&elsewhere(line(500, "ReplicaSet", 7, "ADDED")));
    recorder.record(&line(1_000, "Deployment", 1, "ADDED"));
    recorder.record(&line(1_000, "ReplicaSet", 2, "ADDED"));
    recorder.begin_episode(uid);
    recorder.record(&line(2_000, "Pod", 10, "ADDED"));
    recorder.record(&elsewhere(line(2_500, "Pod", 11, "ADDED")));
    recorder.record(&elsewhere(line(2_500, "ReplicaSet", 8, "ADDED")));
    recorder.record(&line(3_000, "Pod", 12, "ADDED"));
    let text = unpack(&recorder.settle(uid).unwrap().body).unwrap();
    assert!(!text.contains("strange"), "{text}");
    assert_eq!(Recording::read(&text).play().model().pods.len(), 2);
}

/// A list after a time in which nobody looked, in which everything of a namespace is missing: that is no deletion which could be told.
#[test]
fn what_is_missing_after_a_gap_is_no_deletion() {
    let uid = web();
    let text = listed(1_000) + &list_done(900_000, Some(600_000));
    let timeline = Recording::read(&text).play();
    assert!(timeline.model().deployments.values().all(|known| known.deleted_millis == Some(900_000)));
    assert_eq!(episode_rows(&text, uid, (1_000, 900_000), None, false), [None, None]);
}
