//! Helpers of several test modules, and the recordings of a real control plane.

pub mod addresses;
pub mod asking_store;
pub mod audit;
pub mod chaos;
pub mod damage;
pub mod day;
pub mod fed;
pub mod heard;
pub mod invariants;
pub mod network;
pub mod played;
pub mod postgres;
pub mod reviewer;
pub mod side;
pub mod simulated;
pub mod sqlite;
pub mod strangers;
pub mod until;

use std::path::{Path, PathBuf};

/// Long sets run completely, as `cargo xtask nightly` asks for; else a sample of each runs.
pub fn is_whole() -> bool {
    std::env::var_os("ROLLCAST_TEST_WHOLE").is_some()
}

/// The text of the recording of that name.
pub fn recording(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/traces/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Name and text of each recording, by name.
pub fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}
