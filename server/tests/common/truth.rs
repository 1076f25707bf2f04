//! What holds of every sentence at every instant, whatever happens. Told what the timeline is told, it keeps its own accounts,
//! counts for itself, and says where a sentence, a figure or a line of the story says something else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use timeline::budget::{Next, Sums};
use timeline::change::Subject;
use timeline::fact::{DeploymentSpec, IntOrPercent, Strategy};
use timeline::list::Group;
use timeline::model::{Deployment, ScaleCause};
use timeline::phase::PodState;
use timeline::story::{self, Entry, Happening};
use timeline::view::{self, Assessment, Hold, Now, Tone, View};
use timeline::{Change, Fact, Millis, Model, Timeline, Uid, document, rollout, say, steps};

/// Streams of different kinds overtake each other by so much: what depends on two of them may be told better for as long, and
/// the controllers may still do what was said so long ago.
const SETTLING_MILLIS: Millis = 2_000;
/// No more violations of one run are kept.
const MOST_WRONG: usize = 12;

/// The accounts of one cluster.
#[derive(Default)]
pub struct Truth {
    of: BTreeMap<Uid, Account>,
    pods: BTreeSet<String>,
    /// When ReplicaSets changed hands last.
    handed_over: BTreeMap<Uid, Millis>,
    /// What was found wrong.
    pub wrong: Vec<String>,
    /// Sentences, lines and steps that were looked at.
    pub looked_at: [u64; 3],
    instants: u64,
}

/// What is known of one Deployment.
#[derive(Default)]
struct Account {
    revisions: BTreeSet<u64>,
    /// Ceilings that its spec had, in order.
    ceilings: Vec<u32>,
    generation: u64,
    /// Lines by entry: when told, last words, last data.
    told: BTreeMap<u64, Told>,
    /// What was said to come next, and until when that was said.
    said: VecDeque<(Millis, Next)>,
    /// The revision that had everything available at some time.
    had_all: Option<u64>,
    /// Steps that nothing said to come, while the change that they follow from may still be on its way.
    unsaid: Vec<(Millis, String)>,
    /// ReplicaSets came from another Deployment, or went to one or to none.
    has_shared_sets: bool,
}

struct Told {
    first_millis: Millis,
    text: String,
    entry: Entry,
}

impl Truth {
    /// A fact arrived and was applied.
    pub fn applied(&mut self, timeline: &Timeline, fact: Option<&Fact>, changes: &[Change], now: Millis) {
        match fact {
            Some(Fact::Deployment(fact, _)) => {
                let account = self.of.entry(fact.meta.uid).or_default();
                if account.generation != fact.meta.generation {
                    account.generation = fact.meta.generation;
                    account.unsaid.clear();
                }
                account.revisions.extend(fact.revision);
                let ceiling = limits(&fact.spec).0;
                if account.ceilings.last() != Some(&ceiling) {
                    account.ceilings.push(ceiling);
                }
            }
            Some(Fact::ReplicaSet(fact, _)) => {
                if let Some(owner) = fact.meta.controller {
                    self.of.entry(owner).or_default().revisions.extend(fact.revision);
                }
            }
            Some(Fact::Pod(fact, _)) => drop(self.pods.insert(fact.meta.name.clone())),
            _ => {}
        }
        let model = timeline.model();
        for change in changes {
            if let Change::ReplicaSetOwner(set, _) = change {
                self.handed_over.insert(*set, now);
            }
            if let Change::Scale(set, scale) = change {
                self.step(model, *set, scale, now);
            }
        }
        let touched: BTreeSet<Uid> = changes.iter().flat_map(|change| self.touched(model, change)).collect();
        self.instants += 1;
        for uid in touched {
            self.look(timeline, uid, now);
        }
    }

    /// Time passed, or history was let go of: every Deployment is looked at.
    pub fn passed(&mut self, timeline: &Timeline, now: Millis) {
        for uid in timeline.model().deployments.keys() {
            self.look(timeline, *uid, now);
        }
    }

    fn touched(&self, model: &Model, change: &Change) -> Vec<Uid> {
        match change.subject() {
            Subject::Nothing => Vec::new(),
            Subject::Deployment(uid) => vec![uid],
            _ => model.deployments_of(change),
        }
    }

    fn complain(&mut self, now: Millis, what: String) {
        if self.wrong.len() < MOST_WRONG {
            self.wrong.push(format!("at {now}: {what}"));
        }
    }

    /// What a controller did is among what was said to come.
    fn step(&mut self, model: &Model, set: Uid, scale: &timeline::model::Scale, now: Millis) {
        let Some(deployment) = model.deployments.get(&scale.deployment) else { return };
        let is_first = model.replica_sets.get(&set).is_none_or(|set| set.scales.len() == 1 && scale.from == 0);
        let mut sets = model.sets_of(scale.deployment);
        let is_new_hand = |set: Uid| self.handed_over.get(&set).is_some_and(|at| now - at <= SETTLING_MILLIS);
        if scale.cause != ScaleCause::Rollout
            || is_first
            || deployment.is_over()
            || sets.any(|set| is_new_hand(set.uid))
        {
            return; // a ReplicaSet that is made or taken over begins something that nobody knew of
        }
        self.looked_at[2] += 1;
        let is_new = rollout::current_set(model, deployment).is_some_and(|current| current.uid == set);
        let (from, to) = (scale.from, scale.to);
        let account = self.of.entry(scale.deployment).or_default();
        let is_said = account.said.iter().any(|(until, next)| {
            now - until <= SETTLING_MILLIS
                && match next {
                    Next::AddNew(pods) => is_new && to > from && to - from <= *pods,
                    Next::RemoveNew(pods) => to < from && from - to <= *pods,
                    Next::RemoveOld { unhealthy, healthy } => to < from && from - to <= unhealthy + healthy,
                    Next::CreateSet => to > from,
                    Next::Spread => true,
                    _ => false,
                }
        });
        if !is_said {
            let said: Vec<_> = account.said.iter().map(|(until, next)| (now - until, *next)).collect();
            let what = format!("{}: step {from} → {to} (new: {is_new}), said before: {said:?}", deployment.name);
            account.unsaid.push((now, what));
        }
    }

    fn look(&mut self, timeline: &Timeline, uid: Uid, now: Millis) {
        let model = timeline.model();
        let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
        let (Some(deployment), Some(view), Some(looked)) =
            (model.deployments.get(&uid), view::view(model, uid, clock), view::look(model, uid, clock))
        else {
            return;
        };
        let mut found = Vec::new();
        let account = self.of.entry(uid).or_default();
        let is_late = |(at, _): &mut (Millis, String)| now - *at > SETTLING_MILLIS;
        let unsaid: Vec<_> = account.unsaid.extract_if(.., is_late).collect();
        unsaid.into_iter().for_each(|(at, what)| self.complain(at, what));
        let counted = count(model, deployment);
        self.figures(model, deployment, &view, &counted, clock, &mut found);
        self.sentences(deployment, &view, &counted, &mut found);
        self.next(&looked, &view, now, &mut found);
        self.lines(model, uid, now, &mut found);
        for what in found {
            self.complain(now, format!("{}: {what}", deployment.name));
        }
    }

    /// Figures beside the verdict, of bands, strip and list are those of the document.
    fn figures(
        &mut self,
        model: &Model,
        deployment: &Deployment,
        view: &View,
        counted: &Counted,
        clock: Now,
        found: &mut Vec<String>,
    ) {
        let counts = view.counts;
        let said = [counts.available, counts.new_available, counts.not_yet, counts.terminating, counts.desired];
        let ours = [counted.available, counted.new_available, counted.not_yet, counted.terminating, counted.desired];
        if said != ours {
            found.push(format!("counts {said:?} instead of {ours:?}"));
        }
        let bands = view.sets.iter().fold((0, 0), |(d, a), set| (d + set.desired, a + set.available));
        if bands != (counts.desired, counts.available) {
            found.push(format!("bands together {bands:?}, verdict {counts:?}"));
        }
        let strip = steps::steps(&model.counted_pods(deployment.uid), |_, state| layer(state), clock.millis);
        let strip = strip.last().map(|(_, [available, not_yet, terminating, ..])| [*available, *not_yet, *terminating]);
        let beside = [counts.available, counts.not_yet, counts.terminating].map(|pods| pods as i32);
        if strip != Some(beside) && !counted.is_reported {
            found.push(format!("the strip ends at {strip:?}, the verdict says {beside:?}"));
        }
        if let Some(summary) = view::summary(model, deployment.uid, clock) {
            let line =
                [counts.new_available, counts.available - counts.new_available, counts.not_yet, counts.terminating];
            let [new, old, on_their_way, failing, terminating] = summary.pods;
            if [new, old, on_their_way + failing, terminating] != line || summary.verdict != view.verdict {
                found
                    .push(format!("the list says {:?}, {}; the page {line:?}", summary.pods, summary.verdict.sentence));
            }
            let is_still = matches!(Group::of(&summary, clock.millis), Group::Calm | Group::Finished);
            if is_still != matches!(view.verdict.tone, Tone::Ok | Tone::Quiet) {
                found.push(format!(
                    "{:?} in the list, {:?} on the page",
                    Group::of(&summary, clock.millis),
                    view.verdict
                ));
            }
        }
        let account = self.of.entry(deployment.uid).or_default();
        let is_shared = |set: &timeline::model::ReplicaSet| set.owners.len() > 1 || set.owner != Some(deployment.uid);
        account.has_shared_sets |= model.sets_of(deployment.uid).any(is_shared);
        // A document tells a pod's first release and its last adoption: one that was released again looks adopted.
        let is_told = |pod: &&timeline::model::Pod| pod.is_out_of_rotation() && pod.adopted_millis.is_some();
        let is_reported = counted.is_reported;
        let counted = model.counted_pods(deployment.uid);
        let is_shared = account.has_shared_sets || counted.len() != model.pods_of_deployment(deployment.uid).len();
        let is_exact = !is_shared && !is_reported && !counted.iter().any(is_told);
        if self.instants.is_multiple_of(8) && is_exact {
            let available = available_in_document(model, deployment.uid);
            if available != counts.available {
                found.push(format!("{} available, {available} in the document", counts.available));
            }
        }
    }

    /// Every number in a sentence is the one that was counted.
    fn sentences(&mut self, deployment: &Deployment, view: &View, counted: &Counted, found: &mut Vec<String>) {
        let wanted = u64::from(deployment.now.spec.replicas);
        let (ceiling, floor) = limits(&deployment.now.spec);
        let (available, desired) = (u64::from(counted.available), u64::from(counted.desired));
        let (ceiling, floor) = (u64::from(ceiling), u64::from(floor));
        let is_recreate = deployment.now.spec.strategy == Strategy::Recreate;
        let causes = view.reasons.iter().map(|reason| &reason.sentence);
        let account = self.of.entry(deployment.uid).or_default();
        for text in [&view.verdict.sentence, &view.verdict.why, &view.next, &view.budget].into_iter().chain(causes) {
            self.looked_at[0] += 1;
            let mut hold = |pattern: &str, expected: &[u64]| {
                for numbers in matches(text, pattern) {
                    if numbers != expected {
                        found.push(format!("{text:?}: {pattern:?} should be {expected:?}"));
                    }
                }
            };
            hold("# of at most # asked", &[desired, ceiling]);
            hold("# of at least #", &[available, floor]);
            hold("(floor #", &[floor]);
            hold("(ceiling #", &[ceiling]);
            // What is finishing is told of the new revision: pods of the old ones may still be available.
            let told = if view.verdict.badge == "Finishing" { u64::from(counted.new_available) } else { available };
            hold("# of # available.", &[told, wanted]);
            hold("has # of # available", &[available, wanted]);
            hold("# of # new pods available.", &[u64::from(counted.new_available), wanted]);
            hold("# asked for, above the ceiling of #", &[desired, ceiling]);
            if matches(text, "# of at most #").iter().any(|numbers| numbers[0] > numbers[1]) && !is_recreate {
                found.push(format!("{text:?}: more than the most"));
            }
            // More than the ceiling only where that fell, or a Deployment came to ReplicaSets that were there.
            let has_fallen = account.ceilings.windows(2).any(|two| two[0] > two[1]) || account.has_shared_sets;
            if text.contains("above the ceiling") && !has_fallen {
                found.push(format!("{text:?}: the ceiling never fell"));
            }
            for numbers in matches(text, "revision #").into_iter().chain(matches(text, "Revision #")) {
                if !account.revisions.contains(&numbers[0]) {
                    found.push(format!("{text:?}: there never was such a revision"));
                }
            }
        }
        let revision = view.revision;
        if view.verdict.badge == "Starting" && account.had_all.is_some() && account.had_all == revision {
            found.push(format!("starting, although everything of revision {revision:?} was available before"));
        }
        if wanted > 0 && u64::from(counted.new_available) >= wanted && deployment.now.revision == revision {
            account.had_all = revision;
        }
    }

    /// What is said to come is what the controller may do by these counts.
    fn next(&mut self, looked: &Assessment<'_>, view: &View, now: Millis, found: &mut Vec<String>) {
        let may = may(&looked.deployment.now.spec, &looked.sums);
        if !may.allows(looked.next) {
            found.push(format!(
                "said to come: {:?}; by the controller's arithmetic: {may:?}, {:?}",
                looked.next, looked.sums
            ));
        }
        if view.hold == Hold::Waits && !matches!(may, May::Nothing | May::Create) {
            found.push(format!("waits, although {may:?}"));
        }
        let next = &view.next;
        let is_said = |words: &str| next.contains(words);
        let is_wrong = match looked.next {
            Next::AddNew(pods) => is_said("(floor") || is_said("can be added") && !is_said(&format!("{pods} new pod")),
            Next::RemoveOld { unhealthy, healthy } => {
                is_said("an old one can be removed")
                    || is_said("(floor") && !is_said(&format!("{} old pod", unhealthy + healthy))
            }
            Next::WaitForNew { .. } => {
                is_said("old pod can be removed") || is_said("old pods can be removed") || is_said("can be added")
            }
            _ => is_said("(floor") || is_said("can be added"),
        };
        if is_wrong || next.is_empty() {
            found.push(format!("{next:?} with {:?}", looked.next));
        }
        let account = self.of.entry(looked.deployment.uid).or_default();
        // What is said of pods comes a moment before the ReplicaSets report it; the controller goes by their reports.
        let reported = timeline::budget::next(&looked.deployment.now.spec, &Sums::of(looked.model, looked.deployment));
        for next in [looked.next, reported] {
            match account.said.iter_mut().find(|(_, said)| *said == next) {
                Some((until, _)) => *until = now,
                None => account.said.push_back((now, next)),
            }
        }
        // The last thing that was said holds until something else is said.
        let latest = account.said.iter().map(|(until, _)| *until).max().unwrap_or(now);
        account.said.retain(|(until, _)| *until == latest || now - until <= SETTLING_MILLIS);
    }

    /// Lines keep their words, go on where they ended, are folded with their numbers, or are let go of.
    fn lines(&mut self, model: &Model, uid: Uid, now: Millis, found: &mut Vec<String>) {
        let kept_since = model.deployments.get(&uid).and_then(|deployment| deployment.kept_since_millis);
        let entries = story::entries(model, uid);
        let account = self.of.entry(uid).or_default();
        let mut there = BTreeSet::new();
        for entry in entries.iter().filter(|entry| entry.id != 0) {
            self.looked_at[1] += 1;
            there.insert(entry.id);
            let text = say::happening(&entry.what);
            if let Some(known) = account.told.get(&entry.id) {
                let is_young = now - known.first_millis <= SETTLING_MILLIS;
                if text != known.text
                    && !is_young
                    && !goes_on(&known.text, &text)
                    && !grew(&known.entry.what, &entry.what)
                {
                    found.push(format!("{:?} became {text:?}", known.text));
                }
                if known.entry == *entry {
                    continue;
                }
            }
            said_rightly(entry, &text, &account.revisions, &self.pods, found);
            let first_millis = account.told.get(&entry.id).map_or(now, |known| known.first_millis);
            account.told.insert(entry.id, Told { first_millis, text, entry: entry.clone() });
        }
        let gone: Vec<u64> = account.told.keys().filter(|id| !there.contains(id)).copied().collect();
        for id in gone {
            let Some(known) = account.told.remove(&id) else { continue };
            let is_let_go = kept_since.is_some_and(|since| known.entry.at_millis < since);
            let is_young = now - known.first_millis <= SETTLING_MILLIS;
            if !is_let_go && !is_young && !is_folded(&known.entry, &entries) {
                found.push(format!("{:?} is told no more", known.text));
            }
        }
    }
}

/// Names what was there, and says no more than may be.
fn said_rightly(
    entry: &Entry,
    text: &str,
    revisions: &BTreeSet<u64>,
    pods: &BTreeSet<String>,
    found: &mut Vec<String>,
) {
    for numbers in matches(text, "revision #").into_iter().chain(matches(text, "Revision #")) {
        if !revisions.contains(&numbers[0]) {
            found.push(format!("{text:?}: there never was such a revision"));
        }
    }
    let named: Vec<&String> = match &entry.what {
        Happening::Killed { pod, replacement, .. } => replacement.iter().map(|(name, _)| name).chain([pod]).collect(),
        Happening::Ended { pod, .. } | Happening::LeftNode { pod, .. } | Happening::Failed { pod, .. } => vec![pod],
        Happening::Released { pod, .. } | Happening::Adopted { pod } => vec![pod],
        _ => Vec::new(),
    };
    for pod in named {
        if !pods.contains(pod) {
            found.push(format!("{text:?}: there never was a pod {pod}"));
        }
    }
    for numbers in matches(text, "# of at most #") {
        if numbers[0] > numbers[1] {
            found.push(format!("{text:?}: more than the most"));
        }
    }
    // Nobody but the controllers scales ReplicaSets in what is played here.
    if text.contains("above the ceiling") {
        found.push(format!("{text:?}: who did?"));
    }
    if let Happening::Rolled { parts, .. } = &entry.what
        && parts.iter().any(|part| part.from == part.to)
    {
        found.push(format!("{text:?}: a step that is none"));
    }
}

/// What was said goes on where it ended.
fn goes_on(before: &str, after: &str) -> bool {
    after.starts_with(before.trim_end_matches('.'))
}

/// Several that are alike are one, with their number.
fn grew(before: &Happening, after: &Happening) -> bool {
    match (before, after) {
        (Happening::LeftNode { pods: a, node, .. }, Happening::LeftNode { pods: b, node: same, .. }) => {
            b > a && node == same
        }
        (
            Happening::Failed { pods: a, reason, revision, .. },
            Happening::Failed { pods: b, reason: r, revision: v, .. },
        ) => b > a && (reason, revision) == (r, v),
        (Happening::AndSoOn { steps: a, .. }, Happening::AndSoOn { steps: b, .. }) => b > a,
        (Happening::Rolled { parts, .. }, Happening::AndSoOn { parts: all, steps }) => {
            *steps == 2 && parts.iter().all(|part| all.iter().any(|one| one.set == part.set && one.from == part.from))
        }
        (Happening::Gap { millis: a }, Happening::Gap { millis: b }) => b > a,
        (Happening::Event { count: a, about, .. }, Happening::Event { count: b, about: same, .. }) => {
            b >= a && about == same
        }
        _ => false,
    }
}

/// A step became part of a line that tells where it led.
fn is_folded(entry: &Entry, all: &[Entry]) -> bool {
    let Happening::Rolled { parts, .. } = &entry.what else { return false };
    all.iter().any(|other| match &other.what {
        Happening::AndSoOn { parts: folded, .. } => {
            other.at_millis >= entry.at_millis
                && parts
                    .iter()
                    .all(|part| folded.iter().any(|one| one.set == part.set && one.by().signum() == part.by().signum()))
        }
        _ => false,
    })
}

/// Numbers in a text where the words of a pattern stand around them: `#` is a number.
fn matches(text: &str, pattern: &str) -> Vec<Vec<u64>> {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    let words: Vec<&str> = text.split(' ').collect();
    let number = |word: &str, wanted: &str| -> Option<Option<u64>> {
        let Some((before, after)) = wanted.split_once('#') else {
            return (word.trim_end_matches([',', ';', ':', ')']) == wanted).then_some(None);
        };
        let inner = word.strip_prefix(before)?;
        let digits: String = inner.chars().take_while(char::is_ascii_digit).collect();
        inner.get(digits.len()..)?.starts_with(after).then_some(())?;
        Some(Some(digits.parse().ok()?))
    };
    words
        .windows(pattern.len())
        .filter_map(|window| {
            let read: Option<Vec<Option<u64>>> =
                window.iter().zip(&pattern).map(|(word, wanted)| number(word, wanted)).collect();
            Some(read?.into_iter().flatten().collect())
        })
        .collect()
}

/// Pods and replicas, counted from the objects alone.
#[derive(Default)]
struct Counted {
    /// No pod was seen: ReplicaSets report them.
    is_reported: bool,
    available: u32,
    new_available: u32,
    not_yet: u32,
    terminating: u32,
    desired: u32,
}

fn count(model: &Model, deployment: &Deployment) -> Counted {
    let current = rollout::current_set(model, deployment).map(|set| set.uid);
    let mut counted = Counted::default();
    let mine = || model.replica_sets.values().filter(|set| set.owner == Some(deployment.uid));
    let is_of_it = |pod: &timeline::model::Pod| mine().any(|set| pod.owners.contains(&set.uid));
    let is_told = mine().any(|set| set.removed_millis.is_none() && set.now.counts.replicas > 0);
    if is_told && !model.pods.values().any(is_of_it) {
        // No pod was ever seen: only what ReplicaSets report is known.
        for set in mine().filter(|set| set.removed_millis.is_none()) {
            let said = set.now.counts;
            counted.is_reported = true;
            counted.desired += said.desired;
            counted.available += said.available;
            counted.not_yet += said.replicas.saturating_sub(said.available);
            counted.new_available += if current == Some(set.uid) { said.available } else { 0 };
        }
        return counted;
    }
    for set in mine() {
        if set.removed_millis.is_none() {
            counted.desired += set.now.counts.desired;
        }
        for pod in model.pods.values().filter(|pod| pod.owner == Some(set.uid)) {
            match pod.state() {
                PodState::Gone | PodState::Finished => {}
                PodState::Terminating => counted.terminating += 1,
                _ if pod.now.terminal_millis.is_some() => {} // no controller counts what failed for good
                PodState::Available => {
                    counted.available += 1;
                    counted.new_available += u32::from(current == Some(set.uid));
                }
                _ => counted.not_yet += 1,
            }
        }
    }
    counted
}

/// The layers of the strip.
fn layer(state: PodState) -> Option<usize> {
    match state {
        PodState::Available => Some(0),
        PodState::Terminating => Some(2),
        PodState::Gone | PodState::Finished => None,
        _ => Some(1),
    }
}

fn available_in_document(model: &Model, uid: Uid) -> u32 {
    let document = serde_json::to_value(document::document(&model.only(uid), None, None)).unwrap();
    let pods = document["deployments"][0]["pods"].as_array().unwrap().iter();
    let counts = pods.filter(|pod| {
        let is_available =
            pod["states"].as_array().and_then(|states| states.last()).is_some_and(|last| last[0] == "available");
        let (out, back) = (pod["releasedMillis"].as_i64(), pod["adoptedMillis"].as_i64());
        is_available && (out.is_none() || back.is_some())
    });
    counts.count() as u32
}

/// Ceiling and floor (`MaxSurge`, `MaxUnavailable`, `ResolveFenceposts` in `util/deployment_util.go`).
fn limits(spec: &DeploymentSpec) -> (u32, u32) {
    let n = spec.replicas;
    let Strategy::RollingUpdate { max_surge, max_unavailable } = spec.strategy else { return (n, 0) };
    let scaled = |share: IntOrPercent, up: bool| match share {
        IntOrPercent::Int(pods) => pods,
        IntOrPercent::Percent(percent) if up => (f64::from(percent) * f64::from(n) / 100.0).ceil() as u32,
        IntOrPercent::Percent(percent) => (f64::from(percent) * f64::from(n) / 100.0).floor() as u32,
    };
    let (surge, unavailable) = (scaled(max_surge, true), scaled(max_unavailable, false));
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    (n + surge, n - unavailable.min(n))
}

/// What the Deployment controller does by these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    Nothing,
    Create,
    Add(i64),
    RemoveNew(i64),
    RemoveOld(i64),
    Spread,
}

impl May {
    fn allows(self, next: Next) -> bool {
        let number = i64::from;
        match next {
            Next::Nothing | Next::Paused | Next::WaitForNew { .. } | Next::WaitForOldGone => self == Self::Nothing,
            Next::CreateSet => self == Self::Create,
            Next::Spread => self == Self::Spread,
            Next::AddNew(pods) => self == Self::Add(number(pods)),
            Next::RemoveNew(pods) => self == Self::RemoveNew(number(pods)),
            Next::RemoveOld { unhealthy, healthy } => self == Self::RemoveOld(number(unhealthy) + number(healthy)),
        }
    }
}

/// `scale` in `sync.go`: `FindActiveOrLatest`, `IsSaturated`, then in proportion.
fn is_spread(spec: &DeploymentSpec, sums: &Sums) -> bool {
    let all: Vec<_> = sums.old.iter().chain(&sums.new).collect();
    let active: Vec<_> = all.iter().filter(|set| set.desired > 0).collect();
    if all.is_empty() {
        return true;
    }
    if active.len() < 2 {
        return active.first().map_or(0, |set| set.desired) == spec.replicas;
    }
    if sums.new.is_some_and(|new| new.desired == spec.replicas && new.available == spec.replicas) {
        return sums.old.iter().all(|set| set.desired == 0);
    }
    let allowed = if spec.replicas > 0 { limits(spec).0 } else { 0 };
    spec.strategy == Strategy::Recreate || all.iter().map(|set| set.desired).sum::<u32>() == allowed
}

/// `rolloutRolling` and `rolloutRecreate` (`rolling.go`, `recreate.go`), told in one step.
fn may(spec: &DeploymentSpec, sums: &Sums) -> May {
    let number = |pods: u32| i64::from(pods);
    let n = number(spec.replicas);
    let old: i64 = sums.old.iter().map(|set| number(set.desired)).sum();
    let is_recreate = spec.strategy == Strategy::Recreate;
    if spec.paused {
        return if is_spread(spec, sums) { May::Nothing } else { May::Spread };
    }
    if is_recreate && old > 0 {
        return May::RemoveOld(old);
    }
    // oldPodsRunning
    if is_recreate && sums.old_pods > 0 && sums.new.is_none_or(|new| new.desired < spec.replicas) {
        return May::Nothing;
    }
    let Some(new) = sums.new else { return May::Create };
    let all = old + number(new.desired);
    let (ceiling, floor) = limits(spec);
    // reconcileNewReplicaSet
    if number(new.desired) > n {
        return May::RemoveNew(number(new.desired) - n);
    }
    let add = if is_recreate { n - number(new.desired) } else { (number(ceiling) - all).min(n - number(new.desired)) };
    if add > 0 {
        return May::Add(add);
    }
    // reconcileOldReplicaSets
    let most = all - number(floor) - (number(new.desired) - number(new.available));
    if old == 0 || most <= 0 {
        return May::Nothing;
    }
    let mut cleaned = 0;
    for set in &sums.old {
        cleaned += (most - cleaned).min((number(set.desired) - number(set.available)).max(0));
    }
    let available = number(new.available) + sums.old.iter().map(|set| number(set.available)).sum::<i64>();
    let removed = (available - number(floor)).clamp(0, old - cleaned);
    if cleaned + removed > 0 { May::RemoveOld(cleaned + removed) } else { May::Nothing }
}
