//! What the index tells of rollouts that began or ended in a gap.

use server::access::permissions::Permissions;
use server::history::sql::Reader;
use server::history::store::Commit;
use timeline::episodes::{EpisodeRow, Search, rollout_rows};
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::{Fact, Millis, Timeline, Uid};

use crate::history::one_replica::{complete, last_row, pod, set, web};
use crate::history::{SMALL, commit, indexed, places};

/// The list after a gap tells that a rollout is over. It tells neither when it ended nor how many pods there were until then.
#[test]
fn a_rollout_that_ended_in_a_gap_has_neither_duration_nor_extremes() {
    let listed = |timeline: &mut Timeline, at: Millis, fact: Fact, gap_since_millis: Millis| {
        let Fact::Deployment(fact, _) = fact else { unreachable!() };
        let present = vec![fact.meta.uid];
        timeline.apply(at, Fact::Deployment(fact, Seen::InList));
        let (kind, namespace, gap_since_millis) = (Kind::Deployment, None, Some(gap_since_millis));
        timeline.apply(at + 5, Fact::Listed { kind, namespace, present, gap_since_millis });
    };
    let said = |timeline: &Timeline| {
        let row = last_row(timeline, 90_000);
        assert_eq!(row.first_available_millis.is_some(), row.took_millis().is_some());
        (row.result_words(), row.duration_words(), row.extremes())
    };
    let begun = || {
        let mut timeline = complete();
        for fact in [web(2, [2, 1, 1]), set(2, 0, Seen::Added), pod(2, false, Seen::Added)] {
            timeline.apply(20_000, fact);
        }
        timeline
    };
    let replaced = |gap_since_millis: Option<Millis>| {
        let mut timeline = begun();
        match gap_since_millis {
            Some(since_millis) => {
                timeline.apply(80_000, pod(2, true, Seen::InList));
                listed(&mut timeline, 80_000, web(2, [1, 1, 1]), since_millis);
            }
            None => {
                timeline.apply(80_000, pod(2, true, Seen::Modified));
                timeline.apply(80_000, web(2, [1, 1, 1]));
            }
        }
        said(&timeline)
    };
    let extremes = "1 replica, observed peak 2 pods (ceiling: 2 desired), lowest 1 available (floor: 1)";
    let seen = ("Complete after 1 min 0 s".to_owned(), "1 min 0 s".to_owned(), extremes.to_owned());
    assert_eq!(replaced(None), seen);
    let unseen = ("Complete, part not observed".to_owned(), String::new(), "1 replica".to_owned());
    assert_eq!(replaced(Some(21_000)), unseen);
    assert_eq!(replaced(Some(79_999)), unseen);
    // A gap in between leaves the duration, and a short one everything.
    let with_gap = |gap_since_millis: Millis| {
        let mut timeline = begun();
        listed(&mut timeline, 40_000, web(2, [2, 1, 1]), gap_since_millis);
        timeline.apply(80_000, pod(2, true, Seen::Modified));
        timeline.apply(80_000, web(2, [1, 1, 1]));
        said(&timeline)
    };
    let (took, replicas) = ("1 min 0 s".to_owned(), "1 replica".to_owned());
    assert_eq!(with_gap(39_005), (format!("Complete after {took}, part not observed"), took, replicas));
    assert_eq!(with_gap(39_006), seen);
    // One that was created in the gap was not complete at once.
    let mut created = Timeline::new();
    for kind in Kind::ALL {
        created.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    created.apply(79_990, set(1, 1, Seen::InList));
    listed(&mut created, 80_000, web(1, [1, 1, 1]), 21_000);
    assert_eq!(said(&created), unseen);
    // The timeline forgets the gap after a while; the row does not.
    let row = indexed().rollouts.pop().unwrap();
    for place in places() {
        let mut store = place.open(SMALL);
        for (is_part_unseen, is_long) in [(false, true), (true, false), (false, false)] {
            let ended_millis = Some(row.started_millis + 60_000);
            let rollouts = vec![EpisodeRow { is_part_unseen, ended_millis, ..row.clone() }];
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
            let longer = Search { longer_millis: Some(60_000), ..Search::default() };
            let found = Reader::new(&place.location).search(&longer, &Permissions::All, None, 9).unwrap();
            assert_eq!(found.rollouts.len(), usize::from(is_long));
        }
        // A process that began to watch in the middle of it tells of the same one.
        let [started_millis, ended_millis] = [50_000, 60_000].map(|millis| row.started_millis + millis);
        let late = EpisodeRow { started_millis, ended_millis: Some(ended_millis), ..row.clone() };
        store.commit(&[Commit { rollouts: vec![late], ..commit(None, None) }]).unwrap();
        let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 9).unwrap();
        assert_eq!((found.rollouts.len(), found.rollouts[0].took_millis()), (1, None));
    }
}

/// The page of a rollout ends before the gap in which the next one began. Its losses say that a part was not observed.
#[test]
fn a_rollout_whose_next_one_began_in_a_gap_ends_before_the_gap() {
    let mut timeline = complete();
    let Fact::Pod(mut going, _) = pod(1, true, Seen::Modified) else { unreachable!() };
    going.deletion_at_millis = Some(50_000);
    timeline.apply(20_000, Fact::Pod(going, Seen::Modified));
    let Fact::Deployment(next, _) = web(2, [1, 1, 1]) else { unreachable!() };
    timeline.apply(90_000, Fact::Deployment(next, Seen::InList));
    timeline.apply(90_000, set(2, 1, Seen::InList));
    let (kind, namespace, present) = (Kind::Deployment, None, vec![Uid::from_bits(1)]);
    timeline.apply(90_005, Fact::Listed { kind, namespace, present, gap_since_millis: Some(40_000) });
    let now = Now { millis: 200_000, skew_millis: 0 };
    let rows = rollout_rows::rollouts("c", &timeline, Uid::from_bits(1), now, 9).into_iter();
    let told = "Pod b-1-p deleted after the rollout was complete (part not observed)".to_owned();
    let rows: Vec<_> = rows.map(|row| (row.revision, row.last_millis, row.losses)).collect();
    assert_eq!(rows, [(1, Some(40_000), Some(told)), (2, None, None)]);
}
