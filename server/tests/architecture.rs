//! Who may depend on whom: any other arrow between the crates is a mistake, and so is a circle of modules that are named here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

#[test]
fn crates_depend_in_one_direction() {
    let output = Command::new(env!("CARGO")).args(["metadata", "--format-version=1", "--no-deps"]).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let dependencies: BTreeMap<&str, Vec<&str>> = packages
        .iter()
        .map(|package| {
            let names = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|d| d["kind"].is_null())
                .map(|d| d["name"].as_str().unwrap());
            (package["name"].as_str().unwrap(), names.collect())
        })
        .collect();
    let ours = |of: &str| -> Vec<&str> {
        dependencies[of].iter().copied().filter(|name| dependencies.contains_key(name)).collect()
    };
    assert_eq!(ours("timeline"), Vec::<&str>::new());
    assert_eq!(ours("app"), ["timeline"]);
    assert_eq!(ours("server"), ["app", "simcluster", "timeline"]);
    assert_eq!(ours("simcluster"), Vec::<&str>::new());
    assert_eq!(ours("xtask"), Vec::<&str>::new());
    for (of, forbidden) in [
        ("timeline", &["tokio", "kube", "k8s-openapi", "leptos", "axum"][..]),
        ("app", &["tokio", "kube", "k8s-openapi", "axum"]),
    ] {
        for name in forbidden {
            assert!(!dependencies[of].contains(name), "{of} must not know {name}");
        }
    }
}

/// By module of a crate: those that its code names.
fn arrows(sources: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let first = path.strip_prefix(sources).unwrap().iter().next().unwrap().to_str().unwrap();
                let code = std::fs::read_to_string(&path).unwrap();
                let code = code.split("#[cfg(test)]").next().unwrap().lines();
                let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
                let code = code.join(" ");
                let of = arrows.entry(first.trim_end_matches(".rs").to_owned()).or_default();
                for named in code.split("crate::").skip(1) {
                    // `crate::hub::Handle`, or `crate::{assets, http}`.
                    let group = named.strip_prefix('{').and_then(|rest| rest.split('}').next());
                    for name in group.unwrap_or(named).split(", ").take(if group.is_some() { usize::MAX } else { 1 }) {
                        of.extend(name.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().map(str::to_owned));
                    }
                }
            }
        }
    }
    arrows
}

/// The way along arrows from one module to another, if there is one.
fn way(arrows: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> Option<Vec<String>> {
    assert!(arrows.contains_key(from) && arrows.contains_key(to), "{from} and {to} are modules");
    let (mut known, mut ways) = (BTreeSet::new(), VecDeque::from([vec![from.to_owned()]]));
    while let Some(way) = ways.pop_front() {
        for next in arrows.get(way.last().unwrap()).into_iter().flatten() {
            let further: Vec<String> = way.iter().chain([next]).cloned().collect();
            if next == to {
                return Some(further);
            }
            if known.insert(next.clone()) {
                ways.push_back(further);
            }
        }
    }
    None
}

#[test]
fn modules_that_must_not_know_each_other_are_in_no_circle() {
    let sources = |of: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(of);
    let (server, app) = (arrows(&sources("src")), arrows(&sources("../app/src")));
    // The other direction is there, so each of these would be a circle.
    for (arrows, from, to) in [
        (&server, "state", "http"),
        (&server, "session", "http"),
        (&server, "state", "session"),
        (&server, "config", "cli"),
        (&server, "auth", "config"),
        (&server, "history", "cli"),
        (&server, "export", "cli"),
        (&server, "history", "export"),
        (&server, "terminal", "run"),
        (&server, "hub", "view"),
        (&app, "live", "pages"),
    ] {
        assert_eq!(way(arrows, from, to), None, "{from} must not know {to}");
    }
    // That a way would be found.
    assert_eq!(way(&server, "http", "session").map(|way| way.len()), Some(2));
    assert!(way(&app, "pages", "exported").is_some());
}
