//! The page of stored rollouts: their start and result, each with a link to its pods. Ended rollouts do not change, so the page
//! contains no program.

use leptos::prelude::*;
use timeline::episodes::{Day, Search, language};
use timeline::words::grouped_count;

use crate::components::banner::Banner;
use crate::components::header::{Header, Section};
use crate::components::history_search::HistorySearch;
use crate::components::page_keys::KeyHelp;
use crate::components::past_rollout_row::PastRolloutRow;
use crate::components::past_workloads::PastWorkloads;
use crate::components::preview::preview;
use crate::history::HistoryPayload;

/// Days between two labels below the picture.
const WEEK: usize = 7;

#[component]
pub fn HistoryPage(history: HistoryPayload) -> impl IntoView {
    preview(|| history.preview());
    let summary = history.summary();
    let HistoryPayload { search, since, until, rollouts, workloads, after, days, kept, trouble, unwritten, .. } =
        history;
    let zone = search.zone_name();
    let kept = if kept.is_empty() { String::new() } else { format!("History is kept {kept}. Times are in {zone}.") };
    let more = after.map(|after| view! { <a href=search.page(Some(&after))>"Earlier"</a> });
    let hint = (rollouts.is_empty() && trouble.is_empty()).then(|| hint(&search));
    let keys = (!rollouts.is_empty()).then_some("Keys: j and k go from row to row, Enter plays it.");
    let rows =
        rollouts.into_iter().map(|(began, rollout)| view! { <PastRolloutRow began rollout zone=search.zone.clone()/> });
    let rows = rows.collect_view();
    let table = hint.is_none().then(|| {
        view! {
            <table class="kept">
                <thead>
                    <tr>
                        <th class="status">"Status"</th><th class="workload">"Workload"</th><th class="revision">"Revision"</th>
                        <th class="images">"Image"</th><th class="cause">"Cause or event"</th><th class="took">"Took"</th><th class="when">"Began"</th>
                        <th class="row-actions"><span class="aside">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    });
    view! {
        <Header section=Section::History/>
        <Banner test_id="trouble" words=Signal::stored(trouble)/>
        <Banner test_id="unwritten" words=Signal::stored(unwritten)/>
        <main class="history" data-testid="history">
            <h1>"History"</h1>
            <HistorySearch search=search.clone() times=[since, until]/>
            <Days search=search.clone() days/>
            <p id="found" role="status" data-testid="found">{summary}</p>
            {hint.map(|hint| view! { <p class="muted">{hint}</p> })}
            <PastWorkloads workloads search=search.clone()/>
            {table}
            <p class="later">{more}</p>
            <p class="muted">{kept}" "{keys}</p>
            <KeyHelp keys=vec![("j k", "next, previous row"), ("Enter", "open")] class="choice keys"/>
        </main>
    }
}

/// Returns a suggestion if nothing was found.
fn hint(search: &Search) -> String {
    let keys = language::KEYS.join(", ");
    match language::unknown_key(search) {
        Some(key) => format!("\u{201c}{key}:\u{201d} is not a key, so it was searched as a word. Keys: {keys}."),
        None if search.narrows_nothing() => {
            "The next episode of a watched Deployment appears here as soon as it begins.".to_owned()
        }
        None => "Remove a filter, or choose a longer time.".to_owned(),
    }
}

/// Renders the last days: the number of rollouts that began, and of those that were stuck. Each day links to its rollouts.
#[component]
fn Days(search: Search, days: Vec<Day>) -> impl IntoView {
    let most = days.iter().map(|day| day.episodes).max().unwrap_or_default().max(1);
    let last = days.len().saturating_sub(1);
    let day = move |(index, day): (usize, Day)| {
        let to_millis = Some(day.from_millis + 24 * 3_600_000);
        let of_day = Search { when: String::new(), from_millis: Some(day.from_millis), to_millis, ..search.clone() };
        let is_chosen = search.from_millis == of_day.from_millis && search.to_millis == to_millis;
        let heat = match day.episodes {
            0 => "day".to_owned(),
            some => format!("day heat{}", (some * 4 / most).min(3) + 1),
        };
        let troubled = if day.troubled == 0 { String::new() } else { format!(", {} with trouble", day.troubled) };
        let noun = if day.others == 0 { "rollout" } else { "episode" };
        let words = format!("{}: {} began{troubled}", day.name, grouped_count(day.episodes, noun));
        let mark = (day.troubled > 0).then(|| view! { <i class="trouble"></i> });
        let name =
            (last - index).is_multiple_of(WEEK).then(|| view! { <span aria-hidden="true">{day.name.clone()}</span> });
        view! {
            <li><a class=heat href=of_day.address() title=words.clone() aria-label=words aria-current=is_chosen.then_some("true")>{mark}</a>{name}</li>
        }
    };
    view! { <nav class="days" aria-label="Rollouts on each of the last days"><ol>{days.into_iter().enumerate().map(day).collect_view()}</ol></nav> }
}
