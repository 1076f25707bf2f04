//! Rollcast is started at instants of every recording: what it says of the present is what it would have said had it watched
//! from the start, or less, and never something else.

use std::collections::{BTreeMap, BTreeSet};

use server::feed::recording::Recording;
use server::kube::Observed;
use timeline::fact::{Kind, Meta, Seen};
use timeline::view::{self, Counts, Now, Tone, View};
use timeline::{Fact, Millis, Timeline, Uid};

use crate::common::played::in_list;
use crate::common::{self, chaos, simulated};

/// Recordings of simulated clusters that are joined, too.
const SEEDS: u64 = 24;
const ACTIONS: usize = 20;
/// Nothing that stalls is told before.
const PATIENCE_MILLIS: Millis = 60_000;
/// After it was started it is looked at again for so many facts.
const FOLLOWED: usize = 40;
/// Instants of one recording at which it is started, at most; by night, and for every change.
const ALL_INSTANTS: usize = 120;
const INSTANTS: usize = 12;

fn meta(fact: &Fact) -> Option<(&Meta, Seen)> {
    match fact {
        Fact::Deployment(fact, seen) => Some((&fact.meta, *seen)),
        Fact::ReplicaSet(fact, seen) => Some((&fact.meta, *seen)),
        Fact::Pod(fact, seen) => Some((&fact.meta, *seen)),
        Fact::Event(_) | Fact::Listed { .. } | Fact::Unseen { .. } => None,
    }
}

/// Everything that exists, as first lists tell it.
fn started(there: &BTreeMap<Uid, Fact>, at: Millis) -> Timeline {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&Fact> = there.values().filter(|fact| fact.kind() == kind).collect();
        let present = of_kind.iter().filter_map(|fact| Some(meta(fact)?.0.uid)).collect();
        for fact in of_kind {
            timeline.apply(at, in_list(fact));
        }
        timeline.apply(at, Fact::Listed { kind, namespace: None, present, gap_since_millis: None });
    }
    timeline
}

/// What the late one says beside what the one that watched from the start says.
struct Pair<'v> {
    all: &'v View,
    late: &'v View,
    /// How long the late one has watched.
    watched_millis: Millis,
}

impl Pair<'_> {
    /// What is something else, and not less. Pods of ReplicaSets that are gone belong to nobody that a list tells.
    fn differences(&self, has_lost_pods: bool) -> Vec<String> {
        let Self { all, late, .. } = self;
        let mut found = Vec::new();
        let mut same = |what: &str, is_same: bool, all: String, late: String| {
            if !is_same {
                found.push(format!("{what}: {late} instead of {all}"));
            }
        };
        let (limits, other) = ((all.limits, all.desired), (late.limits, late.desired));
        same("limits", limits == other, format!("{limits:?}"), format!("{other:?}"));
        same("revision", all.revision == late.revision, format!("{:?}", all.revision), format!("{:?}", late.revision));
        let (deadline, other) = (all.deadline_millis, late.deadline_millis);
        // It is shown only while it can strike, which a verdict that claims less may not rule out.
        let is_hidden = all.verdict.badge != late.verdict.badge && (deadline.is_none() || other.is_none());
        same("deadline", deadline == other || is_hidden, format!("{deadline:?}"), format!("{other:?}"));
        let (kubectl, other) = (all.verdict.kubectl, late.verdict.kubectl);
        same("kubectl", kubectl == other, format!("{kubectl:?}"), format!("{other:?}"));
        if has_lost_pods {
            return found;
        }
        // What is out of rotation has no owner that a list tells.
        let counts = |view: &View| Counts { out_of_rotation: 0, ..view.counts };
        same("counts", counts(all) == counts(late), format!("{:?}", counts(all)), format!("{:?}", counts(late)));
        let sets = |view: &View| {
            let mut sets: Vec<_> = view.sets.iter().map(|set| (set.uid, set.desired, set.available)).collect();
            sets.sort_unstable();
            sets
        };
        same("sets", sets(all) == sets(late), format!("{:?}", sets(all)), format!("{:?}", sets(late)));
        let says = |view: &View| format!("[{}] {}", view.verdict.badge, view.verdict.sentence);
        same("verdict", self.is_verdict_less(), says(all), says(late));
        let seconds =
            |view: &View| view.reasons.iter().map(|reason| reason.sentence.clone()).collect::<Vec<_>>().join(" ");
        same("causes", self.are_causes_less(), seconds(all), seconds(late));
        same("budget", self.is_budget_less(), all.budget.clone(), late.budget.clone());
        found
    }

    /// Causes that are there for the other one, too; since when only where that was seen. Of several pods any may be named.
    fn are_causes_less(&self) -> bool {
        self.late.reasons.iter().all(|cause| {
            let told = essence(&cause.sentence);
            let mut others = self.all.reasons.iter().filter(|other| essence(&other.sentence) == told);
            let says_since = ["not ready", "behind for", "restart in ", "restarts in "]
                .iter()
                .any(|words| cause.sentence.contains(words));
            others.any(|other| {
                let (one, other) = (&cause.evidence, &other.evidence);
                one.object != other.object || !says_since || one.is_least || one.since_millis == other.since_millis
            })
        })
    }

    /// The same verdict, or one that claims less.
    fn is_verdict_less(&self) -> bool {
        let (all, late) = (&self.all.verdict, &self.late.verdict);
        let counts = &self.late.counts;
        let is_bare = self.late.revision.is_some_and(|revision| {
            let bare = |pods: u32| format!("Revision {revision}: {pods} of {} available.", self.late.desired);
            [counts.available, counts.new_available].map(bare).contains(&late.sentence)
        });
        all == late
            || (all.badge == late.badge && all.sentence == late.sentence)
            // That nothing gets on is told once nothing got on for a while.
            || (matches!(all.badge.as_str(), "Blocked" | "Slow") && self.watched_millis < PATIENCE_MILLIS && late.tone == Tone::Busy)
            // Why an image cannot be pulled may be told by an Event alone, and Events of before are not listed.
            // Whose fault it is may be told as less than a rollout's, where that it rolls out was not seen.
            || (all.tone == late.tone && all.tone == Tone::Bad && same_matter(&all.sentence, &late.sentence))
            // That containers crash is told of pods that were seen to fail: those that run again for the moment look well.
            || (says_failure(&all.sentence) && self.watched_millis < PATIENCE_MILLIS && late.tone == Tone::Busy)
            || (says_failure(&all.sentence) && self.watched_millis < PATIENCE_MILLIS && late.sentence.contains(" makes no progress: "))
            // How often pods that are ready lost their readiness before is not known.
            || (all.sentence.ends_with(", but pods lose readiness repeatedly.") && late.tone != Tone::Bad)
            // For how long no pod has been available is not known where nobody saw the last one go.
            || (all.sentence.ends_with(": no pod is available.") && counts.available == 0 && late.tone == Tone::Busy)
            // Why pods are missing is not known where nobody saw it.
            || (is_bare && late.badge == "Catching up")
            // What is waited for, and whether everything was available once, knows who watched for long enough.
            || ((is_bare || all.sentence == late.sentence) && late.tone == Tone::Busy && all.tone == Tone::Busy)
            || (is_bare && late.badge == "Degraded" && all.tone == Tone::Bad)
    }

    fn is_budget_less(&self) -> bool {
        let (all, late) = (&self.all.budget, &self.late.budget);
        let without_past = all.split_once(", above the ceiling of ").and_then(|(asked, rest)| {
            let (_, rest) = rest.split_once(" (ceiling")?;
            Some(format!("{asked} (ceiling{rest}"))
        });
        late == all || without_past.as_ref() == Some(late)
    }
}

/// A headline that names why.
fn says_failure(sentence: &str) -> bool {
    [
        " cannot start: ",
        " is failing: ",
        " cannot create pods: ",
        " could not create pods: ",
        " is blocked: ",
        " available: ",
    ]
    .iter()
    .any(|words| sentence.contains(words))
}

/// Two headlines that name the same cause.
fn same_matter(all: &str, late: &str) -> bool {
    let matter = |sentence: &str| sentence.split_once(": ").map(|(_, matter)| without_code(matter));
    let present =
        |matter: String| matter.replace(" was used up", " is used up").replace(" had no room", " has no room");
    let known = matter(all).map(|matter| present(matter.replace("is not found", "cannot be pulled")));
    says_failure(all) && says_failure(late) && (matter(late) == matter(all) || matter(late) == known)
}

/// Without the exit code: a container that runs again may tell that it ended, and not how.
fn without_code(sentence: &str) -> String {
    match sentence.split_once(" with exit code ") {
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
        }
        None => sentence.to_owned(),
    }
}

/// A cause without how often, since when, of which pod, and whether all have it for as long. That a refusal is over may be told by Events and pods of before alone.
fn essence(sentence: &str) -> String {
    let sentence = without_code(sentence);
    let without_pod = sentence.split(" (").next().unwrap_or_default().split(": ").next().unwrap_or_default();
    let without_time = [" since ", " for ", ", one of them"]
        .iter()
        .fold(without_pod, |sentence, words| sentence.split(words).next().unwrap_or_default());
    let without_time = without_time.to_lowercase();
    let words = without_time.split(' ').filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
    let fixed = [
        "restart", "restarts", "so", "far", "in", "s", "min", "at", "least", "pod", "pods", "is", "are", "counts",
        "count", "new", "a",
    ];
    words
        .filter(|word| !fixed.contains(word))
        .collect::<Vec<_>>()
        .join(" ")
        .trim_end_matches([',', ':', '.'])
        .replace("last refused ago", "refuses")
        .replace("could not replace", "cannot replace")
}

/// Starts late ones while it plays, and says what they say wrongly.
fn join(name: &str, observed: &[Observed], wrong: &mut Vec<String>) -> usize {
    let mut timeline = Timeline::new();
    let mut there: BTreeMap<Uid, Fact> = BTreeMap::new();
    let mut late: Vec<(usize, Millis, Timeline)> = Vec::new();
    let instants = if common::is_whole() { ALL_INSTANTS } else { INSTANTS };
    let every = (observed.len() / instants).max(1);
    let mut looked = 0;
    for (index, Observed { at_millis, fact }) in observed.iter().enumerate() {
        let at = *at_millis;
        for timeline in std::iter::once(&mut timeline).chain(late.iter_mut().map(|(_, _, timeline)| timeline)) {
            match fact.clone() {
                Some(fact) => timeline.apply(at, fact),
                None => timeline.tick(at),
            };
        }
        if let Some((meta, seen)) = fact.as_ref().and_then(meta) {
            match seen {
                Seen::Deleted => drop(there.remove(&meta.uid)),
                _ => drop(there.insert(meta.uid, fact.clone().unwrap())),
            }
        }
        late.retain(|(begun, ..)| index - begun < FOLLOWED);
        if index % every == 0 {
            late.push((index, at, started(&there, at)));
        }
        // What is said at this instant, if time stands still until the next one.
        let is_last_of_instant = observed.get(index + 1).is_none_or(|next| next.at_millis != at);
        if !is_last_of_instant {
            continue;
        }
        let now = Now { millis: at, skew_millis: 0 };
        for (_, begun, other) in &late {
            let exist: BTreeSet<Uid> =
                there.values().filter(|f| f.kind() == Kind::Deployment).filter_map(|f| Some(meta(f)?.0.uid)).collect();
            for uid in exist {
                let (Some(all), Some(late)) =
                    (view::view(timeline.model(), uid, now), view::view(other.model(), uid, now))
                else {
                    wrong.push(format!("{name}, started {begun}, at {at}: unknown"));
                    continue;
                };
                looked += 1;
                let model = timeline.model();
                let gone = model.sets_of(uid).filter(|set| set.removed_millis.is_some());
                let has_lost_pods = gone.flat_map(|set| model.pods_of(set.uid)).any(|pod| pod.gone_millis().is_none());
                let found = Pair { all: &all, late: &late, watched_millis: at - begun }.differences(has_lost_pods);
                wrong.extend(
                    found.into_iter().map(|what| format!("{name}, started {begun}, {} ms later: {what}", at - begun)),
                );
            }
        }
    }
    looked
}

fn hold(recordings: impl Iterator<Item = (String, Vec<Observed>)>) {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (name, observed) in recordings {
        looked += join(&name, &observed, &mut wrong);
    }
    println!("{looked} looks");
    assert!(looked > 1_000, "{looked}");
    let shown = wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} things are not so:\n{shown}", wrong.len());
}

#[test]
fn whoever_joins_at_any_instant_of_a_recording_says_less_and_nothing_else() {
    hold(common::recordings().into_iter().map(|(name, text)| (name, Recording::read(&text).observed)));
}

#[test]
fn whoever_joins_in_the_middle_on_a_simulated_cluster_says_less_and_nothing_else() {
    hold((0..SEEDS).map(|seed| {
        let text = simulated::recording_of(seed, ACTIONS, chaos::act);
        (format!("seed {seed}"), Recording::read(&text).observed)
    }));
}
