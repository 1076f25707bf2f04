//! A popup above the page. The browser closes it on Esc and on a click outside, and restores the focus; this works without scripts.

use leptos::prelude::*;

/// A button, and the popup that it opens.
#[component]
pub fn Popup(
    /// Id of the popup; also its test id.
    id: &'static str,
    /// Text of the button, and heading of the popup.
    label: &'static str,
    #[prop(optional)] title: Option<&'static str>,
    #[prop(optional_no_strip)] class: Option<&'static str>,
    children: Children,
) -> impl IntoView {
    view! {
        <button type="button" class=class title=title popovertarget=id>{label}</button>
        <div id=id class="popup" popover="auto" role="dialog" aria-label=label data-testid=id>
            // It takes the focus when the popup opens, also by a key.
            <button type="button" class="close" autofocus popovertarget=id popovertargetaction="hide" aria-label="Close" title="Close (Esc)">"\u{d7}"</button>
            <h2>{label}</h2>
            {children()}
        </div>
    }
}
