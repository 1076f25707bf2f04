//! The top line of a Deployment's page: brand, where this is, how live it is.

use leptos::prelude::*;
use timeline::view::View;
use timeline::words::safe;

use super::connection::Chip;
use super::icon::TabIcon;
use super::notify::Notify;
use crate::address;
use crate::components::brand::Brand;
use crate::components::detail::link::DetailLink;
use crate::exported::Exported;
use crate::rollout::board::Board;

/// The top line of a Deployment's page: where it is, what can be done with it, and how the connection is.
#[component]
pub fn Header(
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
    view! {
        <header class="top">
            {if is_file { view! { <b class="brand">"Rollcast"</b> }.into_any() } else { view! { <Brand/> }.into_any() }}
            <nav class="crumb" aria-label="Where this is">
                {above(is_file, address::cluster(&workload.cluster), safe(&workload.cluster))}
                <span class="above">" / "</span>
                {above(is_file, address::namespace(&workload.cluster, &workload.namespace), safe(&workload.namespace))}
                <span class="above">" / "</span>
                <b>{safe(&workload.name)}</b>
            </nav>
            <span class="spread"></span>
            <DetailLink workload=workload.clone() path="rollouts".to_owned() class="choice">"Rollouts"</DetailLink>
            // A file is shared by handing it on, and nothing happens in it.
            {(!is_file).then(|| view! {
                <DetailLink workload=workload.clone() path="share".to_owned() class="choice">"Share"</DetailLink>
                <Notify page=address::whatever_bears_the_name(&workload) standing title=title body=body is_past=Signal::derive(move || board.time.read().tenths.is_some())/>
            })}
            <TabIcon tone=tone/>
            <Chip board/>
        </header>
    }
}

/// A list above this page; in a file only its name.
fn above(is_file: bool, address: String, name: String) -> impl IntoView {
    let href = (!is_file).then_some(address);
    view! { <a class="above" href=href>{name}</a> }
}
