//! The title of the page: tabs and windows show how things stand.

use std::time::Duration;

use leptos::prelude::*;
use leptos_meta::Title;

use crate::browser;
use crate::context::ReachedTitle;

/// The title of a page that was reached is announced this much later, when it mostly knows what it shows.
const SETTLED: Duration = Duration::from_secs(1);

#[component]
pub fn PageTitle(
    text: Signal<String>,
    /// What the page shows, where links lead to the same page of something else: that is a page that was reached as well.
    #[prop(optional)]
    place: Option<Memo<String>>,
) -> impl IntoView {
    // The server writes titles after everything else, when signals of components are gone: it gets the text as it is now. It writes
    // them as they are, so nothing in them may begin an element.
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
