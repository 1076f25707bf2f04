//! The page of a pod, of a revision, of all rollouts, or of links to share: a detail alone.

use leptos::prelude::*;
use leptos_router::hooks::use_url;
use timeline::{Millis, Workload};

use crate::browser;
use crate::components::detail::past_moment::is_past;
use crate::components::detail::view::DetailView;
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::components::page_keys::KeyHelp;
use crate::components::preview::preview;
use crate::components::title::PageTitle;
use crate::connection::as_it_was;
use crate::context::FirstPayload;
use crate::detail::Detail;
use crate::payload::{DetailPayload, Payload};
use crate::zone::Zone;

/// Place in which a detail is shown.
pub enum DetailPlace {
    /// A page of its own.
    Page,
    /// The panel beside a picture.
    Panel(Workload, Signal<Detail>),
}

/// Shows details of pods, revisions and rollouts. Loads their part of the program first.
#[lazy]
pub fn details(place: DetailPlace) -> AnyView {
    match place {
        DetailPlace::Page => view! { <DetailPage/> }.into_any(),
        DetailPlace::Panel(workload, detail) => view! { <DetailView workload detail/> }.into_any(),
    }
}

/// The page. Whoever comes to it without loading it gets it from the server, which alone knows what it is about.
#[component]
pub fn DetailPage() -> impl IntoView {
    let first = FirstPayload::take(|payload| match payload {
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
                <Header section=Section::Deployments trail=Breadcrumbs::below(&workload)>{past}</Header>
                <main>
                    <h1 class="aside">{title}</h1>
                    <div class="alone"><DetailView workload detail=Signal::stored(detail)/></div>
                    <KeyHelp keys=Vec::new() class="choice keys"/>
                </main>
            </div>
        }
    })
}
