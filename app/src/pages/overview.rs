//! The list of Deployments: of every cluster, or of one, or of a namespace. Live: whatever changes, the rows in question
//! are made again.

use leptos::prelude::*;
use timeline::frame::{ClusterList, ConnectionState};
use timeline::order;
use timeline::view::Summary;
use timeline::words::{clock, safe};

use crate::address;
use crate::components::connection::{banner, forbidden, state_words};
use crate::components::slots::Slots;
use crate::filter::Filter;
use crate::rows::{Plan, Row, escaped};

/// Width of the tiny score, in pixels.
const BAR: u32 = 96;
/// What its parts are, in the order of a summary's counts.
const PARTS: [&str; 4] = ["available", "old", "not-yet", "terminating"];

/// Id of something in a cluster's section. The clusters are those of the server's start: they do not change while the page
/// lives.
fn id(name: &str, index: usize) -> String {
    format!("{name}-{index}")
}

/// The list and what of it is shown.
#[derive(Clone)]
struct Shown {
    lists: ArcRwSignal<Vec<ClusterList>>,
    filter: ArcRwSignal<Filter>,
    is_linked: ArcRwSignal<bool>,
}

impl Shown {
    fn new(clusters: Vec<ClusterList>, filter: Filter) -> Self {
        Self { lists: ArcRwSignal::new(clusters), filter: ArcRwSignal::new(filter), is_linked: ArcRwSignal::new(true) }
    }
}

/// What changes on the page as text.
fn slots(shown: &Shown) -> Slots {
    let mut slots = Slots::default();
    let linked = shown.is_linked.clone();
    let lost = "The connection to Rollcast is lost. What you see is from before; trying again.";
    banner(&mut slots, "banner", move || if linked.get() { "" } else { lost }.to_owned());
    let of = shown.clone();
    slots.text("count", move || {
        let (lists, filter) = (of.lists.read(), of.filter.read());
        let all = lists.iter().map(|list| list.deployments.len()).sum::<usize>();
        let some: usize = lists.iter().map(|list| matching(list, &filter).count()).sum();
        if some == all { format!("{all} in all") } else { format!("{some} of {all}") }
    });
    for index in 0..shown.lists.with_untracked(Vec::len) {
        let with = |read: fn(&ClusterList, &Filter) -> String| {
            let of = shown.clone();
            move || of.lists.read().get(index).map(|list| read(list, &of.filter.read())).unwrap_or_default()
        };
        slots.text(&id("state", index), with(|list, _| state_words(&list.connection.state)));
        banner(&mut slots, &id("forbidden", index), with(|list, _| forbidden(&list.connection)));
        let nothing = |list: &ClusterList, filter: &Filter| {
            let has_some = matching(list, filter).next().is_some();
            let is_known = list.connection.state == ConnectionState::Live;
            match (list.deployments.is_empty(), has_some) {
                (true, _) if is_known => {
                    "No Deployments here yet. Make one: kubectl create deployment web --image=nginx".to_owned()
                }
                (false, false) => "Nothing here that matches.".to_owned(),
                _ => String::new(),
            }
        };
        slots.text(&id("nothing", index), with(nothing));
    }
    slots
}

/// The page.
#[cfg(feature = "ssr")]
pub(super) fn page(clusters: Vec<ClusterList>, filter: Filter) -> impl IntoView + use<> {
    use crate::components::connection::bar;
    use crate::components::header::Brand;
    use crate::rows::{Tag, markup};

    let section = |(index, list): (usize, &ClusterList), slots: &Slots| {
        let plans: Vec<Row> = rows(list, &filter).iter().map(Plan::row).collect();
        view! {
            <section class="cluster" data-testid="cluster">
                <h2><a href=address::cluster(&list.cluster)>{safe(&list.cluster)}</a> <span class="muted" id=id("state", index)>{slots.now(&id("state", index))}</span></h2>
                {bar(slots, &id("forbidden", index), "forbidden")}
                <p class="muted" id=id("nothing", index)>{slots.now(&id("nothing", index))}</p>
                <ul class="rows" id=id("rows", index) inner_html=markup(Tag::Item, &plans)></ul>
            </section>
        }
    };
    let slots = slots(&Shown::new(clusters.clone(), filter.clone()));
    let place = match (&filter.cluster, &filter.namespace) {
        (Some(cluster), Some(namespace)) => format!("Deployments of {} / {}", safe(cluster), safe(namespace)),
        (Some(cluster), None) => format!("Deployments of {}", safe(cluster)),
        _ => "Deployments".to_owned(),
    };
    let is_shown = |list: &ClusterList| filter.cluster.as_ref().is_none_or(|only| *only == list.cluster);
    let tones =
        [("", "every verdict"), ("bad", "stuck"), ("busy", "under way"), ("ok", "complete"), ("quiet", "quiet")];
    let option = |(value, words): (&'static str, &'static str)| {
        let is_chosen = filter.tone == value;
        view! { <option value=value selected=is_chosen>{words}</option> }
    };
    view! {
        <header class="top">
            <Brand/>
            {filter.cluster.is_some().then(|| view! { <nav class="crumb"><a href="/">"All clusters"</a></nav> })}
        </header>
        {bar(&slots, "banner", "banner")}
        <main class="overview" data-testid="overview">
            <h1>{place}</h1>
            // Without scripts it is a plain form.
            <form class="filter" method="get" role="search">
                <input id="q" type="search" name="q" value=filter.text.clone() placeholder="Name, namespace, image, verdict, revision" aria-label="Search" autocomplete="off"/>
                <select id="tone" name="tone" aria-label="Verdict">{tones.into_iter().map(option).collect_view()}</select>
                <button class="search">"Search"</button>
                <span id="count" class="muted" role="status" data-testid="count">{slots.now("count")}</span>
            </form>
            {clusters.iter().enumerate().filter(|(_, list)| is_shown(list)).map(|list| section(list, &slots)).collect_view()}
        </main>
    }
}

/// The Deployments of a cluster that are shown.
fn matching<'l>(list: &'l ClusterList, filter: &Filter) -> impl Iterator<Item = &'l Summary> {
    list.deployments.iter().filter(move |summary| filter.shows(&list.cluster, summary))
}

/// Their rows, in order.
fn rows<'l>(list: &'l ClusterList, filter: &Filter) -> Vec<Plan<'l>> {
    let shown = order::by(matching(list, filter).collect(), |summary: &&Summary| Filter::rank(summary));
    let plan = |summary: &'l Summary| Plan::made(summary.uid.bits(), row(&list.cluster, summary));
    shown.into_iter().map(plan).collect()
}

fn row(cluster: &str, summary: &Summary) -> Row {
    let verdict = &summary.verdict;
    Row {
        inside: format!(
            "<a class=\"row\" href=\"{}\" data-testid=\"deployment\"><span class=\"name\"><span class=\"muted\">{} / </span><b>{}</b></span><span class=\"badge {}\">{}</span>{}<span class=\"sentence\">{}</span><span class=\"mono muted image\">{}</span><span class=\"muted since\">{}</span></a>",
            escaped(&address::deployment(cluster, &summary.namespace, &summary.name)),
            escaped(&safe(&summary.namespace)),
            escaped(&safe(&summary.name)),
            verdict.tone.name(),
            escaped(&verdict.badge),
            tiny(summary),
            escaped(&verdict.sentence),
            escaped(&summary.images),
            clock(summary.since_millis),
        ),
        ..Row::default()
    }
}

/// The tiny score: pods by what they do, side by side.
fn tiny(summary: &Summary) -> String {
    let all = summary.pods.iter().sum::<u32>().max(1);
    let mut out =
        format!("<svg class=\"tiny\" viewBox=\"0 0 {BAR} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    let mut from = 0;
    for (part, pods) in PARTS.into_iter().zip(summary.pods) {
        let to = from + pods;
        let (left, right) = (from * BAR / all, to * BAR / all);
        if right > left {
            out.push_str(&format!("<rect class=\"{part}\" x=\"{left}\" width=\"{}\" height=\"10\"/>", right - left));
        }
        from = to;
    }
    out.push_str("</svg>");
    out
}

/// Brings the page to life.
#[cfg(feature = "hydrate")]
pub(super) fn take_over(clusters: Vec<ClusterList>, filter: Filter, build: String) {
    use crate::board::set_if_new;
    use crate::live::client::{self, Ask, Screen};
    use crate::live::link::LinkState;
    use crate::live::patch::List;
    use crate::live::search;
    use crate::rows::Tag;
    use std::cell::RefCell;
    use std::rc::Rc;
    use timeline::frame::{Position, Scope, ServerFrame};

    struct ListScreen {
        shown: Shown,
        rows: Rc<RefCell<Vec<List>>>,
    }
    impl Screen for ListScreen {
        fn link(&self, state: LinkState, _: f64) {
            set_if_new(&self.shown.is_linked, matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. }));
        }
        fn frames(&self, frames: Vec<ServerFrame>, _: f64) -> Ask {
            for frame in frames {
                if let ServerFrame::Overview(all) = frame {
                    set_if_new(&self.shown.lists, all);
                }
            }
            show(&self.shown, &self.rows);
            Ask::Nothing
        }
        fn animate(&self, _: f64) -> Ask {
            Ask::Nothing
        }
        fn position(&self) -> Option<Position> {
            None
        }
    }
    fn show(shown: &Shown, lists: &RefCell<Vec<List>>) {
        let (all, filter) = (shown.lists.read_untracked(), shown.filter.read_untracked());
        lists.borrow_mut().iter_mut().zip(all.iter()).for_each(|(list, all)| list.show(&rows(all, &filter)));
    }

    let adopted = |(index, list): (usize, &ClusterList)| {
        let mut shown = List::new(&id("rows", index), Tag::Item);
        shown.adopt(&rows(list, &filter));
        shown
    };
    let lists = Rc::new(RefCell::new(clusters.iter().enumerate().map(adopted).collect()));
    let shown = Shown::new(clusters, filter);
    slots(&shown).follow();
    let (of, kept) = (shown.clone(), lists.clone());
    search::attach(move |text, tone| {
        of.filter.update(|filter| (filter.text, filter.tone) = (text, tone));
        show(&of, &kept);
    });
    client::start(Box::new(ListScreen { shown, rows: lists }), Scope::Overview, build);
}
