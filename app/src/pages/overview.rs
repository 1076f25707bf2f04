//! The list of every Deployment of every cluster.

use leptos::prelude::*;
use timeline::frame::{ClusterList, ConnectionState};
use timeline::view::Summary;
use timeline::words::safe;

use crate::address;
use crate::components::connection::{Banner, forbidden, state_words};
use crate::components::header::Brand;
use crate::components::text;
use crate::rows::{Plan, Row, Tag, escaped, markup, rendered};

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
    let section =
        move |(index, cluster): (usize, String)| view! { <ClusterSection lists=lists.clone() cluster index/> };
    let lost = "The connection to Rollcast is lost. What you see is from before; trying again.";
    let banner = text(move || if is_linked.get() { "" } else { lost }.to_owned());
    view! {
        <header class="top"><Brand/></header>
        <Banner words=banner id="banner"/>
        <main class="overview" data-testid="overview">
            <h1>"Deployments"</h1>
            {names.into_iter().enumerate().map(section).collect_view()}
        </main>
    }
}

#[component]
fn ClusterSection(lists: ArcRwSignal<Vec<ClusterList>>, cluster: String, index: usize) -> impl IntoView {
    let first = || {
        lists.with_untracked(|lists| {
            let plans = lists.get(index).map(rows).unwrap_or_default();
            markup(Tag::Item, &plans.iter().map(Plan::row).collect::<Vec<_>>())
        })
    };
    let first = rendered(first);
    let with = |read: fn(&ClusterList) -> String| {
        let lists = lists.clone();
        text(move || lists.with(|lists| lists.get(index).map(read).unwrap_or_default()))
    };
    let nothing = with(|list| {
        let is_empty = list.deployments.is_empty() && list.connection.state == ConnectionState::Live;
        if is_empty { "muted" } else { "unused" }.to_owned()
    });
    view! {
        <section class="cluster" data-testid="cluster">
            <h2>{cluster} <span class="muted">{with(|list| state_words(&list.connection.state))}</span></h2>
            <Banner words=with(|list| forbidden(&list.connection)) id="forbidden"/>
            <p class=nothing>"No Deployments here yet. Make one: " <code>"kubectl create deployment web --image=nginx"</code></p>
            <ul class="rows" id=rows_id(index) inner_html=first></ul>
        </section>
    }
}

/// Id of the list of a cluster's Deployments.
fn rows_id(index: usize) -> String {
    format!("rows-{index}")
}

/// The Deployments of a cluster.
fn rows(list: &ClusterList) -> Vec<Plan<'_>> {
    list.deployments
        .iter()
        .map(|summary| Plan::made(summary.uid.bits(), row(&list.cluster, summary)))
        .collect()
}

fn row(cluster: &str, summary: &Summary) -> Row {
    let verdict = &summary.verdict;
    Row {
        inside: format!(
            "<a class=\"row\" href=\"{}\" data-testid=\"deployment\"><span class=\"name\"><span class=\"muted\">{} / </span><b>{}</b></span><span class=\"badge {}\">{}</span><span class=\"sentence\">{}</span><span class=\"mono muted image\">{}</span></a>",
            escaped(&address::deployment(cluster, &summary.namespace, &summary.name)),
            escaped(&safe(&summary.namespace)),
            escaped(&safe(&summary.name)),
            verdict.tone.name(),
            escaped(&verdict.badge),
            escaped(&verdict.sentence),
            escaped(&summary.images),
        ),
        ..Row::default()
    }
}

#[cfg(not(feature = "hydrate"))]
fn go_live(_: ArcRwSignal<Vec<ClusterList>>, _: ArcRwSignal<bool>, _: String) {}

#[cfg(feature = "hydrate")]
fn go_live(lists: ArcRwSignal<Vec<ClusterList>>, is_linked: ArcRwSignal<bool>, build: String) {
    use crate::board::set_if_new;
    use crate::live::client::{self, Ask, Screen};
    use crate::live::link::LinkState;
    use crate::live::patch::List;
    use std::cell::RefCell;
    use timeline::frame::{Position, Scope, ServerFrame};

    struct ListScreen {
        lists: ArcRwSignal<Vec<ClusterList>>,
        is_linked: ArcRwSignal<bool>,
        rows: RefCell<Vec<List>>,
    }
    impl Screen for ListScreen {
        fn link(&self, state: LinkState, _: f64) {
            set_if_new(&self.is_linked, matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. }));
        }
        fn frames(&self, frames: Vec<ServerFrame>, _: f64) -> Ask {
            for frame in frames {
                if let ServerFrame::Overview(all) = frame {
                    self.rows.borrow_mut().iter_mut().zip(&all).for_each(|(shown, list)| shown.show(&rows(list)));
                    set_if_new(&self.lists, all);
                }
            }
            Ask::Nothing
        }
        fn animate(&self, _: f64) -> Ask {
            Ask::Nothing
        }
        fn position(&self) -> Option<Position> {
            None
        }
    }
    leptos::prelude::request_animation_frame(move || {
        let adopted = |(index, list): (usize, &ClusterList)| {
            let mut shown = List::new(&rows_id(index), Tag::Item);
            shown.adopt(&rows(list));
            shown
        };
        let shown = lists.with_untracked(|lists| lists.iter().enumerate().map(adopted).collect());
        client::start(ListScreen { lists, is_linked, rows: RefCell::new(shown) }, Scope::Overview, build)
    });
}
