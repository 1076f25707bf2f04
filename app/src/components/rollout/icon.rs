//! The icon of the tab: its colour says how the rollout stands.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use timeline::view::Tone;
use wasm_bindgen::JsCast;
use web_sys::HtmlLinkElement;

/// Name of the file of the usual icon.
const USUAL: &str = "/icon.svg";

/// Keeps the icon right. It stands in the document's head, outside of the application: nothing is rendered here.
#[component]
pub fn TabIcon(
    /// How the rollout stands; `None` while that is not known.
    #[prop(into)]
    tone: Signal<Option<Tone>>,
) -> impl IntoView {
    let icon: StoredValue<Option<SendWrapper<(HtmlLinkElement, String)>>> = StoredValue::new(None);
    Effect::new(move |_| {
        if icon.with_value(Option::is_none) {
            icon.set_value(of_document().map(|link| SendWrapper::new((link.clone(), link.href()))));
        }
        let tone = tone.get();
        icon.with_value(|icon| {
            if let Some((link, usual)) = icon.as_deref() {
                link.set_href(&address(usual, tone));
            }
        });
    });
    on_cleanup(move || {
        // Another page says nothing of this rollout.
        if let Some((link, usual)) = icon.try_get_value().flatten().as_deref() {
            link.set_href(usual);
        }
    });
}

/// The element in the document's head.
pub(super) fn of_document() -> Option<HtmlLinkElement> {
    document().query_selector("link[rel=icon]").ok().flatten()?.dyn_into().ok()
}

/// The address of the icon for a tone, next to that of the usual one.
fn address(usual: &str, tone: Option<Tone>) -> String {
    match tone {
        Some(Tone::Busy) => usual.replace(USUAL, "/icon-busy.svg"),
        Some(Tone::Bad) => usual.replace(USUAL, "/icon-bad.svg"),
        Some(Tone::Ok | Tone::Quiet) | None => usual.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_keeps_the_build_in_its_address() {
        let usual = "http://a/icon.svg?v=1";
        assert_eq!(address(usual, Some(Tone::Busy)), "http://a/icon-busy.svg?v=1");
        assert_eq!(address(usual, Some(Tone::Bad)), "http://a/icon-bad.svg?v=1");
        assert_eq!([Some(Tone::Ok), None].map(|tone| address(usual, tone)), [usual, usual]);
    }
}
