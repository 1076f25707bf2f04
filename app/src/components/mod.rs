//! The parts of the pages, one public component per file (small helpers beside it).

pub mod connection;
pub mod header;
pub mod legend;
pub mod score;
pub mod transport;
pub mod verdict;

use leptos::prelude::Signal;

/// A text that follows signals. All texts and attributes have this one type: the program that a page loads stays small,
/// because rendering code is generated per type.
pub fn text(follow: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    boxed(Box::new(follow))
}

fn boxed(follow: Box<dyn Fn() -> String + Send + Sync>) -> Signal<String> {
    Signal::derive(follow)
}
