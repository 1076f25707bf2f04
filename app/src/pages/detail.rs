//! The page of a pod, of a revision, of all rollouts, or of links to share: a detail alone.

use leptos::prelude::*;
use leptos_router::hooks::use_url;
use timeline::Millis;

use crate::app::First;
use crate::browser;
use crate::components::detail::past::is_past;
use crate::components::detail::view::DetailView;
use crate::components::header::{Header, Section, Trail};
use crate::components::page_keys::KeyHelp;
use crate::components::preview::preview;
use crate::components::title::PageTitle;
use crate::connection::as_it_was;
use crate::payload::{DetailPayload, Payload};
use crate::zone::Zone;

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
        let (zone, is_past) = (Zone::of_page(), is_past());
        let past = detail.moment_millis().filter(|_| is_past.get_untracked()).map(|at_millis| {
            view! { <span class="chip past" data-testid="live">{move || as_it_was(&zone.dated(at_millis, Millis::MAX))}</span> }
        });
        view! {
            <PageTitle text=Signal::stored(title.clone())/>
            <div class="page">
                <Header section=Section::Deployments trail=Trail::below(&workload)>{past}</Header>
                <main>
                    <h1 class="aside">{title}</h1>
                    <div class="alone"><DetailView workload detail=Signal::stored(detail)/></div>
                    <KeyHelp keys=Vec::new() class="choice keys"/>
                </main>
            </div>
        }
    })
}
