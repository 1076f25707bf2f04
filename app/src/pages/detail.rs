//! The page of a pod, of a revision, of all rollouts, or of links to share: a detail alone.

use leptos::prelude::*;
use leptos_router::hooks::use_url;
use timeline::words::safe;

use crate::address;
use crate::app::First;
use crate::browser;
use crate::components::brand::Brand;
use crate::components::detail::view::DetailView;
use crate::components::page_keys::KeyHelp;
use crate::components::preview::preview;
use crate::components::title::PageTitle;
use crate::payload::{DetailPayload, Payload};

/// The page. Whoever comes to it without loading it gets it from the server, which alone knows what it is about.
#[component]
pub fn DetailPage() -> impl IntoView {
    let first = First::take(|payload| match payload {
        Payload::Detail(detail) => Some(*detail),
        _ => None,
    });
    if first.is_none() {
        let url = use_url();
        Effect::new(move |_| url.with_untracked(browser::load));
    }
    first.map(|first| {
        preview(|| first.preview());
        let DetailPayload { workload, detail } = first;
        let title = detail.page_title(&workload);
        let (page, name) = (address::workload(&workload), safe(&workload.name));
        view! {
            <PageTitle text=Signal::stored(title.clone())/>
            <div class="page">
                <header class="top">
                    <Brand/>
                    <nav class="crumb" aria-label="Where this is"><a href=page>{name}</a></nav>
                </header>
                <main>
                    <h1 class="aside">{title}</h1>
                    <div class="alone"><DetailView workload detail=Signal::stored(detail)/></div>
                    <KeyHelp keys=Vec::new() class="choice keys"/>
                </main>
            </div>
        }
    })
}
