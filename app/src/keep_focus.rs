//! Keeps the focus while its surroundings change. For browsers only.
//!
//! `<For>` moves the rows of a list within the document when their order changes, and removes deleted ones. In both cases browsers remove
//! the focus from the element; then no element has it, and the keys of a row do not work.

use std::time::Duration;

use crate::browser;

/// Parts of pages that contain rows.
const LISTS: &str = "tbody, ol, ul, [id]";

/// Restores the focus after lists changed; called before they change. If the focused element is gone, focuses the equivalent element of the
/// row in its place; without any row, the part that contained them.
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
            let _ = list.set_attribute("tabindex", "-1"); // the name is always valid
            list.clone()
        });
        browser::focus_in_place(&heir);
    });
}
