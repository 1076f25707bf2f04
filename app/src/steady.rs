//! The focus stays where it is while what is around it changes. For browsers only.
//!
//! `<For>` moves the rows of a list within the document when their order changes, and removes those that are gone. Browsers take
//! the focus from an element to which either happens; it is then on nothing, and the next key begins at the top of the page.

use leptos::task::{spawn_local, tick};
use web_sys::Element;

use crate::browser;

/// Called before lists change: what has the focus has it again once they have changed, and where it is gone by then, what is alike
/// in the row that took its place, or in the one before.
pub fn keep_focus() {
    let Some(focused) = browser::focused() else { return };
    let around = Around::all_of(&focused);
    let alike = alike(&focused);
    spawn_local(async move {
        tick().await; // what changes the document was begun after this
        if browser::focused().is_none() {
            give(&around, &alike);
        }
    });
}

/// An element that has the focus or is around what has it, as it stands among others.
struct Around {
    element: Element,
    /// What stands after it in order, and then what stands before it, the nearest first.
    beside: Vec<Element>,
}

impl Around {
    /// From what has the focus outwards.
    fn all_of(focused: &Element) -> Vec<Self> {
        let outwards = std::iter::successors(Some(focused.clone()), |element| element.parent_element());
        outwards
            .map(|element| {
                let after = std::iter::successors(element.next_element_sibling(), Element::next_element_sibling);
                let before =
                    std::iter::successors(element.previous_element_sibling(), Element::previous_element_sibling);
                Self { beside: after.chain(before).collect(), element }
            })
            .collect()
    }
}

/// What finds an element, and those in other rows that stand for the same: of its kind and its first class.
fn alike(element: &Element) -> String {
    let class = element.class_list().item(0).map(|class| format!(".{class}")).unwrap_or_default();
    element.tag_name() + &class
}

/// Gives the focus to the nearest that is alike; where none is left, to what the rows were in.
fn give(around: &[Around], alike: &str) {
    let takes_it = |element: &Element| browser::focus_in_place(element) && browser::focused().is_some();
    let within = |element: &Element| match element.matches(alike) {
        Ok(true) => Some(element.clone()),
        _ => element.query_selector(alike).ok().flatten(),
    };
    for Around { element, beside } in around {
        let mut there = std::iter::once(element).chain(beside).filter(|element| element.is_connected());
        if there.any(|element| within(element).as_ref().is_some_and(takes_it)) {
            return;
        }
        if element.is_connected() {
            if !element.has_attribute("tabindex") {
                let _ = element.set_attribute("tabindex", "-1"); // names of attributes are ours
            }
            if takes_it(element) {
                return;
            }
        }
    }
}
