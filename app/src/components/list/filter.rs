//! Filter of the list: words, labels, groups, and the grouping of rows. Works as a plain form without scripts.

use std::time::Duration;

use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use timeline::address::{self, Parameters};
use timeline::list::{By, Group, Query};
use timeline::words::grouped;

use crate::browser;
use crate::components::page_keys::KeyHelp;
use crate::list::board::ListBoard;
use crate::list::{keys, words};

/// Largest length of each input: the server rejects frames longer than [`timeline::wire::MAX_VIEWER_FRAME`].
const MOST_LETTERS: &str = "500";

/// Delay of a search after the last key: each search sends whole rows.
const SETTLED: Duration = Duration::from_millis(150);

/// Renders the filter of the list: a form that also works without scripts.
#[component]
pub fn Filter(
    board: ListBoard,
    /// The input for words that must all appear, as the target of a shortcut key.
    search: NodeRef<html::Input>,
) -> impl IntoView {
    let (query, label_selector) = (board.query, NodeRef::<html::Input>::new());
    let navigate = use_navigate();
    // The address contains the search.
    let seek = Callback::new(move |()| {
        let written =
            |input: NodeRef<html::Input>| input.get_untracked().map(|input| input.value()).unwrap_or_default();
        let wanted = Query { text: written(search), labels: written(label_selector), ..query.get_untracked() };
        navigate(
            &address::list(&wanted),
            NavigateOptions { replace: true, scroll: false, resolve: false, ..NavigateOptions::default() },
        );
    });
    // Typed text that was not searched for yet.
    let waiting = StoredValue::new(0_u32);
    let path = use_location().pathname;
    let typed = move |_| {
        let typed_at = path.get_untracked();
        waiting.update_value(|letters| *letters += 1);
        browser::run_after(SETTLED, move || {
            let letters = waiting.try_update_value(|letters| {
                *letters -= 1;
                *letters
            });
            // Meanwhile the viewer may have left the page, or the router may be loading another one.
            if letters == Some(0) && path.get_untracked() == typed_at {
                seek.run(());
            }
        });
    };
    Effect::new(move |before: Option<()>| {
        let (text, labels) = query.with(|query| (query.text.clone(), query.labels.clone()));
        let (Some(text_input), Some(labels_input)) = (search.get(), label_selector.get()) else { return };
        let is_same = (text_input.value(), labels_input.value()) == (text.clone(), labels.clone());
        if is_same || waiting.get_value() > 0 {
            return;
        }
        if before.is_none() {
            seek.run(()); // typed before the page's program started
        } else {
            text_input.set_value(&text);
            labels_input.set_value(&labels);
        }
    });
    // Screen readers announce the number of rows after a search, and not after each change in the clusters.
    let is_searching = RwSignal::new(false);
    let live = move || if is_searching.get() { "polite" } else { "off" };
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        seek.run(());
    };
    let place = move || {
        let Query { cluster, namespace, .. } = query.get();
        address::list(&Query { cluster, namespace, ..Query::default() })
    };
    // Hidden fields keep the other parameters of the address when the form is submitted without scripts.
    let kept = move || {
        let address = address::list(&Query { text: String::new(), labels: String::new(), ..query.get() });
        let (_, parameters) = address.split_once('?').unwrap_or_default();
        let field = |(name, value): (&str, &str)| {
            let (name, value) = (name.to_owned(), value.to_owned());
            view! { <input type="hidden" name=name value=value/> }
        };
        Parameters::parse(parameters).pairs().map(field).collect_view()
    };
    let pressed = move |event: ev::KeyboardEvent| keys::handle_field_key(&event, board);
    let is_invalid = move || board.overall.read().is_selector_invalid.then_some("true");
    let first = query.get_untracked();
    view! {
        <form class="filter" method="get" role="search" action=place on:submit=submit on:focusin=move |_| is_searching.set(true) on:focusout=move |_| is_searching.set(false)>
            <input id="q" type="search" name="q" value=first.text node_ref=search on:keydown=pressed on:input=typed maxlength=MOST_LETTERS placeholder="Name, image, status, revision" aria-label="Search" autocomplete="off"/>
            <input id="labels" type="text" name="labels" value=first.labels node_ref=label_selector on:keydown=pressed on:input=typed maxlength=MOST_LETTERS placeholder="Labels: app=web,tier!=db" aria-label="Labels" aria-describedby="mistake" aria-invalid=is_invalid autocomplete="off" spellcheck="false"/>
            {kept}
            <button class="search">"Search"</button>
            <Choices board/>
            <span id="found" class="muted" role="status" aria-live=live data-testid="count">
                {move || board.overall.with(|overall| format!("{} of {}", grouped(overall.rows().into()), grouped(overall.all.into())))}
            </span>
            <KeyHelp keys=keys::KEYS.to_vec() class="choice keys"/>
        </form>
    }
}

/// Renders the choice of a group, and the grouping of rows.
#[component]
fn Choices(board: ListBoard) -> impl IntoView {
    let query = board.query;
    let group = |group: Group| {
        let words = Signal::derive(move || words::chip(group, &board.overall.read()));
        view! { <Choice board group=Some(group) words/> }
    };
    let other = move || {
        let by = if query.read().by == By::Place { By::Verdict } else { By::Place };
        address::list(&Query { by, ..query.get() })
    };
    let other_words = move || if query.read().by == By::Place { "Group by status" } else { "Group by namespace" };
    view! {
        <nav class="choices" aria-label="Filter by status">
            <Choice board group=None words="All"/>
            {Group::ALL.map(group).collect_view()}
            <a class="choice grouping" href=other>{other_words}</a>
        </nav>
    }
}

#[component]
fn Choice(board: ListBoard, group: Option<Group>, #[prop(into)] words: Signal<String>) -> impl IntoView {
    let href = move || address::list(&Query { group, ..board.query.get() });
    let is_chosen = move || (board.query.read().group == group).then_some("true");
    view! { <a class="choice" href=href aria-current=is_chosen>{words}</a> }
}
