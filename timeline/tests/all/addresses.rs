//! Addresses are read as they are printed, and every documented address is one of the table.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use timeline::address::{Address, Route};
use timeline::episodes::OUTCOMES;
use timeline::{Uid, Workload};

fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

proptest! {
    #[test]
    fn a_printed_address_is_read_as_it_was(
        route in proptest::sample::select(Route::ALL.to_vec()),
        values in proptest::collection::vec(".{1,12}", 5),
        parameters in proptest::collection::vec(("[a-z]{1,8}", ".{1,12}"), 0..4),
    ) {
        let count = route.pattern().matches('{').count();
        let values: Vec<&str> = values.iter().take(count).map(String::as_str).collect();
        let address = parameters.iter().fold(Address::new(route, &values), |address, (name, value)| address.with(name, Some(value)));
        prop_assert_eq!(Address::read(&address.to_string()), Some(address));
    }
}

#[test]
fn a_pattern_is_read_as_its_own_route() {
    for route in Route::ALL {
        assert_eq!(Address::read(route.pattern()).unwrap().route, *route, "{}", route.pattern());
    }
}

/// Addresses in backticks, with a value for each name in braces.
fn documented(text: &str) -> Vec<String> {
    let workload = "/clusters/{cluster}/namespaces/{namespace}/deployments/{name}";
    let tables = text.lines().filter(|line| line.starts_with('|'));
    let addresses = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
    let whole = addresses
        .map(|address| address.replace("…/deployments/{name}", workload).replace("…/", &format!("{workload}/")));
    whole.filter(|address| address.starts_with('/') && !address.ends_with("=/")).collect()
}

#[test]
fn every_documented_address_is_answered_and_every_page_is_documented() {
    let document_of = document("docs/addresses.md");
    let mut found: BTreeSet<Route> = BTreeSet::new();
    for address in documented(&document_of) {
        let read = Address::read(&address).unwrap_or_else(|| panic!("{address} is documented and not answered"));
        found.insert(read.route);
    }
    let missing: Vec<&Route> = Route::ALL.iter().filter(|route| !found.contains(route)).collect();
    // The document names the first one beside another; only the page of the playground uses the last one.
    assert_eq!(missing, [&Route::PreviewSvg, &Route::PlaygroundEvents]);
    let description: serde_json::Value = serde_json::from_str(&document("server/src/web/http/openapi.json")).unwrap();
    for (path, _) in description["paths"].as_object().unwrap() {
        assert!(Route::ALL.iter().any(|route| route.pattern() == path), "{path}");
    }
}

#[test]
fn only_addresses_of_the_table_are_read() {
    for text in [
        "",
        "history",
        "/wall/",
        "/wall/x",
        "//",
        "/%ff",
        "/clusters/",
        "/clusters/%ff",
        "/clusters/prod/namespaces",
        "/clusters/prod/namespaces/shop/deployments/web/nothing",
        "/clusters/prod/namespaces/shop/deployments/web/pods",
        "/clusters/prod/namespaces/shop/deployments/web/pods/x/y",
        "https://evil.example/",
    ] {
        assert_eq!(Address::read(text), None, "{text}");
    }
    let other = Address::read("/clusters/prod/namespaces/shop/secrets/web").unwrap();
    assert_eq!(other.named_workload(), None, "a resource without rollouts");
}

#[test]
fn an_address_names_its_workload_and_what_of_its_parameters_is_invalid() {
    let uid = Uid::from_bits(7);
    let workload = Workload { uid: Some(uid), rollout: Some(3), ..Workload::deployment("prod/eu", "shop", "web") };
    let printed = Address::new(Route::Pod, &["prod/eu", "shop", "deployments", "web", "a b"]);
    let printed = printed.with("uid", Some(uid)).with("rollout", Some(3)).with("revision", Some("x")).to_string();
    let page = "/clusters/prod%2Feu/namespaces/shop/deployments/web";
    assert_eq!(printed, format!("{page}/pods/a%20b?uid={uid}&rollout=3&revision=x"));
    let address = Address::read(&printed).unwrap();
    assert_eq!((address.workload().unwrap(), address.value("uid")), (Some(workload), "a b"));
    let invalid = address.parse::<u64>("revision").unwrap_err().to_string();
    assert_eq!(invalid, "revision=x is invalid: expected the number of a revision, 1 or more.");
    let of = |text: &str| Address::read(text).unwrap().check::<()>("q", |_| None).map_err(|error| error.to_string());
    let expected = "q=a is invalid: expected at most eight words without a key, and 1,000 characters.";
    assert_eq!(of("/history?q=a"), Err(expected.to_owned()));
    assert_eq!(of("/history?q="), Ok(None));
    let (_, outcomes) = Route::History.parameters().iter().find(|(name, _)| *name == "outcome").unwrap();
    assert!(OUTCOMES.iter().all(|(name, ..)| outcomes.contains(*name)), "{outcomes}");
}
