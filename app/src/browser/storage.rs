//! Storage of the browser, or of one of its tabs.

use leptos::prelude::*;

/// Reads a value that this browser stores; `None` if storage is forbidden.
pub fn remembered(name: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(name).ok().flatten()
}

/// Stores a value in this browser, if it allows that.
pub fn remember(name: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(name, value); // if storage is full or forbidden, the viewer chooses again next time
    }
}

/// Reads a value that this tab stores; `None` if storage is forbidden.
pub fn remembered_here(name: &str) -> Option<String> {
    window().session_storage().ok().flatten()?.get_item(name).ok().flatten()
}

/// Stores a value for this tab (`None` removes it); false if storage is forbidden.
pub fn remember_here(name: &str, value: Option<&str>) -> bool {
    let Ok(Some(storage)) = window().session_storage() else { return false };
    match value {
        Some(value) => storage.set_item(name, value).is_ok(),
        None => storage.remove_item(name).is_ok(),
    }
}
