//! The page of a pod, of a revision, of all rollouts, or of links to share: a detail alone.

use leptos::prelude::*;
use leptos_router::hooks::use_url;
use timeline::{Millis, Workload};

use crate::browser;
use crate::components::detail::following::{content, following};
use crate::components::detail::moment::is_past;
use crate::components::detail::pod::PodView;
use crate::components::detail::revision::RevisionView;
use crate::components::detail::rollouts::RolloutsView;
use crate::components::detail::share::ShareView;
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::components::page_keys::KeyHelp;
use crate::components::preview::preview;
use crate::components::title::PageTitle;
use crate::connection::as_it_was;
use crate::context::take_payload;
use crate::detail::Detail;
use crate::payload::{DetailPayload, Payload};
use crate::zone::Zone;

/// Shows a detail of a workload in the panel beside its picture; without a panel, the page of the detail. Loads the part of the program for
/// details first.
#[lazy]
pub fn details(in_panel: Option<(Workload, Signal<Detail>)>) -> AnyView {
    match in_panel {
        Some((workload, detail)) => view! { <DetailView workload detail/> }.into_any(),
        None => view! { <DetailPage/> }.into_any(),
    }
}

/// The page of a detail. After in-page navigation the content comes from the server, as only the server can create it.
#[component]
pub fn DetailPage() -> impl IntoView {
    let first = take_payload(|payload| if let Payload::Detail(detail) = payload { Some(*detail) } else { None });
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

/// The detail. While its subject stays the same, only changed parts are rendered again, so that focus and scroll position stay.
#[component]
fn DetailView(workload: Workload, detail: Signal<Detail>) -> impl IntoView {
    let workload = StoredValue::new(workload);
    let subject = Memo::new(move |_| detail.with(Detail::subject));
    move || {
        let _ = subject.get(); // another subject needs a new view
        match detail.get_untracked() {
            Detail::Pod(first) => view! { <PodView workload pod=content!(detail, first, Detail::Pod)/> }.into_any(),
            Detail::Revision(first) => {
                view! { <RevisionView workload revision=content!(detail, first, Detail::Revision)/> }.into_any()
            }
            Detail::Rollouts(first) => {
                view! { <RolloutsView workload rollouts=content!(detail, first, Detail::Rollouts)/> }.into_any()
            }
            Detail::Share(first) => {
                view! { <ShareView workload share=content!(detail, first, Detail::Share)/> }.into_any()
            }
        }
    }
}
