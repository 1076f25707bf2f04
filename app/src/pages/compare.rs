//! The page that compares a rollout with earlier ones: its rank, a picture of both over each other, and the startup of its pods.
//! Contains no program.

use leptos::prelude::*;
use timeline::Millis;
use timeline::address;
use timeline::episodes::EpisodeRow;
use timeline::words::{count, duration_in_words, is_are, safe};

use crate::compare::earlier::{is_alike, why_not_compared};
use crate::compare::startup::Startup;
use crate::compare::{ComparePayload, Course};
use crate::components::header::{Breadcrumbs, Header, Section};
use crate::components::page_keys::KeyHelp;
use crate::components::preview::preview;
use crate::components::rollout::bars::{dashes, filling};
use crate::components::state_marks::Swatch;
use crate::detail::pod::STEPS;
use crate::images::ImageText;
use crate::score::ink::{Ink, PodLook};

/// Width of pictures, in units.
const WIDTH: f64 = 720.0;
/// Height of the picture of two courses.
const HEIGHT: f64 = 180.0;
/// Room for text at the left and below.
const LEFT: f64 = 40.0;
const BELOW: f64 = 28.0;
/// Height of a pod's line.
const LINE: f64 = 10.0;
/// Number of listed earlier rollouts; the others are folded.
const LISTED: usize = 10;
/// Up to this number of pods each count has a figure beside the picture.
const FEW_PODS: u32 = 4;
/// Steps shorter than this for all pods are left out.
const NO_TIME_MILLIS: Millis = 100;

#[component]
pub fn ComparePage(compare: ComparePayload) -> impl IntoView {
    preview(|| compare.preview());
    let ComparePayload { workload, uid, course, other, before, began, zone, said } = compare;
    let page = address::permanent(&workload, uid, Some(course.revision));
    let trail = Breadcrumbs { page: Some(page.clone()), ..Breadcrumbs::for_workload(&workload) };
    let name = safe(&workload.name);
    let title = format!("{name}, revision {}", course.revision);
    let where_words = format!("{} / {}", safe(&workload.cluster), safe(&workload.namespace));
    let images = course.images.clone();
    let compared = |revision: u64| address::compare(&workload, uid, course.revision, Some(revision));
    let beside = other.as_ref().map(|other| other.revision);
    let rows = before.iter().map(|(began, before)| {
        let is_other = Some(before.revision) == beside;
        cells(began.clone(), before, compared(before.revision), is_other)
    });
    let mut rows: Vec<_> = rows.collect();
    let later = rows.split_off(rows.len().min(LISTED));
    let began_in = format!("Began ({zone})");
    let columns = ["Revision", &began_in, "Image", "Outcome", "First pod", "Restarts"];
    let later = (!later.is_empty()).then(|| {
        let summary = format!("{} more", later.len());
        view! { <details><summary>{summary}</summary>{table(columns, "before", later)}</details> }
    });
    let rows = table(columns, "before", rows);
    let alike = before.iter().filter(|(_, before)| is_alike(course.replicas, before));
    let durations: Vec<_> = alike.filter_map(|(_, of)| Some((of.revision, of.complete_millis()?))).collect();
    let took = course.took_millis.filter(|_| !durations.is_empty());
    let place = took.map(|took| view! { <Place took durations beside/> });
    let nothing = said.is_empty().then(|| why_not_compared(course.took_millis.is_some(), course.is_complete));
    let lines = said.into_iter().map(|line| view! { <p>{line}</p> }).collect_view();
    let startups = [Some(&course), other.as_ref()].into_iter().flatten().filter_map(|of| {
        let startup = of.startup.clone()?;
        let heading = format!("Startup of the pods of revision {}", of.revision);
        Some(view! { <section><h2>{heading}</h2><StartupPicture startup is_going_on=of.is_going_on/></section> })
    });
    let startups = startups.collect_view();
    view! {
        <Header section=Section::History trail=trail>
            <a class="choice" href=page.clone()>"This rollout"</a>
        </Header>
        <main class="history compare" data-testid="compare">
            <h1>{title}</h1>
            <p class="muted">{where_words}". Began "{began}" "{zone}". "<span class="mono">{safe(&images)}</span></p>
            <div class="place-said" data-testid="place">{lines}{nothing}</div>
            {place}
            <Courses course other/>
            <div class="startups">{startups}</div>
            {(!before.is_empty()).then(|| view! {
                <section>
                    <h2>"Earlier rollouts"</h2>
                    {rows}
                    {later}
                </section>
            })}
            <KeyHelp keys=Vec::new() class="choice keys"/>
        </main>
    }
}

/// Renders a table. On narrow screens each cell shows the name of its column.
fn table<const N: usize>(columns: [&str; N], row_id: &'static str, rows: Vec<[AnyView; N]>) -> impl IntoView + use<N> {
    let heads = columns.map(|column| view! { <th>{column.to_owned()}</th> }).into_iter().collect_view();
    let row = |cells: [AnyView; N]| {
        let cell = |(cell, column): (AnyView, &str)| view! { <td data-label=column.to_owned()>{cell}</td> };
        let cells = cells.into_iter().zip(columns).map(cell).collect_view();
        view! { <tr data-testid=row_id>{cells}</tr> }
    };
    let rows = rows.into_iter().map(row).collect_view();
    view! { <table class="before"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table> }
}

/// Renders the cells of an earlier rollout; its revision links to the comparison of both.
fn cells(began: String, before: &EpisodeRow, link: String, is_other: bool) -> [AnyView; 6] {
    let first = before.first_available_millis.map(|millis| format!("after {}", duration_in_words(millis)));
    let images = ImageText::change(&before.images_before, &before.images).to_string();
    let cause = before.cause_words();
    let cause = (!cause.is_empty()).then(|| view! { <p class="muted">{cause}</p> });
    let restarts = before.restarts.map(|count| count.to_string());
    let unknown = || "\u{2013}".to_owned();
    [
        view! { <a href=link aria-current=is_other.then_some("true")>{before.revision}</a> }.into_any(),
        began.into_any(),
        view! { <span class="mono">{safe(&images)}</span> }.into_any(),
        (before.result_words(), cause).into_any(),
        first.unwrap_or_else(unknown).into_any(),
        restarts.unwrap_or_else(unknown).into_any(),
    ]
}

/// Returns a round step for an axis with at most nine of them: seconds, minutes, an hour, or whole days. A rollout may last for months.
fn step(span_millis: Millis) -> Millis {
    const DAY_MILLIS: Millis = 24 * 3_600_000;
    const STEPS: [Millis; 14] =
        [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];
    let days = || (span_millis / (9 * DAY_MILLIS) + 1) * DAY_MILLIS;
    STEPS.into_iter().find(|step| span_millis / step <= 8).unwrap_or_else(days)
}

/// Returns the counts of pods that have a figure beside the picture. Computed without a loop over all counts: the replicas of a
/// Deployment are not limited.
fn figures(most: u32) -> Vec<u32> {
    if most <= FEW_PODS { (0..=most).collect() } else { vec![0, most] }
}

fn tick(millis: Millis) -> String {
    match millis {
        0 => "0".to_owned(),
        1..10_000 if millis % 1_000 != 0 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        1..60_000 => format!("{} s", millis / 1_000),
        _ if millis % 3_600_000 == 0 => format!("{} h", millis / 3_600_000),
        _ => format!("{} min", millis / 60_000),
    }
}

/// Renders the time axis below a picture.
fn axis(span_millis: Millis, height: f64) -> impl IntoView {
    let x = scale(span_millis);
    let step = step(span_millis);
    let ticks = (0..=span_millis / step).map(|number| {
        let at = number * step;
        let (x, words) = (x(at), tick(at));
        // A centered last text would exceed the picture.
        let anchor = if x > WIDTH - 60.0 { "end" } else { "middle" };
        view! {
            <line class="grid" x1=rounded(x) x2=rounded(x) y1="0" y2=rounded(height)></line>
            <text x=rounded(x) y=rounded(height + 20.0) text-anchor=anchor>{words}</text>
        }
    });
    ticks.collect_view()
}

fn scale(span_millis: Millis) -> impl Fn(Millis) -> f64 {
    let span = span_millis.max(1) as f64;
    move |at| LEFT + (WIDTH - LEFT - 12.0) * (at as f64 / span).clamp(0.0, 1.0)
}

fn rounded(number: f64) -> String {
    format!("{number:.1}")
}

/// Renders the number of available pods over time, for one or two rollouts from their start.
#[component]
fn Courses(course: Course, other: Option<Course>) -> impl IntoView {
    let all = || [Some(&course), other.as_ref()].into_iter().flatten();
    let span = all().map(|course| course.span_millis).max().unwrap_or_default().max(1_000);
    let pods = |course: &Course| course.available.iter().map(|(_, pods)| *pods).max().unwrap_or_default();
    let most = all().map(|of| pods(of).max(of.replicas)).max().unwrap_or_default().max(1);
    let (x, y) = (scale(span), |pods: u32| HEIGHT - 6.0 - (HEIGHT - 16.0) * f64::from(pods) / f64::from(most));
    let count =
        |pods: u32| view! { <text x=rounded(LEFT - 6.0) y=rounded(y(pods) + 4.0) text-anchor="end">{pods}</text> };
    let counts = figures(most).into_iter().map(count).collect_view();
    let path = |course: &Course| {
        let mut path = format!("M{:.1} {:.1}", x(0), y(0));
        for (at, pods) in &course.available {
            path.push_str(&format!("H{:.1}V{:.1}", x(*at), y(*pods)));
        }
        path.push_str(&format!("H{:.1}", x(course.span_millis)));
        path
    };
    let (this, before) = (path(&course), other.as_ref().map(path));
    let words = |of: &Course| {
        let took = match of.took_millis {
            Some(took) => format!("took {}", duration_in_words(took)),
            None if of.is_complete => "complete, part not observed".to_owned(),
            None => "not complete".to_owned(),
        };
        format!("revision {}: {took}", of.revision)
    };
    let label = format!("New pods available over time, {}", all().map(words).collect::<Vec<_>>().join("; "));
    let (this_words, other_words) = (words(&course), other.as_ref().map(words));
    view! {
        <section>
            <h2>"New pods available over time"</h2>
            <p class="which"><span class="this">{this_words}</span>{other_words.map(|words| view! { " "<span class="other">{words}</span> })}</p>
            <svg class="courses" viewBox=format!("0 0 {WIDTH} {}", HEIGHT + BELOW) role="img" aria-label=label data-testid="courses">
                {axis(span, HEIGHT - 6.0)}
                {counts}
                {before.map(|path| view! { <path class="other" d=path></path> })}
                <path class="this" d=this></path>
            </svg>
        </section>
    }
}

/// Renders the durations of this rollout and of earlier ones as points on a line.
#[component]
fn Place(took: Millis, durations: Vec<(u64, Millis)>, beside: Option<u64>) -> impl IntoView {
    let span = durations.iter().map(|(_, took)| *took).chain([took]).max().unwrap_or_default();
    let x = scale(span);
    let points = durations.iter().map(|(revision, took)| {
        let class = if Some(*revision) == beside { "other" } else { "before" };
        let words = format!("revision {revision}: {}", duration_in_words(*took));
        view! { <circle class=class cx=rounded(x(*took)) cy="18" r="5"><title>{words}</title></circle> }
    });
    let points = points.collect_view();
    let label =
        format!("It took {}, among {}", duration_in_words(took), count(durations.len() as u32, "complete rollout"));
    view! {
        <section>
        <h2>"Duration"</h2>
        <svg class="courses place" viewBox=format!("0 0 {WIDTH} 62") role="img" aria-label=label>
            {axis(span, 34.0)}
            {points}
            <circle class="this" cx=rounded(x(took)) cy="18" r="7"><title>{format!("this one: {}", duration_in_words(took))}</title></circle>
        </svg>
        </section>
    }
}

/// Renders the startup of pods: a line each, in the colours and patterns of their states, and a description.
#[component]
fn StartupPicture(startup: Startup, is_going_on: bool) -> impl IntoView {
    let Startup { steps, whole, pods, more } = startup;
    let span = pods.iter().map(|pod| pod.whole_millis()).max().unwrap_or_default().max(1);
    let x = scale(span);
    let height = pods.len() as f64 * LINE;
    let lines = pods.iter().enumerate().map(|(row, pod)| {
        let mut from = 0;
        let parts = pod.steps.iter().zip(STEPS).map(|(took, (name, state))| {
            let (begin, end) = (x(from), x(from + took));
            from += took;
            let words = format!("{}: {name} after {}", pod.name, duration_in_words(*took));
            // With patterns, as in legends: colours of neighbours are alike.
            let Ink { colour, roomy, edge, .. } = PodLook::In(state).ink();
            let (fill, opacity) = filling(colour, roomy, "tile-");
            let (stroke, dashes) = (edge.map(|_| colour.var()), edge.and_then(dashes));
            view! {
                <rect x=rounded(begin) y=rounded(row as f64 * LINE + 1.0) width=rounded(end - begin) height=rounded(LINE - 2.0)
                    fill=fill fill-opacity=opacity stroke=stroke stroke-dasharray=dashes><title>{words}</title></rect>
            }
        });
        parts.collect_view()
    });
    let lines = lines.collect_view();
    let median = whole.map(|(half, _)| {
        let half_at = x(half);
        view! { <line class="median" x1=rounded(half_at) x2=rounded(half_at) y1="0" y2=rounded(height)></line> }
    });
    let said = whole_words(whole, is_going_on);
    let rows = steps.into_iter().filter(|step| step.slowest_millis >= NO_TIME_MILLIS).map(|step| {
        let key = view! { <Swatch look=PodLook::In(step.state)/> };
        [
            (key, step.name).into_any(),
            step.pods.to_string().into_any(),
            duration_in_words(step.median_millis).into_any(),
            duration_in_words(step.slowest_millis).into_any(),
            view! { <span class="mono">{step.slowest}</span> }.into_any(),
        ]
    });
    let steps = table(["Step", "Pods", "Median", "Slowest", "Slowest pod"], "step", rows.collect());
    let label = format!("Steps from creation to counting of {}", count(pods.len() as u32, "pod"));
    let more = (more > 0)
        .then(|| view! { <p class="muted">{format!("{} {} not shown.", count(more, "faster pod"), is_are(more))}</p> });
    // Pods that never started have no step to draw.
    let picture = (whole.is_some() || span >= NO_TIME_MILLIS).then(|| {
        view! {
            <svg class="courses" viewBox=format!("0 0 {WIDTH} {}", height + BELOW) role="img" aria-label=label data-testid="startup">
                {axis(span, height)}
                {lines}
                {median}
            </svg>
            {more}
            {steps}
        }
    });
    view! { <p>{said}</p>{picture} }
}

/// Describes the time from creation to available: that of half of the pods and that of the slowest.
fn whole_words(whole: Option<(Millis, Millis)>, is_going_on: bool) -> String {
    match whole.map(|(half, slowest)| (duration_in_words(half), duration_in_words(slowest))) {
        Some((half, slowest)) => {
            format!("Median from creation to available: {half} (the line); slowest {slowest}.")
        }
        None if is_going_on => "None of these pods is available yet.".to_owned(),
        None => "None of these pods was available.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_were_available_at_once_were_available() {
        let all = [(Some((0, 400)), false), (None, true), (None, false)];
        assert_eq!(
            all.map(|(whole, is_going_on)| whole_words(whole, is_going_on)),
            [
                "Median from creation to available: less than 0.1 s (the line); slowest 0.4 s.",
                "None of these pods is available yet.",
                "None of these pods was available.",
            ]
        );
    }

    #[test]
    fn a_picture_has_few_figures_and_steps_however_many_replicas_are_asked_for_and_however_long_it_takes() {
        let all = [figures(1), figures(4), figures(5), figures(u32::MAX)];
        assert_eq!(all, [vec![0, 1], vec![0, 1, 2, 3, 4], vec![0, 5], vec![0, u32::MAX]]);
        let (hour, day) = (3_600_000, 24 * 3_600_000);
        let spans = [0, 9_000, hour, 9 * hour - 1, 9 * hour, 9 * day - 1, 9 * day, 365 * day];
        assert_eq!(spans.map(step), [100, 2_000, 600_000, hour, day, day, 2 * day, 41 * day]);
        for span_millis in [0, hour, day, 365 * day, Millis::MAX] {
            assert!(span_millis / step(span_millis) <= 8, "{span_millis}");
        }
    }
}
