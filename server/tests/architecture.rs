//! Who may depend on whom: any other arrow between the crates is a mistake.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

use std::collections::BTreeMap;
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
    assert_eq!(ours("server"), ["app", "selector", "simcluster", "timeline"]);
    assert_eq!(ours("simcluster"), ["selector"]);
    assert_eq!(ours("selector"), Vec::<&str>::new());
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
