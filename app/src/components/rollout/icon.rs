//! The icon of the tab: its colour says how the rollout stands.

use leptos::prelude::*;
use timeline::view::Tone;

use crate::browser;

/// The name of the icon's file while nothing needs a look.
const USUAL: &str = "/icon.svg";

/// Keeps the icon right. It stands in the document's head, outside of the application: nothing is rendered here.
#[component]
pub fn TabIcon(
    /// Status of the rollout; `None` while it is not known.
    #[prop(into)]
    tone: Signal<Option<Tone>>,
) -> impl IntoView {
    // With the address that it has on every other page.
    let icon: StoredValue<Option<(browser::TabIcon, String)>> = StoredValue::new(None);
    Effect::new(move |_| {
        if icon.with_value(Option::is_none) {
            icon.set_value(browser::TabIcon::of_document().map(|icon| (icon.clone(), icon.address())));
        }
        let tone = tone.get();
        icon.with_value(|icon| {
            if let Some((icon, usual)) = icon {
                icon.show(&address(usual, tone));
            }
        });
    });
    on_cleanup(move || {
        // Another page says nothing of this rollout.
        if let Some((icon, usual)) = icon.try_get_value().flatten() {
            icon.show(&usual);
        }
    });
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
