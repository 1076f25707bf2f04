//! The list of every Deployment of every cluster.

use leptos::prelude::*;
use timeline::frame::{ClusterList, ConnectionState};
use timeline::view::Summary;

use crate::address;
use crate::components::connection::{ForbiddenNotes, state_words};
use crate::components::header::Brand;
use crate::components::text;

/// The list. Live: replaced whenever a cluster's list changes.
#[component]
pub fn Overview(
    /// Build of the page.
    page_build: String,
    /// The list.
    clusters: Vec<ClusterList>,
) -> impl IntoView {
    let lists = ArcRwSignal::new(clusters);
    let is_linked = ArcRwSignal::new(true);
    go_live(lists.clone(), is_linked.clone(), page_build);
    // The clusters are those of the server's start: they do not change while the page lives.
    let names: Vec<String> = lists.with_untracked(|lists| lists.iter().map(|list| list.cluster.clone()).collect());
    let section = move |cluster: String| view! { <ClusterSection lists=lists.clone() cluster/> };
    let lost = "The connection to Rollcast is lost. What you see is from before; trying again.";
    view! {
        <header class="top"><Brand/></header>
        {move || (!is_linked.get()).then(|| view! { <div class="banner" role="status" data-testid="banner">{lost}</div> })}
        <main class="overview" data-testid="overview">
            <h1>"Deployments"</h1>
            {names.into_iter().map(section).collect_view()}
        </main>
    }
}

#[component]
fn ClusterSection(lists: ArcRwSignal<Vec<ClusterList>>, cluster: String) -> impl IntoView {
    let name = cluster.clone();
    let list = Memo::new(move |_| lists.with(|lists| lists.iter().find(|list| list.cluster == name).cloned()));
    let connection = move || list.with(|list| list.as_ref().map(|list| list.connection.clone()).unwrap_or_default());
    let state = text(move || state_words(&connection().state));
    let is_empty = move || list.with(|list| list.as_ref().is_none_or(|list| list.deployments.is_empty()));
    let is_live = move || matches!(connection().state, ConnectionState::Live);
    let cluster_of_row = cluster.clone();
    let rows = move || list.with(|list| list.as_ref().map(|list| list.deployments.clone()).unwrap_or_default());
    view! {
        <section class="cluster" data-testid="cluster">
            <h2>{cluster} <span class="muted">{state}</span></h2>
            <ForbiddenNotes connection=Signal::derive(connection)/>
            {move || (is_empty() && is_live()).then(|| view! {
                <p class="muted">"No Deployments here yet. Make one: " <code>"kubectl create deployment web --image=nginx"</code></p>
            })}
            <ul class="rows">
                {move || rows().into_iter().map(|summary| view! { <DeploymentRow cluster=cluster_of_row.clone() summary/> }).collect_view()}
            </ul>
        </section>
    }
}

#[component]
fn DeploymentRow(cluster: String, summary: Summary) -> impl IntoView {
    let address = address::deployment(&cluster, &summary.namespace, &summary.name);
    view! {
        <li>
            <a class="row" href=address data-testid="deployment">
                <span class="name"><span class="muted">{summary.namespace}" / "</span><b>{summary.name}</b></span>
                <span class=format!("badge {}", summary.verdict.tone.name())>{summary.verdict.badge}</span>
                <span class="sentence">{summary.verdict.sentence}</span>
                <span class="mono muted image">{summary.images}</span>
            </a>
        </li>
    }
}

#[cfg(not(feature = "hydrate"))]
fn go_live(_: ArcRwSignal<Vec<ClusterList>>, _: ArcRwSignal<bool>, _: String) {}

#[cfg(feature = "hydrate")]
fn go_live(lists: ArcRwSignal<Vec<ClusterList>>, is_linked: ArcRwSignal<bool>, build: String) {
    use crate::board::set_if_new;
    use crate::live::client::{self, Ask, Screen};
    use crate::live::link::LinkState;
    use timeline::frame::{Position, Scope, ServerFrame};

    struct ListScreen {
        lists: ArcRwSignal<Vec<ClusterList>>,
        is_linked: ArcRwSignal<bool>,
    }
    impl Screen for ListScreen {
        fn link(&self, state: LinkState, _: f64) {
            set_if_new(&self.is_linked, matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. }));
        }
        fn frames(&self, frames: Vec<ServerFrame>, _: f64) -> Ask {
            for frame in frames {
                if let ServerFrame::Overview(all) = frame {
                    set_if_new(&self.lists, all);
                }
            }
            Ask::Nothing
        }
        fn animate(&self, _: f64) {}
        fn position(&self) -> Option<Position> {
            None
        }
    }
    leptos::prelude::request_animation_frame(move || {
        client::start(ListScreen { lists, is_linked }, Scope::Overview, build)
    });
}
