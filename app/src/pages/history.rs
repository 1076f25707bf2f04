//! The page of rollouts that are kept: which there were when, how they ended, each a link to its pods. What is over does not move: no
//! program runs in it.

use leptos::prelude::*;
use timeline::words::safe;

use crate::address;
use crate::components::banner::Banner;
use crate::components::header::{Header, Section};
use crate::components::past::PastWorkloads;
use crate::components::preview::preview;
use crate::history::{Day, HistoryPayload, LENGTHS, OUTCOMES, PastRollout, Search, TIMES};

/// The page.
#[component]
pub fn HistoryPage(
    /// What it shows.
    history: HistoryPayload,
) -> impl IntoView {
    preview(|| history.preview());
    let said = history.said();
    let HistoryPayload { search, since, until, rollouts, workloads, after, days, kept, trouble, unwritten } = history;
    let zone = search.zone_name();
    let kept = if kept.is_empty() { String::new() } else { format!("History is kept {kept}. Times are in {zone}.") };
    let more = after.map(|after| view! { <a href=search.page(Some(&after))>"Earlier rollouts"</a> });
    let rows = rollouts
        .into_iter()
        .map(|(began, rollout)| view! { <Row began rollout zone=search.zone.clone()/> })
        .collect_view();
    let keys = (!rows.is_empty()).then_some("Keys: j and k go from row to row, Enter plays it.");
    view! {
        <Header section=Section::History/>
        <Banner test_id="trouble" words=Signal::stored(trouble)/>
        <Banner test_id="unwritten" words=Signal::stored(unwritten)/>
        <main class="history" data-testid="history">
            <h1>"History"</h1>
            <Days search=search.clone() days/>
            <Filter search=search.clone() times=[since, until]/>
            <p id="found" class="muted" role="status" data-testid="found">{said}</p>
            <PastWorkloads workloads zone=search.zone.clone()/>
            <ol class="kept">{rows}</ol>
            <p class="later">{more}</p>
            <p class="muted">{kept}" "{keys}</p>
        </main>
    }
}

/// The last days: how much began on each, and how much of it was stuck. A day is a link to its rollouts.
#[component]
fn Days(search: Search, days: Vec<Day>) -> impl IntoView {
    let most = days.iter().map(|day| day.rollouts).max().unwrap_or_default().max(1);
    let day = move |day: Day| {
        let to_millis = Some(day.from_millis + 24 * 3_600_000);
        let of_day = Search { when: String::new(), from_millis: Some(day.from_millis), to_millis, ..search.clone() };
        let is_chosen = search.from_millis == of_day.from_millis && search.to_millis == to_millis;
        let heat = match day.rollouts * 4 / most {
            _ if day.rollouts == 0 => "day",
            0 => "day heat1",
            1 => "day heat2",
            2 => "day heat3",
            _ => "day heat4",
        };
        let troubled = if day.troubled == 0 { String::new() } else { format!(", {} with trouble", day.troubled) };
        let words = format!("{}: {} rollouts began{troubled}", day.name, day.rollouts);
        let mark = (day.troubled > 0).then(|| view! { <i class="trouble"></i> });
        view! {
            <li><a class=heat href=of_day.address() title=words.clone() aria-label=words aria-current=is_chosen.then_some("true")>{mark}</a></li>
        }
    };
    let name = |day: Option<&Day>| day.map(|day| day.name.clone()).unwrap_or_default();
    let (first, last) = (name(days.first()), name(days.last()));
    view! {
        <nav class="days" aria-label="Days">
            <ol>{days.into_iter().map(day).collect_view()}</ol>
            <p class="muted"><span>{first}</span><span>{last}</span></p>
        </nav>
    }
}

/// What narrows the search: a plain form, and links.
#[component]
fn Filter(
    search: Search,
    /// Since and until when, for the form's fields.
    times: [String; 2],
) -> impl IntoView {
    let [since, until] = times;
    let link = |words: &'static str, is_chosen: bool, to: Search| {
        let current = is_chosen.then_some("true");
        view! { <a class="choice" href=to.address() aria-current=current>{words}</a> }
    };
    let timed = |when: &str| Search { when: when.to_owned(), from_millis: None, to_millis: None, ..search.clone() };
    let any_time = search.when.is_empty() && search.from_millis.is_none() && search.to_millis.is_none();
    let times = TIMES.map(|(name, words)| link(words, search.when == name, timed(name))).collect_view();
    let ended = |outcome| Search { outcome, ..search.clone() };
    let outcomes = OUTCOMES
        .map(|(_, outcome, words)| link(words, search.outcome == Some(outcome), ended(Some(outcome))))
        .collect_view();
    let longer = |millis| Search { longer_millis: millis, ..search.clone() };
    let lengths = LENGTHS
        .map(|(_, millis, words)| link(words, search.longer_millis == Some(millis), longer(Some(millis))))
        .collect_view();
    let trouble = Search { had_trouble: !search.had_trouble, ..search.clone() };
    let text = search.text.clone();
    let kept = [
        ("tz", search.zone.clone()),
        ("outcome", search.outcome_name().unwrap_or_default().to_owned()),
        ("longer", search.length().unwrap_or_default().to_owned()),
        ("when", search.when.clone()),
        ("trouble", if search.had_trouble { "yes".to_owned() } else { String::new() }),
    ];
    let kept = kept.into_iter().filter(|(_, value)| !value.is_empty());
    let kept = kept.map(|(name, value)| view! { <input type="hidden" name=name value=value/> }).collect_view();
    let place = [&search.cluster, &search.namespace, &search.name, &search.image];
    let is_all = place.iter().all(|part| part.is_empty());
    let place =
        place.into_iter().filter(|part| !part.is_empty()).map(|part| safe(part)).collect::<Vec<_>>().join(" / ");
    let nothing = String::new;
    let everywhere =
        Search { cluster: nothing(), namespace: nothing(), name: nothing(), image: nothing(), ..search.clone() };
    let place = (!is_all)
        .then(|| view! { <p>"Only "{place}" "<a class="choice" href=everywhere.address()>"Everywhere"</a></p> });
    let field = |name: &'static str, words: &'static str, value: &str| {
        view! { <label>{words}" "<input type="text" name=name value=value.to_owned() autocomplete="off"/></label> }
    };
    let fields = [
        field("cluster", "Cluster", &search.cluster),
        field("namespace", "Namespace", &search.namespace),
        field("name", "Name", &search.name),
        field("image", "Image", &search.image),
    ];
    let zone = search.zone_name();
    view! {
        <form class="filter" method="get" role="search" action="/history">
            <input type="search" name="q" value=text placeholder="Name, namespace, image, cause" aria-label="Search" autocomplete="off"/>
            {kept}
            {fields.collect_view()}
            <label>"From "<input type="datetime-local" name="since" value=since autocomplete="off"/></label>
            <label>"to "<input type="datetime-local" name="until" value=until autocomplete="off"/>" "{zone}</label>
            <button class="search">"Search"</button>
            <nav class="choices" aria-label="When">{link("Any time", any_time, timed(""))}{times}</nav>
            <nav class="choices" aria-label="How it ended">
                {link("Any end", search.outcome.is_none(), ended(None))}{outcomes}
                {link("Had trouble", search.had_trouble, trouble)}
            </nav>
            <nav class="choices" aria-label="How long it took">{link("Any length", search.longer_millis.is_none(), longer(None))}{lengths}</nav>
        </form>
        {place}
    }
}

/// One rollout.
#[component]
fn Row(
    /// When it began, as it is told.
    began: String,
    rollout: PastRollout,
    /// The offset from UTC in which times are told.
    zone: String,
) -> impl IntoView {
    let class = if rollout.cause.is_empty() { "past-rollout" } else { "past-rollout troubled" };
    let (name, revision) = (safe(&rollout.name), format!("revision {}", rollout.revision));
    let (cluster, namespace) = (rollout.cluster.clone(), rollout.namespace.clone());
    let place = Search { cluster, namespace, zone, ..Search::default() };
    let where_words = format!("{} / {}", safe(&rollout.cluster), safe(&rollout.namespace));
    let by = (!rollout.managed_by.is_empty()).then(|| format!(", by {}", safe(&rollout.managed_by)));
    let change = rollout.change_cause.as_deref().map(|cause| format!(" \u{201c}{}\u{201d}", safe(cause)));
    let file = (rollout.is_kept && !rollout.is_going_on()).then(|| {
        let of = rollout.by_itself();
        view! {
            " "<a class="muted" href=rollout.address()>"End"</a>
            " "<a class="muted" href=address::file(&of, None) download="">"File"</a>
            " "<a class="muted" href=address::recording(&of) download="">"Recording"</a>
        }
    });
    // The first link of a row plays it: that is where keys lead.
    let name = format!("{name}, {revision}");
    let links = if rollout.is_kept {
        let compare = address::compare(&rollout.workload(), rollout.uid, rollout.revision, None);
        let play = view! { <a class="name" href=rollout.played() title="Play it">{name}</a> };
        (play.into_any(), view! { " "<a class="muted" href=compare>"Compare"</a>{file} }.into_any())
    } else {
        let gone = view! { " "<span class="muted">"Its pods are not kept any more."</span> };
        (view! { <span class="name">{name}</span> }.into_any(), gone.into_any())
    };
    let (name, links) = links;
    let row = rollout.is_kept.then_some("");
    let cause = (!rollout.cause.is_empty()).then(|| view! { <p class="why">{rollout.cause.clone()}</p> });
    view! {
        <li class=class data-testid="past" data-row=row>
            <p>
                <time>{began}</time>" "
                {name}" "
                <a class="muted" href=place.address()>{where_words}</a>
                {links}
            </p>
            <p>{rollout.ended()}". "<span class="muted">{rollout.began()}{by}{change}": "<span class="mono">{safe(&rollout.images)}</span>"; "{rollout.extremes()}"."</span></p>
            {cause}
        </li>
    }
}
