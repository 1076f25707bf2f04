//! What this program does with an address that it does not know: the server is asked, which knows more addresses and says what is
//! wrong with the others.

use leptos::prelude::*;
use leptos_router::hooks::use_url;

use crate::browser;

/// The page for an address that this program does not know: it is loaded from the server, which may.
#[component]
pub fn Elsewhere() -> impl IntoView {
    let url = use_url();
    Effect::new(move |_| url.with_untracked(browser::load));
}
