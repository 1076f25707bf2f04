//! The last rollouts of a workload as a small picture from the index: a bar for each, whose height shows its duration and whose
//! colour shows its result.

use leptos::prelude::*;
use timeline::episodes::{EpisodeRow, Search, StatusMark};
use timeline::words::{count, safe};

use crate::history::PastWorkload;

/// Width of a bar with its gap, and largest height of a bar, in pixels.
const STEP: u32 = 9;
const HEIGHT: u32 = 28;
/// Number of workloads that are shown; the others are folded.
const FIRST: usize = 8;
/// Smallest height of a bar, so that it is visible and clickable.
const LEAST: u32 = 4;

/// Returns the heights of the bars, in order. They grow with the square root of the duration: a minute and ten seconds differ
/// visibly beside an hour.
fn heights(rollouts: &[EpisodeRow]) -> Vec<u32> {
    let took = |rollout: &EpisodeRow| rollout.took_millis().unwrap_or_default().max(0) as f64;
    let longest = rollouts.iter().map(took).fold(1.0, f64::max);
    let height = |rollout| LEAST + ((took(rollout) / longest).sqrt() * f64::from(HEIGHT - LEAST)) as u32;
    rollouts.iter().map(height).collect()
}

/// Renders workloads, each with its last rollouts that match the search.
#[component]
pub fn PastWorkloads(workloads: Vec<PastWorkload>, search: Search) -> impl IntoView {
    let workload = move |workload: PastWorkload| {
        let summary = workload.summary();
        let PastWorkload { name, place: (cluster, namespace), rollouts, .. } = workload;
        let where_words = format!("{} / {} / ", safe(&cluster), safe(&namespace));
        let only = Search { name: name.clone(), cluster, namespace, ..search.clone() };
        let width = STEP * u32::try_from(rollouts.len()).unwrap_or_default();
        let label = format!("Rollouts of {}: {summary}", safe(&name));
        let heights = heights(&rollouts);
        let bar = |(index, (rollout, height)): (u32, (EpisodeRow, u32))| {
            let words = format!("Revision {}. {}. {}", rollout.revision, rollout.result_words(), rollout.cause_words());
            let class = rollout.status().mark.name();
            let bar = view! {
                <rect class=class x=index * STEP y=HEIGHT - height width=STEP - 2 height=height rx="1"/>
                <title>{words.clone()}</title>
            };
            // Rows link to the same pages: one tab stop for each workload is enough for keyboard users.
            if rollout.is_kept {
                view! { <a href=rollout.play_address() tabindex="-1" aria-label=words>{bar}</a> }.into_any()
            } else {
                view! { <g>{bar}</g> }.into_any()
            }
        };
        let bars = (0..).zip(rollouts.into_iter().zip(heights)).map(bar).collect_view();
        view! {
            <li data-testid="workload">
                <a class="name" href=only.address()><span class="muted">{where_words}</span>{safe(&name)}</a>
                <svg
                    width=width
                    height=HEIGHT
                    viewBox=format!("0 0 {width} {HEIGHT}")
                    preserveAspectRatio="none"
                    role="group"
                    aria-label=label
                >
                    {bars}
                </svg>
                <span class="muted">{summary}</span>
            </li>
        }
    };
    let mut first = workloads;
    let more = first.split_off(first.len().min(FIRST));
    let many = count(u32::try_from(more.len()).unwrap_or(u32::MAX), "workload");
    let more_words = many.replacen(' ', " more ", 1);
    let list = move |workloads: Vec<PastWorkload>| {
        let workload = workload.clone();
        view! { <ul class="workloads" aria-label="Workloads">{workloads.into_iter().map(workload).collect_view()}</ul> }
    };
    let more = (!more.is_empty()).then(|| {
        view! { <details class="workloads-more"><summary>{more_words}</summary>{list(more)}</details> }
    });
    let signs = StatusMark::ALL
        .map(|(mark, words)| view! { <li><span class=format!("sign {}", mark.name())>{words}</span></li> });
    let key = view! { <ul class="signs" aria-label="Signs">{signs.collect_view()}</ul> };
    (!first.is_empty()).then(|| view! { {list(first)}{more}{key} })
}

#[cfg(test)]
mod tests {
    use timeline::rollout::Trigger;

    use super::*;

    #[test]
    fn what_took_longest_is_highest_and_what_took_nothing_is_there() {
        let all = [Some(0), Some(10_000), Some(40_000), None].map(|ended_millis| EpisodeRow {
            trigger: Trigger::Template,
            ended_millis,
            ..EpisodeRow::default()
        });
        assert_eq!(heights(&all), [4, 16, 28, 4]);
        assert_eq!(heights(&all[..1]), [4]);
        assert!(heights(&[]).is_empty());
    }
}
