//! Details of one revision.

use serde::{Deserialize, Serialize};
use timeline::fact::Image;
use timeline::model::story::ContainerEnd;
use timeline::model::{Deployment, PodState, ReplicaSet};
use timeline::story::{self, Entry, Happening};
use timeline::view::{Command, Now};
use timeline::words::{safe, shell_word as word};
use timeline::{Millis, Model, Workload, rollout};

use super::lines::DetailFacts;
use super::rollouts::{self, RolloutLine};
use super::{DetailFact, Value};

/// A revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionDetail {
    /// Number of the revision.
    pub revision: u64,
    /// Time of the data.
    pub now_millis: Millis,
    /// Role of the revision in words: current, or replaced by another.
    pub standing: String,
    /// Other facts.
    pub facts: Vec<DetailFact>,
    /// Containers of its template with their images.
    pub images: Vec<Image>,
    /// Differences from the revision before, and from the last complete one if that is another: a rollout that supersedes an incomplete one
    /// replaces the pods of both.
    pub differences: Vec<Difference>,
    /// Its rollouts, in order.
    pub rollouts: Vec<RolloutLine>,
    /// Commands that show more or roll back to it.
    pub commands: Vec<Command>,
}

/// Differences from another revision, in the fields that Rollcast reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Difference {
    /// Number of the revision that it is compared with.
    pub from: u64,
    /// Differences, a sentence each.
    pub lines: Vec<String>,
}

impl RevisionDetail {
    /// Collects the details of a revision; `None` if it was never observed.
    pub fn from_model(
        workload: &Workload,
        model: &Model,
        deployment: &Deployment,
        revision: u64,
        now: Now,
    ) -> Option<Self> {
        let first = rollout::replica_set(model, deployment, revision);
        // A deleted ReplicaSet may have been created again.
        let carries = |set: &&ReplicaSet| set.had_revision(revision);
        let remade = first.and_then(|set| rollout::sets_named_as(model, deployment, set).filter(carries).last());
        // After all ReplicaSets were deleted, the controller counts from 1 again: the number may be that of an earlier revision.
        let is_current = rollout::current_revision(model, deployment) == Some(revision);
        let current = rollout::current_set(model, deployment).filter(|_| is_current);
        let set = current.or(remade);
        let rollouts: Vec<_> = rollouts::lines(model, deployment).filter(|line| line.revision == revision).collect();
        if set.is_none() && rollouts.is_empty() {
            return None;
        }
        let last = deployment.rollouts.iter().rfind(|rollout| rollout.revision == revision);
        let images = set.map(|set| &set.images).or_else(|| last.map(|rollout| &rollout.images));
        let image = |of: &Image| Image { container: safe(&of.container), image: safe(&of.image) };
        Some(Self {
            revision,
            now_millis: now.millis,
            standing: standing((is_current, deployment.deleted_millis.is_some()), revision, set),
            facts: facts(model, set, now.skew_millis),
            images: images.into_iter().flatten().map(image).collect(),
            differences: differences(model, deployment, revision),
            rollouts,
            commands: commands(workload, deployment, (revision, is_current), set),
        })
    }
}

fn standing((is_current, is_deleted): (bool, bool), revision: u64, set: Option<&ReplicaSet>) -> String {
    let standing = match (is_current, is_deleted) {
        (true, false) => "The current revision.",
        (true, true) => "The last revision of the deleted Deployment.",
        (false, _) => "An earlier revision.",
    };
    let now_is = set.and_then(ReplicaSet::revision).filter(|now| *now != revision);
    match now_is {
        _ if set.is_some_and(|set| set.removed_millis.is_some()) && !is_current => {
            format!("{standing} Its ReplicaSet is deleted: there is nothing to roll back to.")
        }
        Some(now) => format!("{standing} Its ReplicaSet now carries revision {now}: it was rolled back to."),
        None => standing.to_owned(),
    }
}

fn facts(model: &Model, set: Option<&ReplicaSet>, skew_millis: Millis) -> Vec<DetailFact> {
    let Some(set) = set else { return Vec::new() };
    let revisions: Vec<String> = set.revisions.iter().map(|(revision, _)| revision.to_string()).collect();
    let living = model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid) && pod.state() != PodState::Gone);
    let (pods, available) = living
        .fold((0, 0), |(pods, available), pod| (pods + 1, available + u32::from(pod.state() == PodState::Available)));
    let pods = if pods == 0 { pods.to_string() } else { format!("{pods}, {available} of them available") };
    let cause = set.now.change_cause.as_deref().filter(|cause| !cause.is_empty());
    DetailFacts::default()
        .text("ReplicaSet", safe(&set.name))
        .text("Revisions", revisions.join(", "))
        .text("pod-template-hash", safe(&set.template_hash))
        .text("app.kubernetes.io/version", safe(&set.now.version))
        .time("Created", Some(set.created_at_millis.saturating_add(skew_millis)))
        .time("Deleted", set.removed_millis)
        .text("Desired", set.now.counts.desired.to_string())
        .text("Pods", pods)
        .value("Change cause", cause.map(Value::linked))
        .text("Deployed by", safe(&set.now.managed_by))
        .0
}

/// Compares the revision with earlier ones, the one before first.
fn differences(model: &Model, deployment: &Deployment, revision: u64) -> Vec<Difference> {
    let known = model.sets_of(deployment.uid).flat_map(|set| set.revisions.iter().map(|(known, _)| *known));
    let before = known.filter(|known| *known < revision).max();
    let complete = complete_before(deployment, revision).filter(|complete| Some(*complete) != before);
    before.into_iter().chain(complete).filter_map(|from| difference(model, deployment, from, revision)).collect()
}

/// Returns the revision that was complete last before the last rollout of another one began.
fn complete_before(deployment: &Deployment, revision: u64) -> Option<u64> {
    let last = deployment.rollouts.iter().rposition(|rollout| rollout.revision == revision)?;
    let earlier = deployment.rollouts.get(..last)?;
    let complete = earlier.iter().rfind(|rollout| rollout.completed_millis.is_some())?;
    Some(complete.revision).filter(|complete| *complete != revision)
}

fn difference(model: &Model, deployment: &Deployment, from: u64, revision: u64) -> Option<Difference> {
    let (old, new) =
        (rollout::replica_set(model, deployment, from)?, rollout::replica_set(model, deployment, revision)?);
    let mut lines = images_that_differ(old, new);
    let are_images_same = lines.is_empty();
    let rollout = |revision: u64| deployment.rollouts.iter().find(|rollout| rollout.revision == revision);
    let restarted = |revision: u64| rollout(revision).and_then(|rollout| rollout.restarted_at.as_ref());
    let apart = |revision: u64| rollout(revision).and_then(|rollout| rollout.template_apart);
    let is_apart = apart(from).zip(apart(revision)).is_some_and(|(from, to)| from != to);
    if let Some(at) = restarted(revision).filter(|at| restarted(from) != Some(at)) {
        lines.push(format!("kubectl rollout restart at {}", safe(at)));
    }
    if old.now.min_ready_seconds != new.now.min_ready_seconds {
        lines.push(format!("minReadySeconds {} → {}", old.now.min_ready_seconds, new.now.min_ready_seconds));
    }
    if old.uid == new.uid {
        lines.push("Nothing: it has the same pod template, of the same ReplicaSet.".to_owned());
    } else if lines.is_empty() || (are_images_same && is_apart) {
        let fields = "labels, init containers, environment, arguments, volumes, resources and the like";
        lines.push(format!("Something that Rollcast does not read: {fields}."));
    }
    Some(Difference { from, lines })
}

fn images_that_differ(old: &ReplicaSet, new: &ReplicaSet) -> Vec<String> {
    let image = |set: &ReplicaSet, container: &str| {
        set.images.iter().find(|image| image.container == container).map(|image| safe(&image.image))
    };
    let added = new.images.iter().map(|image| image.container.as_str());
    let removed = old.images.iter().map(|i| i.container.as_str()).filter(|name| image(new, name).is_none());
    let line = |name: &str| {
        let shown = safe(name);
        match (image(old, name), image(new, name)) {
            (old, new) if old == new => None,
            (Some(old), Some(new)) => Some(format!("{shown}: image {old} → {new}")),
            (None, Some(new)) => Some(format!("{shown}: container added, image {new}")),
            (Some(old), None) => Some(format!("{shown}: container removed, image {old}")),
            (None, None) => None,
        }
    };
    added.chain(removed).filter_map(line).collect()
}

/// Returns the highest number of restarts of a revision since its last rollout was complete, according to its story; `None` if none were
/// observed. Restarts for a change of the pod's spec, in a new sandbox, or without a known end do not count.
fn restarts_after_completion(deployment: &Deployment, revision: u64) -> Option<String> {
    let last = deployment.rollouts.iter().rfind(|rollout| rollout.revision == revision)?;
    let completed_millis = last.completed_millis.filter(|_| !last.was_scaled_to_zero)?;
    let restarts = |entry: &Entry| match &entry.what {
        Happening::Restarted { restart, restarts, .. } => {
            let is_unrelated = matches!(restart.end, ContainerEnd::Sandbox | ContainerEnd::Unknown);
            let is_its_own = !is_unrelated && !restart.end.is_spec_change();
            (restart.revision == Some(revision) && restart.was_seen && is_its_own).then_some(*restarts)
        }
        _ => None,
    };
    let later = deployment.story.iter().filter(|entry| entry.at_millis > completed_millis);
    let told = later.filter_map(|entry| Some((restarts(entry)?, entry)));
    told.max_by_key(|(restarts, _)| *restarts).map(|(_, entry)| story::line(deployment, entry).text)
}

fn commands(
    workload: &Workload,
    deployment: &Deployment,
    (revision, is_current): (u64, bool),
    set: Option<&ReplicaSet>,
) -> Vec<Command> {
    let name = word(&workload.name);
    let kubectl = |what: &str, rest: String| Command::kubectl(what, &workload.namespace, &rest);
    // kubectl knows a ReplicaSet by its present revision, and has no revision of a deleted one.
    let carried = set.map_or(Some(revision), |set| set.revision().filter(|_| set.removed_millis.is_none()));
    let template = |of: u64| kubectl("Full pod template", format!("rollout history deployment/{name} --revision={of}"));
    let mut all: Vec<Command> = carried.map(template).into_iter().collect();
    if let Some(set) = set.filter(|set| set.removed_millis.is_none()) {
        all.push(kubectl("Its ReplicaSet", format!("describe replicaset {}", word(&set.name))));
        if !is_current && carried == Some(revision) {
            let what = match restarts_after_completion(deployment, revision) {
                Some(restarts) => format!("Roll back to it. Its pods had restarts after it was complete. {restarts}"),
                None => "Roll back to it".to_owned(),
            };
            let undo = kubectl(&what, format!("rollout undo deployment/{name} --to-revision={revision}"));
            all.push(Command { changes_cluster: true, ..undo });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use timeline::fact::{
        Container, ContainerState, DeploymentFact, DeploymentNow, EventFact, Exit, Meta, PodFact, ReplicaSetFact, Role,
        Seen,
    };
    use timeline::{Fact, Timeline, Uid};

    use super::*;
    use crate::detail::rollouts::tests::timeline_of;

    fn meta(number: u128, name: &str, controller: Option<u128>) -> Meta {
        let (uid, controller) = (Uid::from_bits(number), controller.map(Uid::from_bits));
        Meta { uid, namespace: "shop".into(), name: name.into(), controller, ..Meta::default() }
    }

    fn deployment(revision: u64) -> Box<DeploymentFact> {
        let now = DeploymentNow { revision: Some(revision), ..DeploymentNow::default() };
        Box::new(DeploymentFact { meta: meta(1, "web", None), now })
    }

    fn set(number: u128, name: &str, revision: u64) -> Box<ReplicaSetFact> {
        let (meta, revision) = (meta(number, name, Some(1)), Some(revision));
        Box::new(ReplicaSetFact { meta, revision, ..ReplicaSetFact::default() })
    }

    /// Returns the details of revision 1. Our clock is half a second ahead of the cluster's.
    fn detail(timeline: &Timeline) -> RevisionDetail {
        let deployment = timeline.model().deployments.get(&Uid::from_bits(1)).unwrap();
        let workload = Workload::deployment("prod", "shop", "web");
        let now = Now { millis: 2_000, skew_millis: 500 };
        RevisionDetail::from_model(&workload, timeline.model(), deployment, 1, now).unwrap()
    }

    fn told(detail: &RevisionDetail, name: &str) -> Option<Value> {
        detail.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
    }

    #[test]
    fn a_revision_is_told_of_the_replica_set_that_was_made_again() {
        let pod = PodFact { meta: meta(4, "web-5d8c-q4xzb", Some(3)), ..PodFact::default() };
        let facts = [
            Fact::Deployment(deployment(1), Seen::Added),
            Fact::ReplicaSet(set(2, "web-5d8c", 1), Seen::Added),
            Fact::ReplicaSet(set(2, "web-5d8c", 1), Seen::Deleted),
            Fact::ReplicaSet(set(3, "web-5d8c", 1), Seen::Added),
            Fact::Pod(Box::new(pod), Seen::Added),
        ];
        let detail = detail(&timeline_of(facts.map(|fact| (1_000, fact))));
        let pods = Value::Text("1, 0 of them available".to_owned());
        assert_eq!((told(&detail, "Deleted"), told(&detail, "Pods")), (None, Some(pods)));
        assert_eq!(told(&detail, "Created"), Some(Value::Time(500)), "by our clock");
    }

    #[test]
    fn the_current_revision_is_told_of_its_replica_set_where_its_number_was_used_before() {
        let facts = [
            Fact::Deployment(deployment(1), Seen::Added),
            Fact::ReplicaSet(set(2, "web-a", 1), Seen::Added),
            Fact::ReplicaSet(set(3, "web-b", 2), Seen::Added),
            Fact::Deployment(deployment(2), Seen::Modified),
            Fact::ReplicaSet(set(2, "web-a", 1), Seen::Deleted),
            Fact::ReplicaSet(set(3, "web-b", 2), Seen::Deleted),
            Fact::ReplicaSet(set(4, "web-b", 1), Seen::Added),
            Fact::Deployment(deployment(1), Seen::Modified),
        ];
        let mut timeline = timeline_of((1_000..).zip(facts));
        let current = detail(&timeline);
        assert_eq!(current.standing, "The current revision.");
        let set = Value::Text("web-b".to_owned());
        assert_eq!((told(&current, "ReplicaSet"), told(&current, "Deleted")), (Some(set), None));
        timeline.apply(2_000, Fact::Deployment(deployment(1), Seen::Deleted));
        assert_eq!(detail(&timeline).standing, "The last revision of the deleted Deployment.");
    }

    #[test]
    fn a_difference_that_is_not_read_is_told_with_all_that_it_may_be() {
        let timeline = timeline_of([
            (1_000, Fact::Deployment(deployment(2), Seen::Added)),
            (1_000, Fact::ReplicaSet(set(2, "web-a", 1), Seen::Added)),
            (1_000, Fact::ReplicaSet(set(3, "web-b", 2), Seen::Added)),
        ]);
        let web = timeline.model().deployments.get(&Uid::from_bits(1)).unwrap();
        let fields = "labels, init containers, environment, arguments, volumes, resources and the like";
        let lines = vec![format!("Something that Rollcast does not read: {fields}.")];
        assert_eq!(differences(timeline.model(), web, 2), [Difference { from: 1, lines }]);
    }

    #[test]
    fn a_revision_offers_what_its_replica_set_still_answers() {
        let mut web = deployment(2);
        (web.now.generation, web.now.status.observed_generation) = (1, 1);
        let mut timeline = timeline_of([
            (1_000, Fact::Deployment(web, Seen::Added)),
            (1_000, Fact::ReplicaSet(set(3, "web-3", 2), Seen::Added)),
        ]);
        let mut told = |revision, seen| {
            timeline.apply(2_000, Fact::ReplicaSet(set(2, "web-2", revision), seen));
            let detail = detail(&timeline);
            assert!(detail.commands.iter().all(|of| of.changes_cluster == of.command.contains(" undo ")));
            let commands = detail.commands.into_iter().map(|command| command.command).collect::<Vec<_>>();
            (detail.standing, commands)
        };
        let [template, describe, undo] = [
            "kubectl --namespace shop rollout history deployment/web --revision=1",
            "kubectl --namespace shop describe replicaset web-2",
            "kubectl --namespace shop rollout undo deployment/web --to-revision=1",
        ]
        .map(str::to_owned);
        let (standing, commands) = told(1, Seen::Added);
        assert_eq!(standing, "An earlier revision.");
        assert_eq!(commands, [template.clone(), describe.clone(), undo]);
        let (standing, commands) = told(3, Seen::Modified);
        assert_eq!(standing, "An earlier revision. Its ReplicaSet now carries revision 3: it was rolled back to.");
        assert_eq!(commands, [template.replace("=1", "=3"), describe]);
        let (standing, commands) = told(3, Seen::Deleted);
        assert_eq!(standing, "An earlier revision. Its ReplicaSet is deleted: there is nothing to roll back to.");
        assert_eq!(commands, Vec::<String>::new());
    }

    #[test]
    fn a_rollback_is_offered_with_the_restarts_that_came_after_the_revision_was_complete() {
        let web = |revision, available, seen| {
            let mut web = deployment(revision);
            web.now.spec.replicas = 1;
            let status = &mut web.now.status;
            (status.replicas, status.updated, status.available) = (1, 1, available);
            Fact::Deployment(web, seen)
        };
        let pod = |restarts: u32, reason: &str, seen| {
            let exit = Exit { code: 137, reason: reason.into(), ..Exit::default() };
            let mut container = Container::new("web".into(), Role::App);
            container.state = Some(ContainerState::Running);
            (container.restarts, container.last_exit) = (restarts, Some(exit.into()).filter(|_| restarts > 0));
            let (meta, containers) = (meta(4, "web-1-q4xzb", Some(2)), vec![container]);
            Fact::Pod(Box::new(PodFact { meta, containers, ..PodFact::default() }), seen)
        };
        let told = |crashed_millis: Millis, reason: &str| {
            let mut facts = vec![
                (1_000, web(1, 0, Seen::Added)),
                (1_000, Fact::ReplicaSet(set(2, "web-1", 1), Seen::Added)),
                (1_000, pod(0, "", Seen::Added)),
                (3_000, web(1, 1, Seen::Modified)),
                (5_000, Fact::ReplicaSet(set(3, "web-2", 2), Seen::Added)),
                (5_000, web(2, 0, Seen::Modified)),
                (crashed_millis, pod(1, reason, Seen::Modified)),
            ];
            if reason == "Completed" {
                let killing = EventFact {
                    namespace: "shop".into(),
                    about: Uid::from_bits(4),
                    about_kind: "Pod".into(),
                    about_name: "web-1-q4xzb".into(),
                    reason: "Killing".into(),
                    message: "Container web resize requires restart".into(),
                    count: 1,
                    ..EventFact::default()
                };
                facts.push((crashed_millis, Fact::Event(Box::new(killing))));
            }
            facts.sort_by_key(|(at_millis, _)| *at_millis);
            detail(&timeline_of(facts)).commands.pop().unwrap().what
        };
        let crashed = |how: &str| {
            let restarts = "Its pods had restarts after it was complete. Pod q4xzb of revision 1: container web";
            format!("Roll back to it. {restarts} {how} and was restarted.")
        };
        assert_eq!(told(4_000, "OOMKilled"), crashed("ran out of memory (OOMKilled)"));
        assert_eq!(told(6_000, "OOMKilled"), crashed("ran out of memory (OOMKilled)"));
        assert_eq!(told(4_000, "Error"), crashed("ended with exit code 137 (SIGKILL)"));
        assert_eq!(told(2_000, "OOMKilled"), "Roll back to it");
        assert_eq!(told(4_000, "ContainerStatusUnknown"), "Roll back to it");
        assert_eq!(told(4_000, "Completed"), "Roll back to it", "it was resized");
    }
}
