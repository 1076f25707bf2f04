//! Notices about the page as a whole, the same on all pages.

use leptos::prelude::*;

use crate::browser::STOPPED;
use crate::components::banner::Banner;
use crate::live::client::Live;

/// Notices about problems of the page as a whole.
#[component]
pub fn Notices() -> impl IntoView {
    let trouble = Live::of_app().trouble;
    view! {
        <div id=STOPPED class="unused" role="alert" data-testid="stopped">
            <span id="stopped-why">"This page stopped."</span>" "<a href="" rel="external">"Reload it"</a>
        </div>
        <noscript>
            <p class="banner quiet" data-testid="no-scripts">"Scripts are off: this page shows the state at the time it was loaded. Reload it to update."</p>
        </noscript>
        <Banner test_id="page-trouble" words=move || trouble.get().to_owned()/>
    }
}
