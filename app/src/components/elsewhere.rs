//! Loads an address that this program does not know from the server. The server knows more addresses, and has an error page for the
//! others.

use leptos::prelude::*;
use leptos_router::hooks::use_url;

use crate::browser;

/// The page for an address that this program does not know: it is loaded from the server, which may.
#[component]
pub fn Elsewhere() -> impl IntoView {
    let url = use_url();
    Effect::new(move |_| url.with_untracked(browser::load));
}
