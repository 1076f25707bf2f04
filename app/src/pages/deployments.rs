//! The list of Deployments: of every cluster, of one, or of a namespace. Live: only the rows in view are sent, and all changes of them are
//! shown.

use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_url};
use timeline::address::{self, Parameters, at};
use timeline::list::{Overall, Query, Window};

use crate::browser::{self, STOPPED};
use crate::components::banner::Banner;
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::components::list::clusters::Clusters;
use crate::components::list::columns::Columns;
use crate::components::list::filter::Filter;
use crate::components::list::rows::ListRows;
use crate::components::preview::preview;
use crate::components::title::PageTitle;
use crate::connection::{next_try, server_unreachable};
use crate::context::take_payload;
use crate::list::board::ListBoard;
use crate::list::memory::{ListMemory, SavedList};
use crate::list::screen::{FIRST, ListScreen, in_view};
use crate::list::{Ages, LiveList, keys, visible_rows, words};
use crate::live::client::Live;
use crate::payload::{ListPayload, Payload};
use crate::zone::Zone;

#[component]
pub fn DeploymentsPage() -> impl IntoView {
    let query = use_query();
    let board = ListBoard::new(query);
    let search = NodeRef::new();
    let rendered = begin(board);
    Effect::new(move |_| browser::on_key(move |event| keys::handle_key(event, search, board)));
    let zone = Zone::of_page();
    let overall = board.overall;
    let live = Live::of_app();
    let lost =
        move || if board.is_linked.get() { String::new() } else { server_unreachable(None, overall.read().all > 0) };
    let next = move || if board.is_linked.get() { String::new() } else { next_try(live.retry_seconds.get()) };
    let is_part = move || query.with(|query| query.cluster.is_some() || query.namespace.is_some());
    let heading = Memo::new(move |_| words::heading(&query.read()));
    let trail = move || {
        let Query { cluster, namespace, .. } = query.get();
        Breadcrumbs {
            cluster: cluster.unwrap_or_default(),
            namespace: namespace.unwrap_or_default(),
            ..Breadcrumbs::default()
        }
    };
    if let Some(page) = &rendered {
        preview(|| page.preview());
    }
    let rows = overall.with_untracked(Overall::rows);
    // A browser that reloads the page finds the same height and restores its scroll position. Without scripts, or if the program cannot
    // start, nothing would fill that space.
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string());
    let room = board.after.get_untracked().style();
    let sheet = format!("@media(scripting:enabled){{#{STOPPED}.unused~main>#rows>:last-child{{{room}}}}}");
    let placed = rendered.is_some().then(|| view! { <style nonce=nonce inner_html=sheet></style> });
    let pages = rendered.map(|page| view! { <Pages query=page.query window=page.window rows/> });
    let recorded = move || words::recording_days(&overall.read(), |at_millis| zone.date(at_millis));
    // An empty list needs no search and no legend.
    let class = move || if overall.read().all == 0 && words::is_whole(&query.read()) { "list empty" } else { "list" };
    view! {
        <PageTitle place=heading text=Signal::derive(move || words::tab_title(&overall.read(), &query.read(), board.is_linked.get()))/>
        <Header section=Section::Deployments trail=trail wall=Signal::derive(move || Some(address::wall(&query.read())))>
            <span id="count" class="muted wide">{move || words::summary(&overall.read())}</span>
            <Clusters board/>
        </Header>
        <Banner test_id="banner" words=lost countdown=next/>
        <Banner test_id="trouble" words=move || words::trouble(&overall.read(), zone) countdown=move || words::next_retry(&overall.read(), zone)/>
        <main class=class data-testid="overview">
            <h1>{move || heading.get()}" "<a class=move || if is_part() { "choice" } else { "unused" } href=at("/") aria-label="All Deployments">"All"</a><span class="muted recorded">{recorded}</span></h1>
            <Filter board search/>
            // Below the links of the filter, so that those do not move when the notice changes.
            <Banner test_id="mistake" words=move || overall.read().trouble.clone()/>
            <Columns board/>
            {placed}
            <ListRows board/>
            <Nothing board/>
            {pages}
        </main>
    }
}

fn use_query() -> Memo<Query> {
    let (params, url) = (use_params_map(), use_url());
    Memo::new(move |_| {
        let params = params.read();
        Parameters::parse(url.read().search()).query(params.get("cluster"), params.get("namespace"))
    })
}

/// Shows the first content, and follows the list until the viewer leaves the page; returns the payload of the document.
fn begin(board: ListBoard) -> Option<ListPayload> {
    let (live, memory) = (Live::of_app(), ListMemory::of_app());
    let written = use_url().with_untracked(browser::path_with_search);
    let rendered = take_payload(|payload| if let Payload::List(list) = payload { Some(*list) } else { None });
    let recall = || memory.recall(&address::list(&board.query.read_untracked()), &written);
    let saved = if rendered.is_none() { recall() } else { None };
    let first = rendered.as_ref().map(|payload| (payload.copy(), payload.window));
    if let Some((copy, window)) = &first {
        board.set_overall(&copy.overall);
        let part = visible_rows::rows_from(&copy.overall, window.from, window.to);
        board.show(copy, &part, &Ages::from_overall(&copy.overall));
    } else if let Some(left) = &saved {
        board.set_overall(&left.live_list.copy.overall);
        board.show(&left.live_list.copy, &in_view(left), &left.live_list.ages(browser::page_millis()));
    }
    let begin = move || {
        let list = match first {
            Some((copy, window)) => SavedList::from_top(LiveList::from_copy(copy, browser::page_millis()), window),
            // Without a payload or a stored list: the viewer came by a link.
            None => saved.unwrap_or_else(|| SavedList::from_top(LiveList::default(), FIRST)),
        };
        ListScreen::new(board, memory, list)
    };
    live.show(begin);
    rendered
}

/// Text of a list without rows, with a link to all Deployments.
#[component]
fn Nothing(board: ListBoard) -> impl IntoView {
    let said = Memo::new(move |_| match board.is_known.get() {
        true => words::empty_list_words(&board.overall.read(), &board.query.read()),
        false => Default::default(),
    });
    let class = move || if said.read().0.is_empty() { "unused" } else { "muted nothing" };
    view! {
        <p class=class>
            {move || with_commands(&said.read().0)}" "<a class=move || if said.read().1 { "" } else { "unused" } href=at("/")>"Show all Deployments"</a>
        </p>
    }
}

/// Renders a text whose parts between backticks are commands.
fn with_commands(text: &str) -> Vec<AnyView> {
    let piece = |(number, text): (usize, &str)| {
        let text = text.to_owned();
        if number % 2 == 1 { view! { <code>{text}</code> }.into_any() } else { text.into_any() }
    };
    text.split('`').enumerate().map(piece).collect()
}

/// Links to the rows before and after the rendered ones, for browsers without scripts; hidden once the page is hydrated.
#[component]
fn Pages(query: Query, window: Window, rows: u32) -> impl IntoView {
    let address = address::list(&query);
    let sign = if address.contains('?') { '&' } else { '?' };
    let step =
        move |from: u32, words: &'static str| view! { <a href=format!("{address}{sign}from={from}")>{words}</a> };
    let length = window.to - window.from;
    let earlier = (window.from > 0).then(|| step(window.from.saturating_sub(length), "Lines before"));
    let later = (rows > window.to).then(|| step(window.to, "More lines"));
    view! { <p class="pages">{earlier}" "{later}</p> }
}
