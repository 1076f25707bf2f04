//! The buttons in the header of a Deployment's page, and its connection.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use timeline::address;
use timeline::view::{Tone, View};

use super::connection::Chip;
use super::icon::TabIcon;
use crate::browser::{self, Notifications};
use crate::components::detail::link::DetailLink;
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::link_preview::page_title;
use crate::news::News;
use crate::rollout::board::Board;
use crate::rows::set_if_new;

#[component]
pub fn RolloutHeader(board: Board) -> impl IntoView {
    let workload = board.workload.get_untracked();
    let tone = Signal::derive(move || board.read_view(|view| Some(view.verdict.tone)));
    // Without a Deployment there is nothing to open.
    let is_there = Memo::new(move |_| board.view.read().is_some());
    let has_news = !board.is_over && !board.is_snapshot;
    view! {
        <Header section=Section::Deployments trail=Breadcrumbs::for_workload(&workload)>
            <div class=move || if is_there.get() { "actions" } else { "unused" }>
                <DetailLink workload=workload.clone() path="rollouts".to_owned() class="choice">"Rollouts"</DetailLink>
                // A file is shared by sending it.
                {(!board.is_file).then(|| view! {
                    <DetailLink workload=workload.clone() path="share".to_owned() class="choice">"Share"</DetailLink>
                })}
                {has_news.then(|| view! { <Notify board page=address::whatever_bears_the_name(&workload)/> })}
            </div>
            <TabIcon tone=tone/>
            <Chip board/>
        </Header>
    }
}

const LOOK: Duration = Duration::from_secs(1);
/// Tooltip of the button while notifications are possible.
const USUAL: &str = "A notification when this rollout is complete or in trouble";
/// Tooltip if the viewer blocked notifications.
const DENIED: &str = "The browser blocks notifications of this page: allow them in its settings for this site";

/// Returns title and text of the notification of a verdict.
fn notification(board: Board, view: &View) -> (String, String) {
    let title = board.workload.with(|of| page_title(&view.verdict.badge, &of.namespace, &of.name));
    let text = format!("{} {}", view.verdict.sentence, view.explanation());
    (title, board.zone.replace_times(&text, board.now_millis()))
}

/// The button that requests a notification when the rollout is complete, and when it gets stuck, whatever moment is shown. Hidden if the
/// browser has no notifications, until the page is hydrated, and after the browser refused to show one: telephones report that only then.
#[component]
fn Notify(board: Board, page: String) -> impl IntoView {
    let is_offered = RwSignal::new(false);
    let is_wanted = RwSignal::new(false);
    let is_denied = RwSignal::new(false);
    // Key of the tab's storage for whether notifications of this Deployment are on.
    let remembered_as = StoredValue::new(format!("rollcast-notify:{page}"));
    let page = StoredValue::new(page);
    let want = move |is_on: bool| {
        is_wanted.try_set(is_on);
        // If the tab cannot store it, the viewer has to turn it on again on the next page.
        remembered_as.try_with_value(|name| browser::remember_here(name, is_on.then_some("yes")));
    };
    Effect::new(move |_| {
        if let Some(notifications) = Notifications::of_browser() {
            is_offered.set(true);
            let is_remembered = remembered_as.with_value(|name| browser::remembered_here(name)).is_some();
            want(is_remembered && notifications.is_granted());
        }
    });
    let news = StoredValue::new(News::default());
    let notify = move |told: Option<Tone>| {
        let granted = || Notifications::of_browser().filter(|notifications| notifications.is_granted());
        if told.is_some()
            && is_wanted.get_untracked()
            && let Some(notifications) = granted()
            && let Some(view) = board.now.get_untracked()
        {
            let (title, text) = untrack(|| notification(board, &view));
            // A new notification replaces the previous one of the same Deployment.
            if !notifications.show(&page.get_value(), &title, &text) {
                want(false);
                is_offered.try_set(false);
            }
        }
    };
    Effect::new(move |_| {
        let heard = board.now.with(|view| view.as_ref().map(|view| (view.verdict.tone, view.revision)));
        notify(news.try_update_value(|news| news.observe(heard, false, browser::page_millis())).flatten());
    });
    Effect::new(move |_| {
        browser::run_every(LOOK, move || {
            notify(news.try_update_value(|news| news.due_announcement(browser::page_millis())).flatten());
        });
    });
    let ask = move |_| {
        if is_wanted.get_untracked() {
            want(false);
            return;
        }
        let Some(notifications) = Notifications::of_browser() else { return };
        spawn_local(async move {
            notifications.request_permission().await;
            want(notifications.is_granted());
            set_if_new(&is_denied, notifications.is_denied());
        });
    };
    let explained = move || if is_denied.get() { DENIED } else { USUAL };
    view! {
        <button
            id="notify"
            class="choice"
            type="button"
            aria-pressed=move || is_wanted.get().to_string()
            title=explained
            hidden=move || !is_offered.get()
            on:click=ask
        >
            {move || if is_denied.get() { "Blocked by the browser" } else { "Notify me" }}
        </button>
    }
}
