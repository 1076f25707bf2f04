//! The icon of the tab: its colour shows the status of the rollout.

use leptos::prelude::*;
use timeline::view::Tone;

use crate::browser;

/// File names of the icon: the usual one, and one for each tone that needs attention.
const USUAL: &str = "/icon.svg";
const BUSY: &str = "/icon-busy.svg";
const BAD: &str = "/icon-bad.svg";

/// Updates the icon. It is in the document's head, outside of the application, so this renders nothing.
#[component]
pub fn TabIcon(
    /// Tone of the rollout's verdict; `None` while it is not known.
    tone: Signal<Option<Tone>>,
) -> impl IntoView {
    Effect::new(move |_| show(tone.get()));
    // The icon of other pages does not depend on this rollout.
    Effect::new(|_| on_cleanup(|| show(None)));
}

fn show(tone: Option<Tone>) {
    if let Some(icon) = browser::tab_icon() {
        icon.set_href(&address(&icon.href(), tone));
    }
}

/// Returns the address of the icon for a tone, in the folder of the present one.
fn address(shown: &str, tone: Option<Tone>) -> String {
    let name = match tone {
        Some(Tone::Busy) => BUSY,
        Some(Tone::Bad) => BAD,
        Some(Tone::Ok | Tone::Quiet) | None => USUAL,
    };
    [USUAL, BUSY, BAD].iter().fold(shown.to_owned(), |address, known| address.replace(known, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_keeps_the_build_in_its_address() {
        let shown = ["http://a/icon.svg?v=1", "http://a/icon-busy.svg?v=1", "http://a/icon-bad.svg?v=1"];
        for (tone, expected) in [(Some(Tone::Ok), 0), (None, 0), (Some(Tone::Busy), 1), (Some(Tone::Bad), 2)] {
            assert_eq!(shown.map(|shown| address(shown, tone)), [shown[expected]; 3]);
        }
    }
}
