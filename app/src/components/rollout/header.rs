//! The top line of a Deployment's page: brand, where this is, how live it is.

use leptos::prelude::*;
use timeline::view::View;
use timeline::words::safe;

use super::connection::Chip;
use super::icon::TabIcon;
use super::notify::Notify;
use crate::address;
use crate::components::brand::Brand;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;

/// The top line.
#[component]
pub fn Header(
    /// What it follows.
    board: Board,
    /// Title of the page.
    title: Signal<String>,
) -> impl IntoView {
    let workload = board.workload.get_untracked();
    let page = address::whatever_bears_the_name(&workload);
    let controls = Controls::of_page();
    let open = move |path: &'static str| {
        move |event: web_sys::MouseEvent| {
            if let Some(controls) = controls {
                controls.open_link(&event, path.to_owned());
            }
        }
    };
    let tone = Signal::derive(move || board.said(|view| Some(view.verdict.tone)));
    let body =
        Signal::derive(move || board.said(|view: &View| format!("{} {}", view.verdict.sentence, view.explanation())));
    view! {
        <header class="top">
            <Brand/>
            <nav class="crumb" aria-label="Where this is">
                <a class="above" href=address::cluster(&workload.cluster)>{safe(&workload.cluster)}</a>
                <span class="above">" / "</span>
                <a class="above" href=address::namespace(&workload.cluster, &workload.namespace)>{safe(&workload.namespace)}</a>
                <span class="above">" / "</span>
                <b>{safe(&workload.name)}</b>
            </nav>
            <span class="spread"></span>
            <a class="choice" href=format!("{page}/rollouts") on:click=open("rollouts")>"Rollouts"</a>
            <a class="choice" href=format!("{page}/share") on:click=open("share")>"Share"</a>
            <Notify tone=tone title=title body=body is_past=Signal::derive(move || board.time.read().tenths.is_some())/>
            <TabIcon tone=tone/>
            <Chip board/>
        </header>
    }
}
