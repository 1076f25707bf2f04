//! Everything about one revision.

use leptos::prelude::*;
use timeline::model::{Deployment, ReplicaSet, Rollout};
use timeline::phase::PodState;
use timeline::words::{clock, safe};
use timeline::{Model, rollout};

use super::rollouts::{began, end, extremes};
use super::{Home, commands, detail, fact, linked, word};
use crate::address;

/// Everything about a revision; `None` when it was never seen.
#[must_use]
pub fn revision(home: &Home, model: &Model, deployment: &Deployment, revision: u64) -> Option<AnyView> {
    let carries = |set: &&ReplicaSet| set.revisions.iter().any(|(known, _)| *known == revision);
    let set = model.sets_of(deployment.uid).find(carries);
    let rollouts: Vec<(usize, &Rollout)> =
        deployment.rollouts.iter().enumerate().filter(|(_, rollout)| rollout.revision == revision).collect();
    if set.is_none() && rollouts.is_empty() {
        return None;
    }
    let is_current = rollout::current_revision(model, deployment) == Some(revision);
    let now_is = set.and_then(ReplicaSet::revision).filter(|now| *now != revision);
    let carried =
        set.map(|set| set.revisions.iter().map(|(revision, _)| revision.to_string()).collect::<Vec<_>>().join(", "));
    let pods = set.map(|set| {
        let pods = model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid));
        let (all, available) = pods
            .filter(|pod| pod.state() != PodState::Gone)
            .fold((0, 0), |(all, up), pod| (all + 1, up + u32::from(pod.state() == PodState::Available)));
        format!("{all}, {available} of them available")
    });
    let gone = set.and_then(|set| set.removed_millis).map(|at| format!("since {} UTC", clock(at))).unwrap_or_default();
    let images =
        set.map(|set| set.images.as_slice()).or_else(|| rollouts.last().map(|(_, rollout)| rollout.images.as_slice()));
    let cause = set.and_then(|set| set.now.change_cause.as_deref()).unwrap_or_default();
    let body = view! {
        <p class="state">{if is_current { "The current revision." } else { "An earlier revision." }}{now_is.map(|now| format!(" Its ReplicaSet now carries revision {now}: it was rolled back to."))}</p>
        <dl class="facts">
            {fact("ReplicaSet", set.map(|set| safe(&set.name)).unwrap_or_default())}
            {fact("Revisions it carried", carried.unwrap_or_default())}
            {fact("pod-template-hash", set.map(|set| safe(&set.template_hash)).unwrap_or_default())}
            {fact("app.kubernetes.io/version", set.map(|set| safe(&set.now.version)).unwrap_or_default())}
            {fact("Created", set.map(|set| format!("{} UTC", clock(set.created_at_millis))).unwrap_or_default())}
            {fact("Deleted", gone)}
            {fact("Wanted", set.map(|set| set.now.counts.wanted.to_string()).unwrap_or_default())}
            {fact("Pods", pods.unwrap_or_default())}
            {(!cause.is_empty()).then(|| view! { <dt>"Change cause"</dt><dd>{linked(cause)}</dd> })}
        </dl>
        <h3>"Containers"</h3>
        <table><tbody>{images.into_iter().flatten().map(|image| view! { <tr><td>{safe(&image.container)}</td><td class="mono">{safe(&image.image)}</td></tr> }).collect_view()}</tbody></table>
        {difference(home, model, deployment, revision)}
        {history(&rollouts)}
        {commands(lookups(home, revision, is_current, set))}
    };
    Some(detail(home, "revision-detail", format!("Revision {revision}"), body))
}

/// What differs from the revision before, of the fields that Rollcast reads.
fn difference(home: &Home, model: &Model, deployment: &Deployment, revision: u64) -> AnyView {
    let sets = || model.sets_of(deployment.uid);
    let of = |wanted: u64| sets().find(|set| set.revisions.iter().any(|(known, _)| *known == wanted));
    let before =
        sets().flat_map(|set| set.revisions.iter().map(|(known, _)| *known)).filter(|known| *known < revision).max();
    let Some((before, old, new)) = before.and_then(|before| Some((before, of(before)?, of(revision)?))) else {
        return ().into_any();
    };
    let image = |set: &ReplicaSet, container: &str| {
        set.images.iter().find(|image| image.container == container).map(|image| safe(&image.image))
    };
    let mut names: Vec<&str> = new.images.iter().map(|image| image.container.as_str()).collect();
    names.extend(old.images.iter().map(|i| i.container.as_str()).filter(|name| image(new, name).is_none()));
    let mut lines: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let shown = safe(name);
            match (image(old, name), image(new, name)) {
                (old, new) if old == new => None,
                (Some(old), Some(new)) => Some(format!("{shown}: image {old} → {new}")),
                (None, Some(new)) => Some(format!("{shown}: container added, image {new}")),
                (Some(old), None) => Some(format!("{shown}: container removed, image {old}")),
                (None, None) => None,
            }
        })
        .collect();
    let restarted = |revision: u64| {
        let rollout = deployment.rollouts.iter().find(|rollout| rollout.revision == revision);
        rollout.and_then(|rollout| rollout.restarted_at.clone())
    };
    if let Some(at) = restarted(revision).filter(|at| restarted(before).as_ref() != Some(at)) {
        lines.push(format!("kubectl rollout restart at {}", safe(&at)));
    }
    if old.now.min_ready_seconds != new.now.min_ready_seconds {
        lines.push(format!("minReadySeconds {} → {}", old.now.min_ready_seconds, new.now.min_ready_seconds));
    }
    if lines.is_empty() {
        lines.push("Something that Rollcast does not read: environment, arguments, volumes, resources.".to_owned());
    }
    let earlier = format!("{}/{}", home.page(), address::revision(before));
    view! {
        <h3>"Against revision "<a data-open=address::revision(before) href=earlier>{before}</a></h3>
        <ul class="lines">{lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}</ul>
    }
    .into_any()
}

/// When it was rolled out, and how that ended.
fn history(rollouts: &[(usize, &Rollout)]) -> AnyView {
    let line = |(_, rollout): &(usize, &Rollout)| {
        view! { <li>{format!("Began {}: {}. {}", began(rollout), end(rollout), extremes(rollout))}</li> }
    };
    if rollouts.is_empty() {
        return ().into_any();
    }
    view! { <h3>"Rollouts"</h3><ul class="lines">{rollouts.iter().map(line).collect_view()}</ul> }.into_any()
}

fn lookups(home: &Home, revision: u64, is_current: bool, set: Option<&ReplicaSet>) -> Vec<(&'static str, String)> {
    let (namespace, name) = (word(&home.namespace), word(&home.name));
    let mut all = vec![(
        "Its whole pod template",
        format!("kubectl --namespace {namespace} rollout history deployment/{name} --revision={revision}"),
    )];
    if let Some(set) = set.filter(|set| set.removed_millis.is_none()) {
        all.push((
            "Its ReplicaSet",
            format!("kubectl --namespace {namespace} describe replicaset {}", word(&set.name)),
        ));
        if !is_current && set.revision() == Some(revision) {
            all.push((
                "Roll back to it",
                format!("kubectl --namespace {namespace} rollout undo deployment/{name} --to-revision={revision}"),
            ));
        }
    }
    all
}
