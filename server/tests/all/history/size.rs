//! How much room history takes.

use server::history::options::Limits;
use server::history::sqlite::Sqlite;
use server::history::store::Store;

use crate::common;
use crate::common::day::{MOST_BYTES, PODS, ROLLOUTS, keep};

/// What the rollouts of these tests take, measured: the same in every run, for what is written is made by chance that always begins
/// alike. Of a part of a day, and of a whole one.
const MEASURED_BYTES: [u64; 2] = [1_880_064, 9_400_320];

/// A fifth of a day, or the whole of it by night. How long it takes is told by `cargo run --release --example kept`.
#[test]
fn a_day_of_rollouts_takes_no_more_room_than_it_may() {
    let is_whole = common::is_whole();
    let many = if is_whole { ROLLOUTS } else { ROLLOUTS / 5 };
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let kept = keep(&mut store, many);
    assert!(kept.events as u64 > many * PODS * 8 && kept.rollouts.len() as u64 == many, "{}", kept.events);
    let (bytes, most) = (store.bytes().unwrap(), MOST_BYTES * many / ROLLOUTS);
    assert!(bytes <= most, "{bytes} of {most} bytes for {many} rollouts of {PODS} pods");
    // Long before that is reached, somebody should know why it grows; who makes it smaller writes down the new figure.
    let measured = MEASURED_BYTES[usize::from(is_whole)];
    let around = measured / 4 * 3..=measured / 4 * 5;
    assert!(around.contains(&bytes), "{bytes} bytes for {many} rollouts of {PODS} pods, measured were {measured}");
    println!("{bytes} bytes, measured were {measured}, at most {most}");
}
