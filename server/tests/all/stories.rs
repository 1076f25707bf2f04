//! Stories that were told wrongly once: what is said at the end, line by line, and that lines said before still stand.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use serde_json::json;
use server::feed::recording::Recording;
use server::kube::Observed;
use simcluster::action::{Action, Choice, edit};
use simcluster::{Key, Object, Resource, World, Write, kubelet, story as manifests};
use timeline::story::{self, LineKind};
use timeline::view::{self, Now, View};
use timeline::{Millis, Retention, Timeline, Uid};

use crate::common::simulated::Recorder;

/// What was recorded so far, played.
struct Played {
    timeline: Timeline,
    web: Uid,
    now: Millis,
}

impl Played {
    fn of(recorder: &Recorder) -> Self {
        let mut timeline = Timeline::new();
        let mut now = 0;
        for Observed { at_millis, fact } in Recording::read(&recorder.lines.join("\n")).observed {
            now = at_millis;
            fact.map(|fact| timeline.apply(at_millis, fact));
        }
        let web = timeline.model().find("default", "web").unwrap().uid;
        Self { timeline, web, now }
    }

    fn lines(&self, kinds: &[LineKind]) -> Vec<String> {
        let told = story::story(self.timeline.model(), self.web).into_iter();
        told.filter(|line| kinds.contains(&line.kind)).map(|line| line.text).collect()
    }

    /// "[Badge] sentence".
    fn verdict(&self) -> String {
        let verdict = self.view().verdict;
        format!("[{}] {}", verdict.badge, verdict.sentence)
    }

    fn view(&self) -> View {
        view::view(self.timeline.model(), self.web, Now { millis: self.now, skew_millis: 0 }).unwrap()
    }
}

fn delete_newest(world: &mut World, of: &Key) {
    let newest = Choice::of(world, of).unwrap().newest.unwrap();
    Action::DeleteReplicaSet(newest).perform(world, of).unwrap();
}

fn budget(world: &mut World, of: &Key, surge: i32, unavailable: i32) {
    let rolling =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
    edit(world, of, |deployment| {
        deployment.spec.as_mut().unwrap().strategy = Some(serde_json::from_value(rolling).unwrap())
    })
    .unwrap();
}

#[test]
fn a_replica_set_that_is_deleted_again_and_again_counts_once() {
    let mut recorder = Recorder::begin(1, 4);
    for _ in 0..3 {
        recorder.pass(20_000);
        recorder.act(delete_newest);
    }
    recorder.pass(20_000);
    recorder.act(|world, of| Action::Image("web:v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(40_000);
    let played = Played::of(&recorder);
    let steps = played.lines(&[LineKind::Step]);
    assert_eq!(steps[..4], ["Revision 1 up 0 → 4: 4 of at most 5."; 4]);
    assert_eq!(steps[4], "Revision 2 up 0 → 2, revision 1 down 4 → 3: 5 of at most 5, floor 3.");
    let deleted = played.lines(&[LineKind::Bad]);
    assert_eq!(deleted.len(), 3);
    for line in deleted {
        assert!(
            line.starts_with("ReplicaSet ")
                && line.contains(" was deleted, not by its Deployment, created again at once; "),
            "{line}"
        );
        assert!(line.ends_with(" with nothing available."), "{line}");
    }
    assert_eq!(played.view().verdict.sentence, "Revision 2 is complete: 4 of 4 available.");
}

#[test]
fn what_was_said_under_other_limits_stands_and_more_than_the_new_ones_allow_says_why() {
    let mut recorder = Recorder::begin(1, 10);
    recorder.pass(20_000);
    recorder.act(|world, of| budget(world, of, 5, 0));
    recorder.act(|world, of| Action::Image("web:never-v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(5_000);
    let before = Played::of(&recorder);
    let steps = before.lines(&[LineKind::Step]);
    assert_eq!(steps.last().unwrap(), "Revision 2 up 0 → 5: 15 of at most 15.");
    recorder.act(|world, of| budget(world, of, 1, 0));
    recorder.pass(1);
    let after = Played::of(&recorder);
    assert_eq!(after.lines(&[LineKind::Step]), steps);
    let said = after.view().budget;
    assert!(
        said.starts_with(
            "15 pods desired, above the ceiling of 11 since it was lowered (ceiling 11 = 10 + maxSurge 1)"
        ),
        "{said}"
    );
    // Scaled down in the middle: the step before keeps its ceiling too.
    recorder.act(|world, of| Action::Scale(6).perform(world, of).unwrap());
    recorder.pass(30_000);
    assert_eq!(Played::of(&recorder).lines(&[LineKind::Step])[..steps.len()], steps);
}

#[test]
fn lines_that_retention_keeps_keep_their_words_in_the_middle_of_a_rollout() {
    let mut recorder = Recorder::begin(1, 8);
    recorder.pass(20_000);
    recorder.act(|world, of| budget(world, of, 1, 0));
    recorder.act(|world, of| Action::Image("web:slow-v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(12_000);
    recorder.act(|world, of| Action::Scale(9).perform(world, of).unwrap());
    recorder.pass(25_000);
    let mut played = Played::of(&recorder);
    let all = story::story(played.timeline.model(), played.web);
    let short = Retention { age_millis: 15_000, screen_millis: 1_000, ..Retention::default() };
    played.timeline.prune(played.now, &short, &BTreeSet::new());
    let kept = story::story(played.timeline.model(), played.web);
    assert_eq!(kept[0].text, "Older history is not kept.");
    assert!(kept.len() > 2 && kept.len() < all.len(), "{} of {}", kept.len(), all.len());
    assert_eq!(kept[1..], all[all.len() + 1 - kept.len()..]);
}

fn act(recorder: &mut Recorder, action: Action) {
    recorder.act(|world, of| action.perform(world, of).unwrap());
}

/// Everything said while time passes, a look every 100 ms.
fn said_meanwhile(recorder: &mut Recorder, millis: i64) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for _ in 0..millis / 100 {
        recorder.pass(100);
        let verdict = Played::of(recorder).verdict();
        if said.last() != Some(&verdict) {
            said.push(verdict);
        }
    }
    said
}

#[test]
fn scaling_up_what_is_complete_is_never_called_recovering() {
    for (from, to) in [(3, 8), (0, 3)] {
        let mut recorder = Recorder::begin(2, from);
        recorder.pass(20_000);
        act(&mut recorder, Action::Scale(to));
        let said = said_meanwhile(&mut recorder, 6_000);
        let is_right = |verdict: &&String| {
            verdict.starts_with("[Scaling up] Revision 1 is scaling up: ")
                || verdict.starts_with("[Complete]")
                || verdict.starts_with("[Finishing]")
        };
        assert!(said.iter().all(|verdict| is_right(&verdict)), "{said:#?}");
        assert!(said.iter().any(|verdict| verdict.starts_with("[Scaling up]")), "{said:#?}");
        assert_eq!(said.last().unwrap(), &format!("[Complete] Revision 1 is complete: {to} of {to} available."));
    }
}

#[test]
fn a_rollback_after_a_scale_is_told_as_steps_of_a_rollout() {
    let mut recorder = Recorder::begin(3, 3);
    recorder.pass(20_000);
    act(&mut recorder, Action::Image("web:v2".to_owned()));
    recorder.pass(30_000);
    act(&mut recorder, Action::Scale(5));
    recorder.pass(20_000);
    act(&mut recorder, Action::Undo(None));
    recorder.pass(30_000);
    let played = Played::of(&recorder);
    let outside = played.lines(&[LineKind::Outside]);
    assert_eq!(outside, ["Scaled 3 → 5 (not a rollout)."]);
    let steps = played.lines(&[LineKind::Step]);
    assert!(
        steps.iter().any(|step| step.starts_with("Revision 3 up 0 → 3, revision 2 down 5 → 4: 7 of at most 7")),
        "{steps:#?}"
    );
    assert_eq!(played.verdict(), "[Complete] Revision 3 is complete: 5 of 5 available.");
}

#[test]
fn what_a_node_evicted_is_told_at_once_and_counts_nowhere_afterwards() {
    let mut recorder = Recorder::begin(4, 3);
    recorder.pass(20_000);
    let mut evicted = String::new();
    recorder.act(|world, of| {
        evicted.clone_from(&Choice::of(world, of).unwrap().pods[0]);
        kubelet::evict(world, &Key::new(&of.namespace, &evicted));
    });
    let told = Played::of(&recorder).lines(&[LineKind::Outside]);
    assert!(told[0].starts_with("Pod ") && told[0].contains(" evicted from node "), "{told:?}");
    recorder.pass(10_000);
    let played = Played::of(&recorder);
    assert_eq!(played.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    assert!(
        played.view().verdict.why.starts_with("1 failed pod is left over, the latest Evicted"),
        "{}",
        played.view().verdict.why
    );
    // Beside it somebody kills a pod: it was killed, not scaled down, though four pods are there and three are asked for.
    recorder.act(|world, of| {
        let pod = Choice::of(world, of).unwrap().pods[0].clone();
        Action::KillPod(pod).perform(world, of).unwrap();
    });
    recorder.pass(10_000);
    let told = Played::of(&recorder).lines(&[LineKind::Outside]);
    assert!(
        told.last().unwrap().contains("was deleted, not by the rollout; the Deployment stays at revision 1."),
        "{told:?}"
    );
    // Growing beside it is growing, and its eviction no cause.
    act(&mut recorder, Action::Scale(6));
    let said = said_meanwhile(&mut recorder, 5_000);
    assert!(!said.iter().any(|verdict| verdict.contains("Degraded") || verdict.contains("Recovering")), "{said:#?}");
    act(&mut recorder, Action::Scale(0));
    recorder.pass(20_000);
    assert_eq!(Played::of(&recorder).verdict(), "[Scaled to zero] Revision 1 is scaled to zero.");
}

#[test]
fn pods_that_nodes_refuse_are_told_together_and_the_rollout_gets_through() {
    let mut recorder = Recorder::begin(5, 4);
    recorder.pass(20_000);
    act(&mut recorder, Action::Image("web:outofcpu-v2".to_owned()));
    recorder.pass(60_000);
    let played = Played::of(&recorder);
    assert_eq!(played.verdict(), "[Complete] Revision 2 is complete: 4 of 4 available.");
    let failed: Vec<String> =
        played.lines(&[LineKind::Bad]).into_iter().filter(|line| line.contains("OutOfcpu")).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].ends_with("failed: OutOfcpu; the Deployment stays at revision 2."), "{failed:?}");
}

/// A ReplicaSet gets other labels.
fn label(world: &mut World, name: &str, app: &str) {
    let mut set = world.get::<ReplicaSet>(&Key::new("default", name)).unwrap();
    set.metadata.labels.as_mut().unwrap().insert("app".to_owned(), app.to_owned());
    world.update(Object::ReplicaSet(Box::new(set)), Write::Spec).unwrap();
}

#[test]
fn a_replica_set_that_another_deployment_took_over_counts_there() {
    let mut recorder = Recorder::begin(6, 3);
    recorder.pass(20_000);
    recorder.act(|world, _| {
        let mut other = manifests::manifest("default", "other", 2);
        other["spec"]["selector"] = json!({ "matchLabels": { "app": "other" } });
        other["spec"]["template"]["metadata"]["labels"] = json!({ "app": "other" });
        world.create(Object::read(Resource::Deployment, other).unwrap()).unwrap();
    });
    recorder.pass(20_000);
    let mut name = String::new();
    recorder.act(|world, of| {
        name = Choice::of(world, of).unwrap().newest.unwrap();
        label(world, &name, "other");
    });
    // Its own pods are none of the first one's any more; a new ReplicaSet makes others.
    let mut said = Vec::new();
    for _ in 0..100 {
        recorder.pass(100);
        let played = Played::of(&recorder);
        let (counts, wanted) = (played.view().counts, played.view().desired);
        assert!(counts.available <= wanted + 1, "{counts:?} of {wanted}");
        said.push(played.verdict());
    }
    assert!(said.iter().any(|verdict| verdict.contains(": 0 of 3 available.")), "{said:#?}");
    assert_eq!(said.last().unwrap(), "[Complete] Revision 1 is complete: 3 of 3 available.");
}

#[test]
fn recreate_that_never_completed_is_taken_down_before_the_next_one_starts() {
    let mut recorder = Recorder::begin(7, 3);
    recorder.act(|world, of| {
        edit(world, of, |deployment| {
            let recreate = json!({ "type": "Recreate" });
            deployment.spec.as_mut().unwrap().strategy = Some(serde_json::from_value(recreate).unwrap());
        })
        .unwrap();
    });
    recorder.pass(20_000);
    act(&mut recorder, Action::Image("web:never-v2".to_owned()));
    recorder.pass(30_000);
    act(&mut recorder, Action::Image("web:v3".to_owned()));
    let said = said_meanwhile(&mut recorder, 15_000);
    let taken_down =
        said.iter().position(|verdict| verdict.starts_with("[Taking down] Revision 2 is being taken down"));
    assert!(taken_down.is_some(), "{said:#?}");
    let before: Vec<_> = said.iter().skip(1).take(taken_down.unwrap()).collect();
    assert!(!before.iter().any(|verdict| verdict.contains("may be added")), "{said:#?}");
    assert_eq!(said.last().unwrap(), "[Complete] Revision 3 is complete: 3 of 3 available.");
}
