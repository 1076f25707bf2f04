//! The list of every Deployment of every cluster. Live: replaced whenever a cluster's list changes.

use leptos::prelude::*;
use timeline::frame::{ClusterList, ConnectionState};
use timeline::view::Summary;
use timeline::words::safe;

use crate::address;
use crate::components::connection::{banner, forbidden, state_words};
use crate::components::slots::Slots;
use crate::rows::{Plan, Row, escaped};

/// Id of something in a cluster's section. The clusters are those of the server's start: they do not change while the page
/// lives.
fn id(name: &str, index: usize) -> String {
    format!("{name}-{index}")
}

/// What changes on the page as text.
fn slots(lists: &ArcRwSignal<Vec<ClusterList>>, is_linked: &ArcRwSignal<bool>) -> Slots {
    let mut slots = Slots::default();
    let linked = is_linked.clone();
    let lost = "The connection to Rollcast is lost. What you see is from before; trying again.";
    banner(&mut slots, "banner", move || if linked.get() { "" } else { lost }.to_owned());
    for index in 0..lists.with_untracked(Vec::len) {
        let with = |read: fn(&ClusterList) -> String| {
            let lists = lists.clone();
            move || lists.with(|lists| lists.get(index).map(read).unwrap_or_default())
        };
        slots.text(&id("state", index), with(|list| state_words(&list.connection.state)));
        banner(&mut slots, &id("forbidden", index), with(|list| forbidden(&list.connection)));
        let nothing = with(|list| {
            let is_empty = list.deployments.is_empty() && list.connection.state == ConnectionState::Live;
            if is_empty { "muted" } else { "unused" }.to_owned()
        });
        slots.attribute(&id("nothing", index), "class", nothing);
    }
    slots
}

/// The page.
#[cfg(feature = "ssr")]
pub(super) fn page(clusters: Vec<ClusterList>) -> impl IntoView + use<> {
    use crate::components::connection::bar;
    use crate::components::header::Brand;
    use crate::rows::{Tag, markup};

    let section = |(index, list): (usize, &ClusterList), slots: &Slots| {
        let plans: Vec<Row> = rows(list).iter().map(Plan::row).collect();
        view! {
            <section class="cluster" data-testid="cluster">
                <h2>{safe(&list.cluster)} <span class="muted" id=id("state", index)>{slots.now(&id("state", index))}</span></h2>
                {bar(slots, &id("forbidden", index), "forbidden")}
                <p id=id("nothing", index) class=slots.attribute_now(&id("nothing", index), "class")>
                    "No Deployments here yet. Make one: " <code>"kubectl create deployment web --image=nginx"</code>
                </p>
                <ul class="rows" id=id("rows", index) inner_html=markup(Tag::Item, &plans)></ul>
            </section>
        }
    };
    let lists = ArcRwSignal::new(clusters.clone());
    let slots = slots(&lists, &ArcRwSignal::new(true));
    view! {
        <header class="top"><Brand/></header>
        {bar(&slots, "banner", "banner")}
        <main class="overview" data-testid="overview">
            <h1>"Deployments"</h1>
            {clusters.iter().enumerate().map(|list| section(list, &slots)).collect_view()}
        </main>
    }
}

/// The Deployments of a cluster.
fn rows(list: &ClusterList) -> Vec<Plan<'_>> {
    list.deployments.iter().map(|summary| Plan::made(summary.uid.bits(), row(&list.cluster, summary))).collect()
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

/// Brings the page to life.
#[cfg(feature = "hydrate")]
pub(super) fn take_over(clusters: Vec<ClusterList>, build: String) {
    use crate::board::set_if_new;
    use crate::live::client::{self, Ask, Screen};
    use crate::live::link::LinkState;
    use crate::live::patch::List;
    use crate::rows::Tag;
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
    let adopted = |(index, list): (usize, &ClusterList)| {
        let mut shown = List::new(&id("rows", index), Tag::Item);
        shown.adopt(&rows(list));
        shown
    };
    let rows = RefCell::new(clusters.iter().enumerate().map(adopted).collect());
    let (lists, is_linked) = (ArcRwSignal::new(clusters), ArcRwSignal::new(true));
    slots(&lists, &is_linked).follow();
    client::start(Box::new(ListScreen { lists, is_linked, rows }), Scope::Overview, build);
}
