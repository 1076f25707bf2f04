//! The title of the page: tabs and windows show how things stand.

use leptos::prelude::*;
use leptos_meta::Title;

#[component]
pub fn PageTitle(text: Signal<String>) -> impl IntoView {
    // The server writes titles after everything else, when signals of components are gone: it gets the text as it is now. It writes
    // them as they are, so nothing in them may begin an element.
    let harmless = |text: String| text.replace('<', "‹");
    let now = ArcRwSignal::new(harmless(text.get_untracked()));
    let said = now.clone();
    Effect::new(move |_| said.set(harmless(text.get())));
    view! { <Title text=move || now.get()/> }
}
