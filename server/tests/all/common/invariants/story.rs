//! Lines of the story: their words, and what becomes of them.

use std::collections::BTreeSet;

use timeline::model::Event;
use timeline::story::{self, Entry, Happening};
use timeline::{Millis, Model, Uid};

use super::sentences::matches;
use super::{Invariants, SETTLING_MILLIS, Told};

impl Invariants {
    /// Lines keep their words, go on where they ended, are folded with their numbers, or are let go of.
    pub(super) fn lines(&mut self, model: &Model, uid: Uid, now: Millis, found: &mut Vec<String>) {
        let deployment = model.deployments.get(&uid);
        let kept_since = deployment.and_then(|deployment| deployment.kept_since_millis);
        let entries = story::entries(model, uid);
        let account = self.of.entry(uid).or_default();
        let mut there = BTreeSet::new();
        for entry in entries.iter().filter(|entry| entry.id != 0) {
            self.looked_at[1] += 1;
            there.insert(entry.id);
            let text = deployment.map(|deployment| story::line(deployment, entry).text).unwrap_or_default();
            if let Some(known) = account.told.get(&entry.id) {
                let is_young = now - known.first_millis <= SETTLING_MILLIS;
                if text != known.text
                    && !is_young
                    && !goes_on(&known.text, &text)
                    && !grew(&known.entry.what, &entry.what)
                    && !known.took_back(&entry.what, now)
                {
                    found.push(format!("{:?} became {text:?}", known.text));
                }
                if known.entry == *entry {
                    continue;
                }
            }
            said_rightly(entry, &text, &account.revisions, &self.pods, found);
            let known = account.told.remove(&entry.id);
            let first_millis = known.as_ref().map_or(now, |known| known.first_millis);
            let earlier = known.map_or_else(Vec::new, |known| known.until(now));
            account.told.insert(entry.id, Told { first_millis, text, entry: entry.clone(), earlier });
        }
        let gone: Vec<u64> = account.told.keys().filter(|id| !there.contains(id)).copied().collect();
        for id in gone {
            let Some(known) = account.told.remove(&id) else { continue };
            let is_let_go = kept_since.is_some_and(|since| known.entry.at_millis < since);
            let is_young = now - known.first_millis <= SETTLING_MILLIS;
            if !is_let_go && !is_young && !is_folded(&known.entry, &entries) && !went_before(&known.entry, &entries) {
                found.push(format!("{:?} is told no more", known.text));
            }
        }
    }
}

impl Told {
    /// Happenings that the line told a moment ago, with this last one.
    fn until(self, now: Millis) -> Vec<(Millis, Happening)> {
        let mut earlier = self.earlier;
        earlier.retain(|(until, _)| now - until <= SETTLING_MILLIS);
        earlier.push((now, self.entry.what));
        earlier
    }

    /// Of pods that it counted a moment ago it is known now that their owners let them go, or that an adoption did not cost one. Each pod
    /// that is told on a line of its own may be taken back for as long; here the line stays, and may be old.
    fn took_back(&self, after: &Happening, now: Millis) -> bool {
        let mut late = self.earlier.iter().filter(|(until, _)| now - until <= SETTLING_MILLIS);
        late.any(|(_, what)| match (what, after) {
            (
                Happening::KilledMore { pods, revision: then, .. },
                Happening::KilledMore { pods: after, revision, .. },
            ) => pods <= after && then == revision,
            (Happening::Adopted { .. }, Happening::Adopted { removed: None, .. }) => what == after,
            _ => false,
        })
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
        Happening::Released { pod, .. } | Happening::Adopted { pod, .. } | Happening::Restarted { pod, .. } => {
            vec![pod]
        }
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
        (Happening::KilledMore { pods: a, revision, .. }, Happening::KilledMore { pods: b, revision: v, .. }) => {
            b > a && revision == v
        }
        (
            Happening::Restarted { pods: a, restart, restarts, .. },
            Happening::Restarted { pods: b, restart: same, restarts: more, .. },
        ) => b >= a && more > restarts && restart == same,
        // Times without an available pod move to an entry of their own.
        (Happening::Unready { .. }, Happening::Unready { .. }) => true,
        (Happening::Unseen { pods: a, pod, .. }, Happening::Unseen { pods: b, pod: same, .. }) => b > a && pod == same,
        (Happening::AndSoOn { steps: a, .. }, Happening::AndSoOn { steps: b, .. }) => b > a,
        (Happening::Rolled { parts, .. }, Happening::AndSoOn { parts: all, steps }) => {
            *steps == 2 && parts.iter().all(|part| all.iter().any(|one| one.set == part.set && one.from == part.from))
        }
        (Happening::Gap { millis: a }, Happening::Gap { millis: b }) => b > a,
        (Happening::Event(before), Happening::Event(after)) => {
            after.count >= before.count && (before.about == after.about || after.about.0 == Event::PODS)
        }
        _ => false,
    }
}

/// Pods and ReplicaSets were deleted a while before their Deployment, by what deleted it too.
fn went_before(entry: &Entry, all: &[Entry]) -> bool {
    let is_end = |other: &Entry| matches!(other.what, Happening::Deleting | Happening::Deleted { .. });
    matches!(
        entry.what,
        Happening::Killed { .. }
            | Happening::KilledMore { .. }
            | Happening::SetDeleted { .. }
            | Happening::WentBefore { .. }
    ) && all.iter().any(|other| is_end(other) && other.at_millis >= entry.at_millis)
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
