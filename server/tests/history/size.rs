//! How much room history takes.

use server::history::options::Limits;
use server::history::sqlite::Sqlite;
use server::history::store::Store;

use crate::day::{MOST_BYTES, PODS, ROLLOUTS, keep};

/// A fifth of a day, or the whole of it with `ROLLCAST_TEST_WHOLE`. How long it takes is told by `cargo run --release --example kept`.
#[test]
fn a_day_of_rollouts_takes_no_more_room_than_it_may() {
    let many = if std::env::var_os("ROLLCAST_TEST_WHOLE").is_some() { ROLLOUTS } else { ROLLOUTS / 5 };
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let kept = keep(&mut store, many);
    assert!(kept.events as u64 > many * PODS * 8 && kept.rollouts.len() as u64 == many, "{}", kept.events);
    assert!(kept.took.as_nanos() > 0);
    let (bytes, most) = (store.bytes().unwrap(), MOST_BYTES * many / ROLLOUTS);
    assert!(bytes <= most, "{bytes} of {most} bytes for {many} rollouts of {PODS} pods");
    println!("{bytes} of {most} bytes");
}
