//! A link to share, with what it will mean later.

use leptos::prelude::*;

use crate::components::copy::CopyButton;
use crate::detail::share::Link;
use crate::zone::Zone;

/// One link to share: what it leads to, its address, and a button that copies it.
#[component]
pub fn SharedLink(
    /// The link, with what is said of it.
    link: Link,
    /// Text of the button that copies the link.
    copy: &'static str,
) -> impl IntoView {
    let zone = Zone::of_page();
    let Link { meaning, text } = link;
    view! {
        <li>
            <span><b>{move || meaning.name(|at_millis| zone.stamp(at_millis))}</b>" "<span class="muted">{meaning.later()}</span></span>
            <code>{text.clone()}</code>
            <CopyButton text label=copy/>
        </li>
    }
}
