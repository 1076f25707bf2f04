//! The focus stays where it is while what is around it changes. For browsers only.
//!
//! `<For>` moves the rows of a list within the document when their order changes, and removes those that are gone. Browsers take
//! the focus from an element to which either happens; it is then on nothing, and the keys of a row are lost.

use std::time::Duration;

use crate::browser;

/// Parts of pages that hold rows.
const LISTS: &str = "tbody, ol, ul, [id]";

/// Called before lists change: what has the focus has it again once they have changed, and where it is gone by then, what is alike
/// in the row that took its place. Where no row is left, the part that held them has it.
pub fn keep_focus() {
    let Some(focused) = browser::focused() else { return };
    let Some(list) = focused.parent_element().and_then(|around| around.closest(LISTS).ok().flatten()) else { return };
    let class = focused.class_list().item(0).map(|class| format!(".{class}")).unwrap_or_default();
    let alike = focused.tag_name() + &class;
    let Some(place) = browser::all_in(&list, &alike).position(|other| other == focused) else { return };
    browser::run_after(Duration::ZERO, move || {
        if browser::focused().is_some() || focused.is_connected() && browser::focus_in_place(&focused) {
            return;
        }
        let heir = browser::all_in(&list, &alike).take(place + 1).last().unwrap_or_else(|| {
            let _ = list.set_attribute("tabindex", "-1"); // names of attributes are ours
            list.clone()
        });
        browser::focus_in_place(&heir);
    });
}
