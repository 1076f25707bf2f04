//! The list of Deployments: of every cluster, of one, or of a namespace. Live: only the lines in view travel, and whatever
//! changes in them is made again.

use leptos::prelude::*;
use timeline::frame::ConnectionState;
use timeline::list::{Group, Overall, Query};
use timeline::words::{clock, safe, sentence_end};

use crate::components::connection::{banner, forbidden, state_words};
use crate::components::slots::Slots;
use crate::payload::ListPayload;
use crate::{address, list};

/// What the texts of the page follow.
#[derive(Clone)]
pub(crate) struct ListBoard {
    pub(crate) overall: ArcRwSignal<Overall>,
    pub(crate) query: ArcRwSignal<Query>,
    pub(crate) is_linked: ArcRwSignal<bool>,
}

impl ListBoard {
    fn new(payload: &ListPayload) -> Self {
        Self {
            overall: ArcRwSignal::new(payload.copy().overall),
            query: ArcRwSignal::new(payload.query.clone()),
            is_linked: ArcRwSignal::new(true),
        }
    }
}

/// Id of something that belongs to a cluster or a group. A server that was started again may watch other clusters in their places.
fn id(name: &str, index: usize) -> String {
    format!("{name}-{index}")
}

/// What changes on the page as text.
fn slots(board: &ListBoard) -> Slots {
    let mut slots = Slots::default();
    let linked = board.is_linked.clone();
    let lost = "The connection to Rollcast is lost. What you see is from before; trying again.";
    banner(&mut slots, "banner", move || if linked.get() { "" } else { lost }.to_owned());
    let with = |read: fn(&Overall, &Query) -> String| {
        let of = board.clone();
        move || read(&of.overall.read(), &of.query.read())
    };
    banner(&mut slots, "trouble", with(|overall, _| trouble(overall)));
    slots.text("count", with(|overall, _| list::summary(overall)));
    slots.text("found", with(|overall, _| format!("{} of {}", overall.lines(), overall.all)));
    slots.text("nothing", with(list::nothing));
    slots.attribute("wall", "href", with(|_, query| address::wall(query)));
    slots.attribute("chip-all", "href", with(|_, query| shown(query, None)));
    slots.attribute("by", "href", with(|_, query| address::list(&Query { by: other(query), ..query.clone() })));
    for (index, group) in Group::ALL.into_iter().enumerate() {
        let of = board.clone();
        slots.attribute(&id("chip", index), "href", move || shown(&of.query.read(), Some(group)));
        let of = board.clone();
        slots.text(&id("chip", index), move || list::chip(group, &of.overall.read()));
    }
    for index in 0..board.overall.with_untracked(|overall| overall.clusters.len()) {
        let of = board.clone();
        let connection = move || of.overall.read().clusters.get(index).map(|cluster| cluster.connection.clone());
        let words = connection.clone();
        slots.text(&id("state", index), move || words().as_ref().map(state_words).unwrap_or_default());
        slots.attribute(&id("cluster", index), "class", move || {
            match connection().map(|connection| connection.state) {
                Some(state) if state.is_live() => "chip live".to_owned(),
                Some(ConnectionState::Connecting) => "chip past".to_owned(),
                Some(_) => "chip stale".to_owned(),
                None => "unused".to_owned(),
            }
        });
        let of = board.clone();
        let name =
            move || of.overall.read().clusters.get(index).map(|cluster| cluster.name.clone()).unwrap_or_default();
        let address = name.clone();
        slots.text(&id("name", index), move || safe(&name()));
        slots.attribute(&id("cluster", index), "href", move || address::cluster(&address()));
    }
    slots
}

/// The address of a group's lines.
fn shown(query: &Query, group: Option<Group>) -> String {
    address::list(&Query { group, ..query.clone() })
}

fn other(query: &Query) -> timeline::list::By {
    use timeline::list::By;
    if query.by == By::Place { By::Verdict } else { By::Place }
}

/// What is wrong with the question, or with clusters.
fn trouble(overall: &Overall) -> String {
    let mut words = overall.trouble.clone();
    for cluster in &overall.clusters {
        let name = safe(&cluster.name);
        if let ConnectionState::Stale { since_millis, why, .. } = &cluster.connection.state {
            let since = clock(*since_millis);
            let why = sentence_end(why);
            words.push_str(&format!(" No word from {name} since {since} UTC: {why} What you see of it is from then."));
        }
        let forbidden = forbidden(&cluster.connection);
        if !forbidden.is_empty() {
            words.push_str(&format!(" In {name}: {forbidden}"));
        }
    }
    words.trim_start().to_owned()
}

/// The page.
#[cfg(feature = "ssr")]
pub(super) fn page(payload: &ListPayload) -> impl IntoView + use<> {
    use crate::components::connection::bar;
    use crate::components::header::Brand;
    use crate::rows::{Row, Tag, markup};
    use timeline::list::By;

    let board = ListBoard::new(payload);
    let slots = slots(&board);
    let (copy, query, window) = (payload.copy(), &payload.query, payload.window);
    let ages = list::Ages::told(&copy.overall);
    let part = list::lines_from(&copy.overall, window.from, window.to);
    let rows: Vec<Row> = list::rows(&copy, &part, &ages).iter().map(crate::rows::Plan::row).collect();
    let cluster = |(index, cluster): (usize, &timeline::list::ClusterState)| {
        let (chip, name, state) = (id("cluster", index), id("name", index), id("state", index));
        let (name_now, state_now) = (slots.now(&name), slots.now(&state));
        let (class, href) = (slots.attribute_now(&chip, "class"), slots.attribute_now(&chip, "href"));
        view! {
            <a id=chip class=class href=href data-testid="cluster">
                <i class=format!("accent accent-{}", cluster.accent)></i><span id=name>{name_now}</span>" "<span class="muted" id=state>{state_now}</span>
            </a>
        }
    };
    let chip = |name: String, words: String, is_chosen: bool| {
        let href = slots.attribute_now(&name, "href");
        view! { <a id=name class="choice" href=href aria-current=is_chosen.then_some("true")>{words}</a> }
    };
    let chips = Group::ALL
        .into_iter()
        .enumerate()
        .map(|(index, group)| chip(id("chip", index), slots.now(&id("chip", index)), query.group == Some(group)));
    let by = if query.by == By::Place { "By verdict" } else { "By namespace" };
    // Without scripts there are pages.
    let step = |from: u32, words: &'static str| {
        let address = address::list(query);
        let sign = if address.contains('?') { '&' } else { '?' };
        view! { <a href=format!("{address}{sign}from={from}")>{words}</a> }
    };
    let length = window.to - window.from;
    let earlier = (window.from > 0).then(|| step(window.from.saturating_sub(length), "Lines before"));
    let later = (copy.overall.lines() > window.to).then(|| step(window.to, "More lines"));
    let hidden = |name: &'static str, value: Option<String>| {
        value.map(|value| view! { <input type="hidden" name=name value=value/> })
    };
    let place_only = Query { cluster: query.cluster.clone(), namespace: query.namespace.clone(), ..Query::default() };
    let action = address::list(&place_only);
    view! {
        <header class="top">
            <Brand/>
            <span id="count" class="muted wide">{slots.now("count")}</span>
            <span class="spread"></span>
            <nav class="clusters" aria-label="Clusters">{copy.overall.clusters.iter().enumerate().map(cluster).collect_view()}</nav>
            <a id="wall" class="choice" href=slots.attribute_now("wall", "href")>"Wall"</a>
        </header>
        {bar(&slots, "banner", "banner")}
        {bar(&slots, "trouble", "trouble")}
        <main class="list" data-testid="overview">
            <h1>{list::heading(query)}{(place_only != Query::default()).then(|| view! { " "<a class="choice" href="/">"All"</a> })}</h1>
            // Without scripts it is a plain form.
            <form class="filter" method="get" role="search" action=action>
                <input id="q" type="search" name="q" value=query.text.clone() placeholder="Name, namespace, image, verdict, revision" aria-label="Search" autocomplete="off"/>
                <input id="labels" type="text" name="labels" value=query.labels.clone() placeholder="Labels: app=web,tier!=db" aria-label="Labels" autocomplete="off" spellcheck="false"/>
                {hidden("show", query.group.map(|group| group.name().to_owned()))}
                {hidden("by", (query.by == By::Place).then(|| "namespace".to_owned()))}
                {hidden("namespace", query.namespace.clone().filter(|_| query.cluster.is_none()))}
                <button class="search">"Search"</button>
                <nav class="choices" aria-label="Which">
                    {chip("chip-all".to_owned(), "All".to_owned(), query.group.is_none())}
                    {chips.collect_view()}
                    {chip("by".to_owned(), by.to_owned(), false)}
                </nav>
                <span id="found" class="muted" role="status" data-testid="count">{slots.now("found")}</span>
            </form>
            <div class="rows" id="rows" inner_html=markup(Tag::Block, &rows)></div>
            <p class="muted" id="nothing">{slots.now("nothing")}</p>
            <p class="pages">{earlier}" "{later}</p>
        </main>
    }
}

/// Brings the page to life.
#[cfg(feature = "hydrate")]
pub(super) fn take_over(payload: ListPayload) {
    let board = ListBoard::new(&payload);
    slots(&board).follow();
    crate::live::lines::start(board, payload);
}
