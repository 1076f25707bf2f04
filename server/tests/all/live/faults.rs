//! Every fault that Rollcast survives, with its promise and what it costs; `docs/faults.md` is made of them.

mod actions;
mod api_server;
mod document;
mod elsewhere;
pub mod stage;
pub mod viewer;

use std::any::Any;
use std::path::Path;
use std::sync::Mutex;

use stage::{Measured, Row};

use crate::imports::sources;

/// A run of a fault: with lists that are streamed or in pages, and its cost, or why a promise was not kept.
type Run = (&'static Row, bool, Result<Measured, String>);

/// Plays each fault with lists in pages and streamed, each in a world of its own, two at a time.
fn play(rows: &'static [Row]) -> Vec<Run> {
    let ways = |row: &'static Row| {
        let is_played = move |streams_lists: &bool| row.streams_lists.is_none_or(|only| only == *streams_lists);
        [false, true].into_iter().filter(is_played).map(move |streams_lists| (row, streams_lists))
    };
    let (left, played) = (Mutex::new(rows.iter().flat_map(ways).enumerate()), Mutex::new(Vec::new()));
    let play = |row, streams_lists| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(stage::play(row, streams_lists))
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((place, (row, streams_lists))) = left.lock().unwrap().next() else { return };
                    let measured = std::panic::catch_unwind(|| play(row, streams_lists));
                    let measured = measured.map_err(|panic| message(&*panic));
                    played.lock().unwrap().push((place, (row, streams_lists, measured)));
                }
            });
        }
    });
    let mut played = played.into_inner().unwrap();
    played.sort_by_key(|(place, _)| *place);
    played.into_iter().map(|(_, run)| run).collect()
}

pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").chars().take(900).collect()
}

#[test]
fn every_fault_of_the_api_server_and_the_network_is_survived_as_promised() {
    let mut costs: Vec<(&Row, Measured)> = Vec::new();
    let mut failures = Vec::new();
    for (row, streams_lists, measured) in play(api_server::ROWS) {
        match measured {
            Ok(measured) => match costs.last_mut().filter(|(last, _)| last.fault == row.fault) {
                Some((_, most)) => *most = most.max(measured),
                None => costs.push((row, measured)),
            },
            Err(why) => {
                let lists = if streams_lists { "streamed" } else { "in pages" };
                failures.push(format!("{} {}, lists {lists}: {why}", row.number, row.fault));
            }
        }
    }
    assert!(failures.is_empty(), "{} promises were not kept\n{}", failures.len(), failures.join("\n"));
    document::check(&document::text(costs.into_iter()));
}

#[test]
fn tests_that_play_other_faults_exist_and_no_fault_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "tests", "../app/src"].map(|folder| sources(&root.join(folder)));
    let texts: String = folders.into_iter().flat_map(std::collections::BTreeMap::into_values).collect();
    for test in elsewhere::ROWS.iter().flat_map(|row| row.tests) {
        assert!(texts.contains(&format!("fn {test}(")), "{test} is not there");
    }
    let played = api_server::ROWS.iter().map(|row| row.number).chain(elsewhere::ROWS.iter().map(|row| row.number));
    let played: Vec<&str> = played.collect();
    for number in 1..=36 {
        assert!(played.contains(&format!("F{number}").as_str()), "F{number} is played by no test");
    }
}
