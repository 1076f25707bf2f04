//! Who may depend on whom: any other arrow between the crates is a mistake, and so is a circle of modules that are named here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

use crate::circles::ARROWS;
use crate::imports::{Arrows, below, between_folders, sources};

/// The packages of the workspace, as cargo tells of them.
fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO")).args(["metadata", "--format-version=1", "--no-deps"]).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn crates_depend_in_one_direction() {
    let packages = packages();
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
    assert_eq!(ours("selector"), Vec::<&str>::new());
    assert_eq!(ours("simcluster"), ["selector"]);
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

/// docs/dependencies.md has the reason for each crate.
#[test]
fn every_dependency_has_a_reason() {
    let packages = packages();
    let own: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let all = packages.iter().flat_map(|package| package["dependencies"].as_array().unwrap());
    let needed = all.map(|dependency| dependency["name"].as_str().unwrap()).filter(|name| !own.contains(name));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let document = std::fs::read_to_string(root.join("docs/dependencies.md")).unwrap();
    let cells = document.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split([',', ' ', ';', '(', ')'])).collect();
    let missing: BTreeSet<&str> = needed.filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Storage, permissions and sources work without pages. The playground's strip is the exception.
#[test]
fn rooms_below_export_do_not_import_the_pages() {
    let sources = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let below = ["telemetry/", "kube/", "feed/", "hub/", "access/", "history/"];
    let of_rooms = sources.iter().filter(|(file, _)| below.iter().any(|room| file.starts_with(room)));
    let importing = of_rooms.filter(|(_, code)| !named(code, "app::").is_empty()).map(|(file, _)| file.as_str());
    assert_eq!(
        importing.collect::<BTreeSet<_>>(),
        BTreeSet::from(["feed/playground/controls.rs", "feed/playground/mod.rs"])
    );
    assert!(sources.iter().any(|(file, code)| file.starts_with("web/") && !named(code, "app::").is_empty()));
}

#[test]
fn what_is_printed_passes_one_module() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut printing = BTreeSet::new();
    for (file, code) in code(&sources) {
        let ways = ["println!", "eprintln!", "print!(", "eprint!(", "io::stdout()", "io::stderr()", "dbg!("];
        let code = code.replace("io::stdout().is_terminal()", "");
        if ways.iter().any(|way| code.contains(way)) {
            printing.insert(file);
        }
    }
    // Logs are made lines of by themselves.
    assert_eq!(printing.into_iter().collect::<Vec<_>>(), ["telemetry/log.rs", "telemetry/print.rs"]);
}

/// Pages look live while a task is gone that they need: its panic ends the program.
#[test]
fn panics_of_tasks_that_pages_need_end_the_program() {
    let sources = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let ways = ["exit_on_panic(", "exit_on_panic_of_thread("];
    let ending = sources.iter().filter(|(_, code)| ways.iter().any(|way| code.contains(way)));
    assert_eq!(
        ending.map(|(file, _)| file.as_str()).collect::<BTreeSet<_>>(),
        BTreeSet::from([
            "cli/clusters.rs",
            "history/mod.rs",
            "history/tap.rs",
            "hub/handle.rs",
            "kube/access.rs",
            "kube/watch.rs",
            "telemetry/panics.rs",
        ])
    );
}

/// A search must not end the program: a panic of its task ends the streams that show the list.
#[test]
fn panics_of_the_tasks_of_lists_end_their_streams() {
    let sources = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let ending = sources.iter().filter(|(_, code)| code.contains(".end_on_panic("));
    assert_eq!(ending.map(|(file, _)| file.as_str()).collect::<Vec<_>>(), ["web/listing/mod.rs"]);
}

/// The code of each file below a folder, by its path there: without tests and comments, as one line.
fn code(folder: &Path) -> Vec<(String, String)> {
    let without_comments = |text: &str| {
        let lines = text.split("#[cfg(test)]").next().unwrap().lines();
        lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ")
    };
    sources(folder).into_iter().map(|(file, text)| (file, without_comments(&text))).collect()
}

/// What code names below a path such as `crate::`: the first part of each, `{a, b}` being two.
fn named<'c>(code: &'c str, below: &str) -> Vec<&'c str> {
    let of = |named: &'c str| {
        let group = named.strip_prefix('{').and_then(|rest| rest.split('}').next());
        let names = group.unwrap_or(named).split(',').take(if group.is_some() { usize::MAX } else { 1 });
        names.filter_map(|name| name.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
    };
    code.split(below).skip(1).flat_map(of).filter(|name| !name.is_empty()).collect()
}

/// The way along arrows from one module to another, if there is one.
fn way(arrows: &Arrows, from: &str, to: &str) -> Option<Vec<String>> {
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
    let [web, app] = [between_folders(&below(&ARROWS["server"], "web/")), between_folders(&ARROWS["app"])];
    // The other direction is there, so each of these would be a circle.
    for (arrows, from, to) in
        [(&web, "state", "http"), (&web, "session", "http"), (&web, "state", "session"), (&app, "live", "pages")]
    {
        assert_eq!(way(arrows, from, to), None, "{from} must not know {to}");
    }
    // That a way would be found.
    assert_eq!(way(&web, "http", "session").map(|way| way.len()), Some(2));
    assert!(way(&app, "pages", "exported").is_some());
}

/// What of code asks the browser for something: types of events and elements do not, nor do names that only end alike.
fn asks_the_browser(code: &str) -> Vec<String> {
    let is_asking = |name: &&str| !name.ends_with("Event") && !name.ends_with("Element");
    let mut found: Vec<String> = named(code, "web_sys::").into_iter().filter(is_asking).map(str::to_owned).collect();
    for word in [
        "window()",
        "document()",
        "js_sys::",
        "wasm_bindgen_futures::",
        "request_animation_frame(",
        "set_timeout(",
        "set_interval",
        "window_event_listener",
    ] {
        let is_whole = |(at, _): &(usize, &str)| {
            !code.get(..*at).unwrap().ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        };
        found.extend(code.match_indices(word).filter(is_whole).map(|(_, word)| word.to_owned()));
    }
    found
}

#[test]
fn the_browser_is_asked_in_one_place() {
    // The painter of the canvas.
    const ELSEWHERE: [&str; 1] = ["score/canvas.rs"];
    let sources = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/src"));
    let is_free = |path: &str| path.starts_with("browser/") || ELSEWHERE.contains(&path);
    for (path, code) in sources.iter().filter(|(path, _)| !is_free(path)) {
        assert_eq!(
            asks_the_browser(code),
            Vec::<String>::new(),
            "{path}: whatever asks the browser is in app/src/browser"
        );
    }
    // That it would be found.
    assert_eq!(
        asks_the_browser("use web_sys::{Element, Storage}; fn a(of: web_sys::MouseEvent) { of_document() }"),
        ["Storage"]
    );
    assert_eq!(asks_the_browser("web_sys::window()"), ["window", "window()"]);
    assert!(sources.iter().any(|(path, code)| path.starts_with("browser/") && !asks_the_browser(code).is_empty()));
}

/// What docs/history.md promises is held by tests that are there.
#[test]
fn tests_that_are_named_beside_a_promise_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("../docs/history.md")).unwrap();
    let (_, promises) = document.split_once("## What may happen to it").unwrap();
    let rows = promises.lines().filter(|line| line.starts_with("| ")).skip(1);
    let tests: String = sources(&root.join("tests")).into_values().collect();
    let mut named = 0;
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).filter(|name| name.contains('_')).collect();
        assert!(!names.is_empty(), "no test holds this: {row}");
        for test in names {
            assert!(tests.contains(&format!("fn {test}(")), "{test} is named in docs/history.md and is not there");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

/// docs/security.md names tests after their file. An ellipsis stands for the end of a long name.
#[test]
fn tests_that_the_page_on_security_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("../docs/security.md")).unwrap();
    let code: String = ["src", "tests"].iter().flat_map(|folder| sources(&root.join(folder)).into_values()).collect();
    let is_name = |text: &&str| {
        text.contains('_') && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_…".contains(c))
    };
    let texts = document.split('`').filter_map(|text| text.rsplit_once("::"));
    let named: Vec<&str> = texts.map(|(_, test)| test).filter(is_name).collect();
    assert!(named.len() > 50, "{named:?}");
    let is_missing = |test: &&str| {
        let end = if test.ends_with('…') { "" } else { "(" };
        !code.contains(&format!("fn {}{end}", test.trim_end_matches('…')))
    };
    let missing: Vec<&str> = named.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Documents name files by their path, or by the end of it.
#[test]
fn files_that_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let list = Command::new("git").args(["ls-files"]).current_dir(&root).output().unwrap();
    let files: Vec<String> = String::from_utf8(list.stdout).unwrap().lines().map(|file| format!("/{file}")).collect();
    let is_document = |file: &&String| file.ends_with(".md") && !file.contains("CHANGELOG");
    let mut missing = Vec::new();
    for document in files.iter().filter(is_document) {
        let text = std::fs::read_to_string(root.join(&document[1..])).unwrap();
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = name.contains('/') && !name.contains([' ', '*', '{']);
            let is_file =
                is_path && [".rs", ".ts", ".mjs", ".toml", ".css", ".sql"].iter().any(|ending| name.ends_with(ending));
            // That one is a user's.
            let is_file = is_file && name != "rollcast/rollcast.toml";
            if is_file && !files.iter().any(|file| file.ends_with(&format!("/{name}"))) {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_metric_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (code, document) = (read("server/src/web/http/metrics.rs"), read("docs/addresses.md"));
    let metrics: BTreeSet<&str> = code.split('"').filter(|text| text.starts_with("rollcast_")).collect();
    assert!(metrics.len() > 30, "{metrics:?}");
    let missing: Vec<_> = metrics
        .iter()
        .filter(|name| !document.contains(&format!("| `{name}")) && !document.contains(&format!(", `{name}")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
