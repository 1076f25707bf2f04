//! Two that watch the same two clusters, of which each writes one.

use std::sync::Arc;

use server::history::store::{Commit, CommitResult};
use timeline::Millis;

use super::{commit, existing, kept_of, open, thirds, whole};
use crate::common::postgres::shared;

fn of(cluster: &str, number: u64, third: &(Millis, Millis, String)) -> Commit {
    Commit { cluster: cluster.into(), ..commit(number, third) }
}

fn clusters(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

fn written(written: CommitResult) -> Vec<Arc<str>> {
    written.clusters.into_iter().collect()
}

#[test]
#[ignore = "nightly"]
fn each_writes_the_cluster_that_it_has_and_the_one_that_stays_takes_the_other_over() {
    let (database, server) = shared().named_server();
    let (mut first, mut second) = (open(&server), open(&server));
    let thirds = thirds();
    assert_eq!(written(first.commit(&[of("a", 1, &thirds[0])]).unwrap()), clusters(&["a"]));
    assert_eq!(written(second.commit(&[of("b", 1, &thirds[0])]).unwrap()), clusters(&["b"]));
    // Each sees the other cluster as well, and leaves it to the one who has it.
    assert_eq!(written(first.commit(&[of("b", 2, &thirds[0])]).unwrap()), clusters(&[]));
    assert_eq!(written(second.commit(&[of("a", 2, &thirds[0])]).unwrap()), clusters(&[]));
    let both = |number, third| [of("a", number, third), of("b", number, third)];
    let mine = first.commit(&both(3, &thirds[1])).unwrap();
    assert!(mine.bytes == of("a", 3, &thirds[1]).bytes() && !mine.is_takeover, "only what is written is counted");
    assert_eq!(written(mine), clusters(&["a"]));
    assert_eq!(written(second.commit(&both(3, &thirds[1])).unwrap()), clusters(&["b"]));
    let batches = |name: &str| {
        let of = format!(
            "SELECT count(*) FROM rollcast.batches WHERE cluster = (SELECT id FROM rollcast.clusters WHERE name = '{name}')"
        );
        shared().sql(&database, &of)
    };
    assert_eq!([batches("a"), batches("b")], ["2", "2"], "nothing is there twice");
    // The first one ends without a word.
    drop(first);
    let mut number = 4;
    let taken = loop {
        let nothing_new = Commit { lines: None, ..of("b", number, &thirds[1]) };
        let taken = second.commit(&[of("a", number, &thirds[2]), nothing_new]).unwrap();
        number += 1;
        if taken.clusters.len() == 2 {
            break taken;
        }
        assert_eq!(written(taken), clusters(&["b"]), "its own goes on");
    };
    assert!(taken.is_takeover, "what came before is written anew");
    assert_eq!(written(second.commit(&[of("b", number, &thirds[2])]).unwrap()), clusters(&["b"]));
    let whole = whole(&thirds);
    let gaps = ["a", "b"].map(|cluster| {
        let model = kept_of(&mut *second, cluster);
        assert_eq!(existing(&model), existing(whole.model()), "{cluster}");
        model.deployments.values().flat_map(|known| known.gaps.iter().map(|gap| gap.from_millis)).collect::<Vec<_>>()
    });
    assert_eq!(gaps, [vec![thirds[1].1], vec![]], "only the cluster that changed hands has a gap");
}
