//! The clipboard.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use super::frames::run_after;

/// The result is shown this long: after that the text may have changed.
const SAID: Duration = Duration::from_secs(3);

/// Copies a text and reports the result: browsers have no clipboard for some pages, and may refuse.
pub fn copy(text: &str, said: RwSignal<Option<&'static str>>) {
    let say = move |is_copied| {
        said.try_set(Some(if is_copied { "copied" } else { "not allowed here" }));
        run_after(SAID, move || {
            said.try_set(None);
        });
    };
    let has_clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())
        .is_ok_and(|clipboard| !clipboard.is_undefined());
    if !has_clipboard {
        say(false);
        return;
    }
    let written = window().navigator().clipboard().write_text(text);
    spawn_local(async move { say(JsFuture::from(written).await.is_ok()) });
}
