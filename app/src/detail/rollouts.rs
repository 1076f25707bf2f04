//! The rollouts of a Deployment that are kept, each a link to its moment.

use leptos::prelude::*;
use timeline::model::{Deployment, Rollout};
use timeline::words::{clock, count, duration, images};

use super::{Home, detail};
use crate::address;

/// All rollouts, the last one first.
#[must_use]
pub fn rollouts(home: &Home, deployment: &Deployment) -> AnyView {
    let line = |(index, rollout): (usize, &Rollout)| {
        let next = deployment.rollouts.get(index + 1);
        let page =
            address::permanent(&home.cluster, &home.namespace, &home.name, deployment.uid, Some(rollout.revision));
        // A revision that is rolled back to has its number no more; its moment stays.
        let link = match moment(rollout, next) {
            Some(at_millis) => format!("{page}&at={at_millis}"),
            None => page,
        };
        view! {
            <li>
                <a href=link data-testid="rollout">{format!("Revision {}", rollout.revision)}</a>
                {format!(", {}. ", took(rollout))}
                <span class="muted">{format!("Began {}. {} ", began(rollout), extremes(rollout))}<span class="mono">{images(&rollout.images)}</span></span>
            </li>
        }
    };
    let forgotten = deployment.rollouts_forgotten;
    let forgotten =
        (forgotten > 0).then(|| view! { <p class="muted">{format!("{} before these forgotten.", are(forgotten))}</p> });
    let body = view! {
        <ul class="lines">{deployment.rollouts.iter().enumerate().rev().map(line).collect_view()}</ul>
        {forgotten}
    };
    detail(
        home,
        "rollouts-detail",
        format!("{} of {}", count(deployment.rollouts.len() as u32, "rollout"), timeline::words::safe(&home.name)),
        body,
    )
}

fn are(number: u32) -> String {
    format!("{} {}", count(number, "rollout"), timeline::words::is_are(number))
}

/// The moment at which a rollout is best looked at: when it was complete, or failed, or was overtaken. `None` while it goes on.
fn moment(rollout: &Rollout, next: Option<&Rollout>) -> Option<i64> {
    let before_next = || next.and_then(|next| next.started_millis).map(|at| at - 250);
    rollout
        .completed_millis
        .or(rollout.superseded_millis.map(|at| at - 250))
        .or_else(before_next)
        .or(rollout.deadline_exceeded_millis)
}

fn took(rollout: &Rollout) -> String {
    match rollout.started_millis.zip(rollout.completed_millis) {
        Some((from, to)) => format!("took {}, complete", duration(to - from)),
        None => end(rollout),
    }
}

/// When it began.
pub(super) fn began(rollout: &Rollout) -> String {
    rollout.started_millis.map_or("before watching began".to_owned(), |at| format!("{} UTC", clock(at)))
}

/// How it ended.
pub(super) fn end(rollout: &Rollout) -> String {
    let took =
        |at: i64| rollout.started_millis.map(|from| format!(" after {}", duration(at - from))).unwrap_or_default();
    if let Some(at) = rollout.completed_millis {
        format!("complete{}", took(at))
    } else if let Some(at) = rollout.superseded_millis {
        format!("overtaken{}", took(at))
    } else if rollout.deadline_exceeded_millis.is_some() {
        "progress deadline passed".to_owned()
    } else {
        "under way".to_owned()
    }
}

/// Most pods and least available ones.
pub(super) fn extremes(rollout: &Rollout) -> String {
    format!("At most {}, at least {} available.", count(rollout.peak_pods, "pod"), rollout.min_available)
}
