//! A cluster whose store was restored from a backup: what was deleted since exists again, with the same UIDs.

use crate::made::{WEB, Web};
use crate::said::told::since;
use timeline::Uid;
use timeline::model::PodState;

/// The Deployment was deleted with all that belongs to it, and everything is listed again.
fn restored() -> Web {
    let mut web = Web::live(3);
    let backup = web.first_listed();
    web.wait_until(60_000).delete_deployment();
    web.delete_set(2);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.now = 111_000;
    web.restore(&backup);
    web.relisted(100_000);
    web
}

#[test]
fn what_a_list_says_exists_exists() {
    let web = restored();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    let model = web.timeline.model();
    assert_eq!(model.find("shop", "web").map(|found| found.deleted_millis), Some(None));
    assert_eq!(model.replica_sets.get(&Uid::from_bits(2)).unwrap().removed_because, None);
    let pod = model.pods.get(&Uid::from_bits(100)).unwrap();
    assert_eq!((pod.state(), pod.end_reason, pod.first_seen_millis()), (PodState::Available, None, 111_000));
    let gap = model.deployments.get(&WEB).unwrap().gaps.last().unwrap();
    assert_eq!((gap.from_millis, gap.to_millis), (60_000, 111_000));
    let back = "111000 The Deployment was gone for 51 s and is there again, as after a restore of the cluster's data.";
    assert!(since(&web, 60_001).iter().any(|line| line == back), "{:#?}", since(&web, 60_001));
}

#[test]
fn what_is_there_again_goes_on_as_if_it_had_never_gone() {
    let mut web = restored().at(130_000);
    web.kill_pod(100);
    let told = "130000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1.";
    assert_eq!(since(&web, 130_000), [told]);
    web.delete_pod(100);
    web.add_ready_pod(103, 2);
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    web.wait_until(140_000).delete_deployment();
    assert!(web.verdict().starts_with("[Ended]"), "{}", web.verdict());
}

#[test]
fn a_late_word_of_what_is_gone_brings_nothing_back() {
    let mut web = Web::live(1).at(60_000);
    web.delete_deployment();
    web.deployment(|_| {});
    assert!(web.verdict().starts_with("[Ended]"), "{}", web.verdict());
}
