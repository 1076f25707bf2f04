//! Buttons of the header of a Deployment's page, and its connection.

use leptos::prelude::*;
use timeline::address;
use timeline::view::View;

use super::connection::Chip;
use super::icon::TabIcon;
use super::notify::Notify;
use crate::components::detail::link::DetailLink;
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::exported::Exported;
use crate::rollout::board::Board;

/// The header of a Deployment's page.
#[component]
pub fn RolloutHeader(
    /// The state of the Deployment's page, which this follows.
    board: Board,
    /// The title of the page, which notifications have too.
    title: Signal<String>,
) -> impl IntoView {
    let workload = board.workload.get_untracked();
    let is_file = Exported::of_app().is_some();
    let tone = Signal::derive(move || board.said(|view| Some(view.verdict.tone)));
    let standing = Signal::derive(move || board.said(|view| Some((view.verdict.tone, view.revision))));
    let body =
        Signal::derive(move || board.said(|view: &View| format!("{} {}", view.verdict.sentence, view.explanation())));
    // Of what is not there, there is nothing to open.
    let is_there = Memo::new(move |_| board.view.read().is_some());
    view! {
        <Header section=Section::Deployments trail=Breadcrumbs::for_workload(&workload)>
            <div class=move || if is_there.get() { "actions" } else { "unused" }>
                <DetailLink workload=workload.clone() path="rollouts".to_owned() class="choice">"Rollouts"</DetailLink>
                // A file is shared by handing it on, and nothing happens in it.
                {(!is_file).then(|| view! {
                    <DetailLink workload=workload.clone() path="share".to_owned() class="choice">"Share"</DetailLink>
                    <Notify page=address::whatever_bears_the_name(&workload) standing title=title body=body is_past=Signal::derive(move || board.time.read().tenths.is_some())/>
                })}
            </div>
            <TabIcon tone=tone/>
            <Chip board/>
        </Header>
    }
}
