//! A screen that stays on.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::is_hidden;

/// Keeps the screen on until it is dropped. Browsers release the lock when the page is hidden, so it is requested again when the page is
/// visible. A browser may refuse or not support it: then the settings of the system apply.
#[derive(Default)]
pub struct WakeLock(Rc<RefCell<Option<JsValue>>>);

impl WakeLock {
    /// Requests the lock from the browser if the page is visible.
    pub fn request(&self) {
        if is_hidden() {
            return;
        }
        // Not all browsers have this interface, and none has it without encryption.
        let navigator: JsValue = window().navigator().into();
        let Some(promise) = property(&navigator, "wakeLock").and_then(|lock| call(&lock, "request", &"screen".into()))
        else {
            return;
        };
        let held = Rc::downgrade(&self.0);
        spawn_local(async move {
            let Ok(lock) = JsFuture::from(promise).await else { return };
            let before = match held.upgrade() {
                Some(held) => held.replace(Some(lock)),
                None => Some(lock), // the guard was dropped meanwhile
            };
            release(before);
        });
    }
}

impl Drop for WakeLock {
    fn drop(&mut self) {
        release(self.0.take());
    }
}

fn release(lock: Option<JsValue>) {
    if let Some(lock) = lock {
        call(&lock, "release", &JsValue::UNDEFINED);
    }
}

fn property(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(|found| !found.is_undefined())
}

fn call(of: &JsValue, name: &str, argument: &JsValue) -> Option<Promise> {
    let function = property(of, name)?.dyn_into::<Function>().ok()?;
    function.call1(of, argument).ok()?.dyn_into().ok()
}
