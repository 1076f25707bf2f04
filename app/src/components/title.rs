//! The title of the page: tabs and windows show the status.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;

use crate::browser;
use crate::context::ReachedTitle;

/// Delay before a newly opened page announces its title; by then its content has usually loaded.
const SETTLED: Duration = Duration::from_secs(1);

#[component]
pub fn PageTitle(
    text: Signal<String>,
    /// Subject of the page, if its links lead to the same page of another subject: that also counts as a newly opened page.
    #[prop(optional)]
    place: Option<Memo<String>>,
) -> impl IntoView {
    // The server writes titles last, when signals of components are disposed, so it gets the present text. It does not escape them, so the
    // text must not contain the start of an element.
    let harmless = |text: String| text.replace('<', "‹");
    let now = ArcRwSignal::new(harmless(text.get_untracked()));
    let said = now.clone();
    Effect::new(move |_| said.set(harmless(text.get())));
    let reached: Option<ReachedTitle> = use_context();
    Effect::new(move |_| {
        if let Some(place) = place {
            place.track();
        }
        let Some(reached) = reached.filter(|reached| reached.note_page()) else { return };
        browser::next_frame(browser::focus_page);
        browser::run_after(SETTLED, move || {
            if let Some(title) = text.try_get_untracked() {
                reached.text.set(title);
            }
        });
    });
    view! { <Title text=move || now.get()/> }
}
