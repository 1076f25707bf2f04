//! `docs/faults.md`: written by the test when `ROLLCAST_TEST_WRITE_FAULTS` is set, and compared by it otherwise, without the figures.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::elsewhere;
use super::stage::{Measured, Row};

const INTRODUCTION: &str = "\
# Faults

A test plays each fault, and measured the figures (`server/tests/all/live/faults.rs`).

## API server and network

A watched Deployment with six pods, in virtual time, at the times and limits of the product, with no viewer. During a
fault a pod is replaced; where the watch cannot tell of it, a pod is deleted as well. After each fault:

- at most 5 s after its end, the model equals that of a server that has just listed everything;
- a viewer's copy equals the server's, no object returned from its end, and states are in order;
- where the table says so, a gap covers all changes of that time; otherwise there is none, and no watch lost a change;
- one watch made at most 60 requests in any minute; a list counts once, and again for each page that is requested again;
- if only pods are touched, a change of a Deployment arrived at most 10 % later than before.

An API server that streams lists is played as well as one that lists in pages, wherever the fault can meet both; the
figures are the higher ones of the two.

Said: time until pages say that the cluster is not live, or what is forbidden. Right: time from the end of the fault
until the model is right and the cluster is live. Requests: the most of one watch in a minute.

| | fault | promise | gap | said | right | requests |
|---|---|---|---|---|---|---|
";

const ELSEWHERE: &str = "
## Credentials, viewers and storage

[history.md](history.md) has more faults of storage.

| | fault | promise | tests |
|---|---|---|---|
";

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The page with the figures of a run.
pub fn text<'r>(rows: impl Iterator<Item = (&'r Row, Measured)>) -> String {
    let mut page = INTRODUCTION.to_owned();
    for (row, measured) in rows {
        let Row { number, fault, promise, has_gap, .. } = row;
        let gap = if *has_gap { "yes" } else { "no" };
        let said = measured.said.map_or_else(|| "not stale".to_owned(), seconds);
        let (right, requests) = (seconds(measured.converged), measured.requests);
        let _ = writeln!(page, "| {number} | {fault} | {promise} | {gap} | {said} | {right} | {requests} |");
    }
    page += ELSEWHERE;
    for elsewhere::Row { number, fault, promise, tests } in elsewhere::ROWS {
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(page, "| {number} | {fault} | {promise} | {} |", tests.join(", "));
    }
    page
}

/// The page without its figures.
fn exact(text: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        // A table's line begins and ends with a bar.
        if cells.len() == 9 { cells[..5].join("|") } else { line.to_owned() }
    };
    text.lines().map(of_line).collect()
}

/// Writes the page, or compares it.
pub fn check(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    if std::env::var_os("ROLLCAST_TEST_WRITE_FAULTS").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    let is_same = exact(&known) == exact(text);
    assert!(is_same, "docs/faults.md says something else; set ROLLCAST_TEST_WRITE_FAULTS=1 to write it");
}
