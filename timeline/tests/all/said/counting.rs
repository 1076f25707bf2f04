//! When pods that are ready count.

use crate::made::{Web, condition};
use timeline::Uid;
use timeline::fact::ConditionStatus;

#[test]
fn ready_for_long_enough_is_told_by_the_clock_of_the_cluster() {
    // Our clock is 30 s behind the cluster's, then 30 s ahead.
    for skew in [-30_000, 30_000] {
        let mut web = Web::live(1).at(100_000);
        for number in 0..40 {
            // Objects that are made while we watch tell how far the clocks are apart.
            web.add_pod(300 + number, 99, |pod| pod.meta.created_at_millis = 100_000 - skew);
        }
        web.set(2, |set| set.now.min_ready_seconds = 10);
        let mut ready = condition(ConditionStatus::True, "", "");
        ready.last_transition_millis = Some(100_000 - skew);
        web.add_pod(200, 2, |pod| {
            pod.meta.created_at_millis = 100_000 - skew;
            pod.ready = Some(ready);
        });
        let state = |web: &Web| web.timeline.model().pods.get(&Uid::from_bits(200)).unwrap().state().name();
        assert_eq!(state(&web), "ready", "skew {skew}");
        let due = web.timeline.next_due_millis().unwrap();
        assert!((109_000..=111_000).contains(&due), "skew {skew}: due at {due}");
        web.timeline.tick(111_000);
        assert_eq!(state(&web), "available", "skew {skew}");
    }
}

#[test]
fn pods_count_by_the_seconds_that_their_replica_set_asks_for_now() {
    let mut web = Web::live(2).at(20_000);
    let ready_at = |web: &mut Web, number: u128, since: i64| {
        web.pod(number, |pod| pod.ready.as_mut().unwrap().last_transition_millis = Some(since));
    };
    ready_at(&mut web, 100, 5_000);
    ready_at(&mut web, 101, 18_000);
    let states = |web: &Web| {
        [100, 101].map(|number| web.timeline.model().pods.get(&Uid::from_bits(number)).unwrap().state().name())
    };
    assert_eq!(states(&web), ["available", "available"]);
    // More seconds: one of them is not ready for so long yet.
    web.set(2, |set| set.now.min_ready_seconds = 10);
    assert_eq!(states(&web), ["available", "ready"]);
    assert_eq!(web.view().counts.available, 1);
    assert_eq!(web.timeline.next_due_millis(), Some(28_000));
    // Fewer: it counts at once.
    web.set(2, |set| set.now.min_ready_seconds = 1);
    assert_eq!(states(&web), ["available", "available"]);
    assert_eq!(web.timeline.next_due_millis(), None);
}
