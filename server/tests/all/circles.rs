//! Which file imports which, in each crate: no circle of more than two files, and no arrow against the order of folders.
//!
//! `cargo test -p server --test all circles:: -- --nocapture` prints the figures of every crate and its circles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use crate::imports::{Arrows, Crate, between_folders, circles, folder};

const CRATES: [&str; 5] = ["timeline", "simcluster", "app", "server", "xtask"];

/// Folders of a crate, and the files beside them, in an order in which each imports only from those before it.
const ORDERS: [(&str, &str); 5] = [
    ("timeline", "model words rules apply history assess say view address episodes document wire"),
    // Values and objects, the data of the world, those who act on it, and what is built on the whole.
    (
        "simcluster",
        "error object meta time change fields hash events agenda strategy strategic_patch defaults validate node \
         runtime store world kubelet scheduler controller informers run action load story api",
    ),
    // The browser and plain values, then what the server sends, then what is shown.
    (
        "app",
        "browser rows keep_focus elements scoped debounce images numbers news postcard_base64 zone connection \
         link_preview measure history status detail compare playground exported live list payload context score preview rollout wall \
         components pages parts app shell",
    ),
    (
        "xtask",
        "process server setup story fonts test_programs documents cluster page build release chart book size lint bench dev mutants \
         shots moments test main",
    ),
    ("server", "telemetry kube database feed hub access history export web cli"),
];

#[test]
fn no_circle_has_more_than_two_files() {
    let found: Vec<_> = CRATES
        .iter()
        .flat_map(|name| large_circles(&ARROWS[name]).into_iter().map(move |circle| (name, circle)))
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn folders_import_only_from_those_before_them() {
    for (name, order) in ORDERS {
        let (arrows, order) = (&ARROWS[name], words(order));
        let unnamed: BTreeSet<&str> = arrows.keys().map(|file| folder(file)).filter(|of| !order.contains(of)).collect();
        let roots = BTreeSet::from(["lib", "main"]);
        assert!(unnamed.is_subset(&roots), "{name}: {unnamed:?} have no place in the order");
        let found = against(arrows, &order);
        assert!(found.is_empty(), "{name}: these are against the order: {found:?}");
    }
}

#[test]
fn figures_of_every_crate() {
    for name in CRATES {
        let arrows = &ARROWS[name];
        let (files, all) = (arrows.len(), arrows.values().map(BTreeSet::len).sum::<usize>());
        let folders = between_folders(arrows);
        let in_circle: BTreeSet<String> = circles(&folders).into_iter().flatten().collect();
        let large = large_circles(arrows);
        let order = ORDERS.iter().find(|(of, _)| *of == name);
        let back =
            order.map_or_else(|| "no order".to_owned(), |(_, order)| against(arrows, &words(order)).len().to_string());
        println!(
            "{name}: {files} files, {all} arrows, {} circles of more than two files ({} of two); {} folders, {} of them in circles, \
             arrows back: {back}",
            large.len(),
            circles(arrows).len() - large.len(),
            folders.len(),
            in_circle.len(),
        );
        large.iter().for_each(|circle| println!("    {} files: {circle:?}", circle.len()));
        assert!(all > files, "{name}: its imports are not read");
    }
}

/// The arrows of each crate, read once for all tests.
pub static ARROWS: LazyLock<BTreeMap<&str, Arrows>> = LazyLock::new(|| {
    let sources = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    CRATES.into_iter().map(|name| (name, Crate::read(&sources(name)).arrows())).collect()
});

fn words(order: &'static str) -> Vec<&'static str> {
    order.split_whitespace().collect()
}

fn large_circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    circles(arrows).into_iter().filter(|circle| circle.len() > 2).collect()
}

/// Arrows from a folder to one after it.
fn against(arrows: &Arrows, order: &[&str]) -> Vec<(String, String)> {
    let place = |file: &str| order.iter().position(|known| *known == folder(file));
    let all = arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    all.filter(|(from, to)| matches!((place(from), place(to)), (Some(from), Some(to)) if from < to))
        .map(|(from, to)| (from.clone(), to.clone()))
        .collect()
}

/// The arrows of a crate whose files have these texts.
fn drawn(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let arrows = Crate::parse(&files).arrows();
    arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} > {to}"))).collect()
}

#[test]
fn imports_are_followed_to_the_file_that_defines_a_name() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b; mod c; pub use a::One;"),
        ("a/mod.rs", "mod one; pub mod two; pub use one::One;"),
        ("a/one.rs", "use super::two::{self, Two as Other}; pub struct One; fn f() { two::f() }"),
        ("a/two.rs", "pub struct Two; pub fn f() {} #[cfg(test)] mod tests { use crate::b::B; }"),
        ("b.rs", "use crate::One; pub struct B; // crate::c::C\nconst TEXT: &str = \"crate::c::C\";"),
        ("c.rs", "use crate::a; type C = a::two::Two; fn f<'a>(b: &'a crate::b::B) -> char { '\"' }"),
    ];
    let expected = ["a/one.rs > a/two.rs", "b.rs > a/one.rs", "c.rs > a/two.rs", "c.rs > b.rs"];
    assert_eq!(drawn(&files), expected);
}

#[test]
fn a_re_export_is_an_arrow_where_its_file_uses_the_name() {
    let leaf = ("a/leaf.rs", "use super::Base; pub struct Leaf(Base);");
    let hands_on = [("lib.rs", "mod a;"), ("a/mod.rs", "mod leaf; pub use leaf::Leaf; pub struct Base;"), leaf];
    assert_eq!(drawn(&hands_on), ["a/leaf.rs > a/mod.rs"]);
    let uses = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod leaf; pub(crate) use leaf::Leaf; pub struct Base { pub leaf: Option<Box<Leaf>> }"),
        leaf,
    ];
    assert_eq!(drawn(&uses), ["a/leaf.rs > a/mod.rs", "a/mod.rs > a/leaf.rs"]);
}

#[test]
fn circles_and_arrows_back_are_found() {
    let arrow = |(from, to): (&str, &str)| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let arrows: Arrows = [("a/x.rs", "b.rs"), ("b.rs", "c.rs"), ("c.rs", "a/x.rs"), ("d.rs", "e.rs"), ("e.rs", "d.rs")]
        .map(arrow)
        .into();
    let found: Vec<Vec<String>> = circles(&arrows).into_iter().map(|circle| circle.into_iter().collect()).collect();
    assert_eq!(found, [vec!["a/x.rs", "b.rs", "c.rs"], vec!["d.rs", "e.rs"]]);
    assert_eq!(large_circles(&arrows).len(), 1);
    assert_eq!(against(&arrows, &["c", "b", "a"]), [("c.rs".to_owned(), "a/x.rs".to_owned())]);
    assert_eq!(between_folders(&BTreeMap::from([arrow(("a/x.rs", "a/y.rs"))]))["a"], BTreeSet::new());
}
