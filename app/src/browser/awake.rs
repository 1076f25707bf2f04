//! A screen that stays on.

use js_sys::{Function, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::is_hidden;

/// Asks the browser to keep the screen on while the page is seen. Browsers may refuse, or know nothing of it; then the screen's own
/// settings count.
pub fn stay_awake() {
    if is_hidden() {
        return;
    }
    // The interface is not part of all browsers, and nowhere without encryption.
    let property = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).ok().filter(|found| !found.is_undefined());
    let navigator: JsValue = window().navigator().into();
    let Some(lock) = property(&navigator, "wakeLock") else { return };
    let request = property(&lock, "request").and_then(|request| request.dyn_into::<Function>().ok());
    let promise = request.and_then(|request| request.call1(&lock, &"screen".into()).ok());
    if let Some(promise) = promise.and_then(|promise| promise.dyn_into::<Promise>().ok()) {
        spawn_local(async move {
            let _ = JsFuture::from(promise).await; // a refusal is the browser's right
        });
    }
}
