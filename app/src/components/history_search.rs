//! Search of the history: one text field, a time range, and links for common filters.

use leptos::prelude::*;
use timeline::address::at;

use timeline::episodes::search::KINDS;
use timeline::episodes::{LENGTHS, OUTCOMES, Search, TIMES};

/// Times that are always visible.
const FIRST_TIMES: [&str; 3] = ["hour", "day", "week"];
/// Format of a time in a field; the placeholder of an empty field.
const TIME_FORMAT: &str = "yyyy-mm-dd hh:mm";

/// The form: everything but the time is typed into one field. Each choice and each active filter is a link.
#[component]
pub fn HistorySearch(
    search: Search,
    /// Start and end of the time range, in the format of the fields.
    times: [String; 2],
) -> impl IntoView {
    let link = |words: &'static str, is_chosen: bool, to: Search| {
        let current = is_chosen.then_some("true");
        view! { <a class="choice" href=to.address() aria-current=current>{words}</a> }
    };
    let timed = |when: &str| Search { when: when.to_owned(), from_millis: None, to_millis: None, ..search.clone() };
    let is_any_time = search.when.is_empty() && search.from_millis.is_none() && search.to_millis.is_none();
    let time = |(name, words): (&'static str, &'static str)| link(words, search.when == name, timed(name));
    let (first, other): (Vec<_>, Vec<_>) = TIMES.into_iter().partition(|(name, _)| FIRST_TIMES.contains(name));
    let (first, other) = (first.into_iter().map(time).collect_view(), other.into_iter().map(time).collect_view());
    let any_kind = Search { kinds: Vec::new(), ..search.clone() };
    let kinds = KINDS
        .map(|(kind, words)| link(words, search.kinds.contains(&kind), search.with_kind_toggled(kind)))
        .collect_view();
    let ended = |outcome| Search { outcome, ..search.clone() };
    let outcomes = OUTCOMES
        .map(|(_, outcome, words)| link(words, search.outcome == Some(outcome), ended(Some(outcome))))
        .collect_view();
    let longer = |millis| Search { longer_millis: millis, ..search.clone() };
    let lengths = LENGTHS
        .map(|(_, millis, words)| link(words, search.longer_millis == Some(millis), longer(Some(millis))))
        .collect_view();
    let trouble = Search { had_trouble: !search.had_trouble, ..search.clone() };
    // A relative time ("day") is shown as its time, and stays relative until the viewer edits the field.
    let [since, until] =
        times.map(|time| if search.when.is_empty() { (time, String::new()) } else { (String::new(), time) });
    let field = |name: &'static str, (value, stands_for): (String, String)| {
        let hint = if stands_for.is_empty() { TIME_FORMAT.to_owned() } else { stands_for };
        view! { <input type="text" name=name value=value placeholder=hint title="Such as 2026-11-21 14:02" autocomplete="off"/> }
    };
    let kept =
        [("tz", search.zone.clone()), ("when", search.when.clone())].into_iter().filter(|(_, value)| !value.is_empty());
    let kept = kept.map(|(name, value)| view! { <input type="hidden" name=name value=value/> }).collect_view();
    let narrowed = search.narrowed();
    let is_narrowed = !narrowed.is_empty();
    let narrowed = narrowed.into_iter().map(|(term, without)| {
        let label = format!("Remove the filter {term}");
        view! { <a class="choice narrowed" href=without.address() aria-label=label>{term}" \u{00d7}"</a> }
    });
    let narrowed = narrowed.collect_view();
    let zone = search.zone_name();
    view! {
        <form class="filter" method="get" role="search" action=at("/history")>
            <input type="search" name="q" value=search.written() placeholder="namespace:shop outcome:failed web" aria-label="Search" autocomplete="off"/>
            <button class="search">"Search"</button>
            {kept}
            <span class="times">
                <label>"From "{field("since", since)}</label>
                <label>"to "{field("until", until)}</label>
                <span class="muted">{zone}</span>
            </span>
            <nav class="choices" aria-label="Period">{link("Any time", is_any_time, timed(""))}{first}</nav>
            <details class="more">
                <summary>"Filters"</summary>
                <nav class="choices" aria-label="Other times">{other}</nav>
                <nav class="choices" aria-label="Kind">{link("Any kind", search.kinds.is_empty(), any_kind)}{kinds}</nav>
                <nav class="choices" aria-label="Outcome">
                    {link("Any outcome", search.outcome.is_none(), ended(None))}{outcomes}
                    {link("Had trouble", search.had_trouble, trouble)}
                </nav>
                <nav class="choices" aria-label="Duration">{link("Any duration", search.longer_millis.is_none(), longer(None))}{lengths}</nav>
                <p class="muted">
                    "The same can be written: "
                    <code>"kind: cluster: namespace: name: image: outcome: trouble:yes longer:2m"</code>
                    ". Other words are searched in names, images, causes and events; quotes keep words together."
                </p>
            </details>
        </form>
        {is_narrowed.then(|| view! { <nav class="choices narrow" aria-label="Filters in force">{narrowed}</nav> })}
    }
}
