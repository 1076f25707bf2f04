//! Facts made by hand, with the fields of a healthy Deployment where a test says nothing else.

mod lists;

use std::collections::BTreeMap;

use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, DeploymentFact, DeploymentNow, DeploymentSpec,
    DeploymentStatus, EventFact, Exit, Image, IntOrPercent, Kind, Meta, Phase, PodCondition, PodFact, ReplicaSetCounts,
    ReplicaSetFact, ReplicaSetNow, Role, Seen, Strategy,
};
use timeline::history::History;
use timeline::story::{self, LineKind};
use timeline::view::{self, Now, View};
use timeline::{Fact, Millis, Timeline, Uid};

pub fn meta(number: u128, name: &str, controller: Option<u128>) -> Meta {
    Meta {
        uid: Uid::from_bits(number),
        namespace: "shop".into(),
        name: name.into(),
        controller: controller.map(Uid::from_bits),
        ..Meta::default()
    }
}

/// Three replicas, revision 2 half way: one new pod asked for, the old ones available.
pub fn deployment() -> DeploymentFact {
    DeploymentFact {
        meta: meta(1, "web", None),
        now: DeploymentNow {
            generation: 2,
            revision: Some(2),
            spec: DeploymentSpec {
                replicas: 3,
                strategy: Strategy::RollingUpdate {
                    max_surge: IntOrPercent::Percent(25),
                    max_unavailable: IntOrPercent::Percent(25),
                },
                progress_deadline_seconds: Some(600),
                revision_history_limit: 10,
                images: vec![Image { container: "web".into(), image: "web:v2".into() }],
                ..DeploymentSpec::default()
            },
            status: DeploymentStatus {
                observed_generation: 2,
                replicas: 4,
                updated: 1,
                available: 3,
                ..DeploymentStatus::default()
            },
            ..DeploymentNow::default()
        },
    }
}

pub fn set(number: u128, revision: u64, desired: u32, available: u32) -> ReplicaSetFact {
    ReplicaSetFact {
        meta: meta(number, &format!("web-{revision}"), Some(1)),
        revision: Some(revision),
        images: vec![Image { container: "web".into(), image: format!("web:v{revision}") }],
        template_hash: revision.to_string(),
        now: ReplicaSetNow {
            counts: ReplicaSetCounts { desired, replicas: desired, available },
            desired_replicas: Some(3),
            max_replicas: Some(4),
            ..ReplicaSetNow::default()
        },
        ..ReplicaSetFact::default()
    }
}

pub fn pod(number: u128, set: u128, name: &str) -> PodFact {
    PodFact {
        meta: meta(number, name, Some(set)),
        node: Some("node-1".into()),
        phase: Phase::Running,
        containers: vec![Container { state: Some(ContainerState::Running), ..Container::new("web".into(), Role::App) }],
        ..PodFact::default()
    }
}

pub fn condition(status: ConditionStatus, reason: &str, message: &str) -> Condition {
    Condition {
        status,
        reason: reason.into(),
        message: message.into(),
        last_transition_millis: Some(0),
        last_update_millis: Some(0),
    }
}

/// A Warning about an object, which happened once and does not tell when.
pub fn warning(uid: u128, about: u128, (kind, name): (&str, &str), reason: &str, message: &str) -> EventFact {
    EventFact {
        uid: Uid::from_bits(uid),
        namespace: "shop".into(),
        about: Uid::from_bits(about),
        about_kind: kind.into(),
        about_name: name.into(),
        reason: reason.into(),
        message: message.into(),
        is_warning: true,
        count: 1,
        ..EventFact::default()
    }
}

pub fn ready(pod: &mut PodFact) {
    pod.ready = Some(condition(ConditionStatus::True, "", ""));
}

pub fn unready(pod: &mut PodFact) {
    pod.ready = Some(condition(ConditionStatus::False, "ContainersNotReady", ""));
}

/// The container crashed with exit code 1, so often.
pub fn crashing(restarts: u32) -> impl FnOnce(&mut PodFact) {
    move |pod| {
        pod.containers[0].state = Some(waiting("CrashLoopBackOff", "back-off 10s"));
        (pod.containers[0].restarts, pod.containers[0].last_exit) =
            (restarts, Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into()));
    }
}

/// Its kubelet ended it, and all its containers ended with exit code 0: only the condition says so.
pub fn ended_by_kubelet(message: &str) -> impl FnOnce(&mut PodFact) {
    let (kind, reason, message) = ("DisruptionTarget".into(), "TerminationByKubelet".to_owned(), message.to_owned());
    move |pod| {
        (pod.phase, pod.disruption) = (Phase::Succeeded, Some(reason.clone()));
        pod.conditions = vec![PodCondition { kind, status: ConditionStatus::True, reason, message }];
    }
}

pub fn waiting(reason: &str, message: &str) -> ContainerState {
    ContainerState::Waiting { reason: reason.into(), message: message.into() }
}

/// A Deployment `web` with what belongs to it, watched: every change is a fact that arrives at `now`.
pub struct Web {
    pub timeline: Timeline,
    /// Every change so far.
    pub history: History,
    pub now: Millis,
    deployment: DeploymentFact,
    sets: BTreeMap<u128, ReplicaSetFact>,
    pods: BTreeMap<u128, PodFact>,
}

pub const WEB: Uid = Uid::from_bits(1);
/// The ReplicaSet of revision 2.
pub const SECOND: u128 = 3;

impl Web {
    /// Revision 1 of so many replicas, in ReplicaSet 2 with pods from 100 on: made while we watch, and complete at 5 s.
    pub fn live(replicas: u32) -> Self {
        let mut web = Self::made(replicas);
        web.now = 5_000;
        for pod in web.pods.keys().copied().collect::<Vec<_>>() {
            web.pod(pod, ready);
        }
        web.report();
        web
    }

    /// The same, and no pod is ready yet.
    pub fn made(replicas: u32) -> Self {
        let mut deployment = deployment();
        let now = &mut deployment.now;
        (now.revision, now.spec.replicas, now.spec.images) = (Some(1), replicas, set(2, 1, 0, 0).images);
        now.status = DeploymentStatus { observed_generation: 2, ..DeploymentStatus::default() };
        let mut web = Self::unwatched(deployment.clone(), 0);
        for kind in Kind::ALL {
            web.listed(kind, None);
        }
        web.tell(Fact::Deployment(Box::new(deployment), Seen::Added));
        let mut first = set(2, 1, replicas, 0);
        (first.now.desired_replicas, first.now.max_replicas) = (Some(replicas), Some(replicas + replicas.div_ceil(4)));
        web.add_set(2, first);
        for number in 0..replicas {
            web.add_pod(100 + u128::from(number), 2, |_| {});
        }
        web
    }

    /// Revision 2 begins to replace revision 1 and its three pods at 20 s: [`SECOND`] asks for one pod, which is not there yet.
    pub fn replacing() -> Self {
        let mut web = Self::live(3);
        web.now = 20_000;
        next_revision(&mut web, 2, [1, 3]);
        web
    }

    /// Revision 2 replaced revision 1 at 20 s; nobody has reported it yet.
    pub fn replaced() -> Self {
        let mut web = Self::live(3);
        web.now = 20_000;
        web.take_over(ready);
        web
    }

    /// The same, and it is reported.
    pub fn reported() -> Self {
        let mut web = Self::replaced();
        web.report();
        web
    }

    /// The same at that time.
    pub fn at(self, now: Millis) -> Self {
        Self { now, ..self }
    }

    /// Time passes until then; what happens next arrives at that time.
    pub fn wait_until(&mut self, now: Millis) -> &mut Self {
        self.now = now;
        self
    }

    /// So much time passes.
    pub fn wait(&mut self, millis: Millis) -> &mut Self {
        self.now += millis;
        self
    }

    fn tell(&mut self, fact: Fact) {
        let changes = self.timeline.apply(self.now, fact);
        self.history.note(self.now, &changes);
    }

    /// The Deployment changes.
    pub fn deployment(&mut self, change: impl FnOnce(&mut DeploymentNow)) {
        change(&mut self.deployment.now);
        self.tell(Fact::Deployment(Box::new(self.deployment.clone()), Seen::Modified));
    }

    /// Somebody edits the Deployment.
    pub fn edit_spec(&mut self, change: impl FnOnce(&mut DeploymentNow)) {
        self.deployment(|deployment| {
            deployment.generation += 1;
            change(deployment);
        });
    }

    /// The template changes.
    pub fn edit(&mut self, version: &str) {
        self.edit_spec(|deployment| deployment.spec.images = image(version));
    }

    pub fn delete_deployment(&mut self) {
        self.tell(Fact::Deployment(Box::new(self.deployment.clone()), Seen::Deleted));
    }

    pub fn add_set(&mut self, number: u128, set: ReplicaSetFact) {
        self.sets.insert(number, set.clone());
        self.tell(Fact::ReplicaSet(Box::new(set), Seen::Added));
    }

    pub fn set(&mut self, number: u128, change: impl FnOnce(&mut ReplicaSetFact)) {
        let set = self.sets.get_mut(&number).unwrap();
        change(set);
        let fact = Fact::ReplicaSet(Box::new(set.clone()), Seen::Modified);
        self.tell(fact);
    }

    pub fn delete_set(&mut self, number: u128) {
        let set = self.sets.remove(&number).unwrap();
        self.tell(Fact::ReplicaSet(Box::new(set), Seen::Deleted));
    }

    /// A pod that runs and is not ready, changed.
    pub fn add_pod(&mut self, number: u128, set: u128, change: impl FnOnce(&mut PodFact)) {
        let mut made = pod(number, set, &format!("web-{set}-p{number:04}"));
        made.meta.created_at_millis = self.now;
        change(&mut made);
        self.pods.insert(number, made.clone());
        self.tell(Fact::Pod(Box::new(made), Seen::Added));
    }

    pub fn add_ready_pod(&mut self, number: u128, set: u128) {
        self.add_pod(number, set, ready);
    }

    pub fn pod(&mut self, number: u128, change: impl FnOnce(&mut PodFact)) {
        let pod = self.pods.get_mut(&number).unwrap();
        change(pod);
        let fact = Fact::Pod(Box::new(pod.clone()), Seen::Modified);
        self.tell(fact);
    }

    pub fn delete_pod(&mut self, number: u128) {
        let pod = self.pods.remove(&number).unwrap();
        self.tell(Fact::Pod(Box::new(pod), Seen::Deleted));
    }

    /// Somebody asks for a pod to go; it has 30 s.
    pub fn kill_pod(&mut self, number: u128) {
        let until = self.now + 30_000;
        self.pod(number, |pod| pod.deletion_at_millis = Some(until));
    }

    /// All three pods of revision 1 give way to three of revision 2 at once: from 200 on, in [`SECOND`], and changed.
    pub fn take_over(&mut self, change: fn(&mut PodFact)) {
        let second = next_revision(self, 2, [3, 0]);
        (0..3).for_each(|number| self.delete_pod(100 + number));
        (0..3).for_each(|number| self.add_pod(200 + number, second, change));
    }

    /// Nobody asks a ReplicaSet for its three pods any more, which have numbers from `first` on.
    pub fn take_down(&mut self, set: u128, first: u128) {
        self.set(set, |set| set.now.counts.desired = 0);
        (0..3).for_each(|number| self.kill_pod(first + number));
        self.report();
    }

    /// The ReplicaSet of a revision, owned by the Deployment.
    pub fn replica_set(&self, number: u128) -> ReplicaSetFact {
        self.sets[&number].clone()
    }

    fn unwatched(deployment: DeploymentFact, now: Millis) -> Self {
        let (sets, pods) = (BTreeMap::new(), BTreeMap::new());
        Self { timeline: Timeline::new(), history: History::default(), now, deployment, sets, pods }
    }

    /// ReplicaSets and Deployment report what the pods do, as their controllers do a moment later.
    pub fn report(&mut self) {
        let is_active =
            |pod: &&PodFact| pod.deletion_at_millis.is_none() && !matches!(pod.phase, Phase::Failed | Phase::Succeeded);
        let is_ready = |pod: &&PodFact| pod.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::True);
        let numbers: Vec<u128> = self.sets.keys().copied().collect();
        let mut all = ReplicaSetCounts::default();
        let mut updated = 0;
        for number in numbers {
            let uid = self.sets[&number].meta.uid;
            let mine = || self.pods.values().filter(|pod| pod.meta.controller == Some(uid)).filter(is_active);
            let (replicas, ready) = (mine().count() as u32, mine().filter(is_ready).count() as u32);
            self.set(number, |set| (set.now.counts.replicas, set.now.counts.available) = (replicas, ready));
            let set = &self.sets[&number];
            if set.meta.controller == Some(WEB) {
                (all.replicas, all.available) = (all.replicas + replicas, all.available + ready);
                updated = if set.revision == self.deployment.now.revision { replicas } else { updated };
            }
        }
        let is_complete =
            updated >= self.deployment.now.spec.replicas && all.replicas == updated && all.available >= updated;
        self.deployment(|deployment| {
            deployment.status = DeploymentStatus {
                observed_generation: deployment.generation,
                replicas: all.replicas,
                updated,
                available: all.available,
                progressing: deployment.status.progressing.clone(),
                replica_failure: None,
            };
            if is_complete {
                deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetAvailable", ""));
            }
        });
    }

    /// An Event about a pod arrives.
    pub fn event(&mut self, number: u128, reason: &str, message: &str) {
        self.event_of(number, "", reason, message);
    }

    /// An Event about a container of a pod arrives.
    pub fn event_of(&mut self, number: u128, container: &str, reason: &str, message: &str) {
        let pod = &self.pods[&number].meta;
        let uid = 10_000 + self.now as u128 * 1_000 + number + u128::from(reason.len() as u32);
        let fact = EventFact {
            namespace: pod.namespace.clone(),
            container: container.into(),
            is_warning: !matches!(
                reason,
                "Pulling" | "Pulled" | "Killing" | "SandboxChanged" | "TriggeredScaleUp" | "SuccessfulAttachVolume"
            ),
            ..warning(uid, pod.uid.bits(), ("Pod", &pod.name), reason, message)
        };
        self.tell(Fact::Event(Box::new(fact)));
    }

    /// `kubectl scale`, and what the Deployment controller makes of it while one ReplicaSet has all pods.
    pub fn scale(&mut self, number: u128, replicas: u32) {
        self.edit_spec(|deployment| deployment.spec.replicas = replicas);
        self.set(number, |set| {
            set.now.counts.desired = replicas;
            (set.now.desired_replicas, set.now.max_replicas) = (Some(replicas), Some(replicas + replicas.div_ceil(4)));
        });
        self.deployment(|deployment| deployment.status.observed_generation = deployment.generation);
    }

    pub fn view(&self) -> View {
        view::view(self.timeline.model(), WEB, Now { millis: self.now, skew_millis: self.timeline.skew_millis() })
            .unwrap()
    }

    /// "[Badge] sentence".
    pub fn verdict(&self) -> String {
        let verdict = self.view().verdict;
        format!("[{}] {}", verdict.badge, verdict.sentence)
    }

    /// Everything that is told.
    pub fn told(&self) -> Vec<String> {
        story::story(self.timeline.model(), WEB).into_iter().map(|line| line.text).collect()
    }

    /// What is told of some kind.
    pub fn lines(&self, kind: LineKind) -> Vec<String> {
        let told = story::story(self.timeline.model(), WEB).into_iter();
        told.filter(|line| line.kind == kind).map(|line| line.text).collect()
    }
}

pub fn image(version: &str) -> Vec<Image> {
    vec![Image { container: "web".into(), image: format!("web:{version}") }]
}

/// The template changes; the next ReplicaSet is made with so many replicas, and the last one has so many left.
pub fn next_revision(web: &mut Web, revision: u64, [new, old]: [u32; 2]) -> u128 {
    let number = u128::from(revision) + 1;
    web.edit(&format!("v{revision}"));
    let (last, mut next) = (web.replica_set(number - 1).now, set(number, revision, new, 0));
    (next.now.desired_replicas, next.now.max_replicas) = (last.desired_replicas, last.max_replicas);
    web.add_set(number, next);
    web.deployment(|deployment| {
        deployment.revision = Some(revision);
        deployment.status.updated = 0;
        deployment.status.observed_generation = deployment.generation;
        deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
    });
    web.set(number - 1, |set| set.now.counts.desired = old);
    number
}
