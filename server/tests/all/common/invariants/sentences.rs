//! Numbers in sentences.

use timeline::fact::Strategy;
use timeline::model::Deployment;
use timeline::view::View;

use super::Invariants;
use super::controller::limits;
use super::counted::Counted;

impl Invariants {
    /// Every number in a sentence is the one that was counted.
    pub(super) fn sentences(
        &mut self,
        deployment: &Deployment,
        view: &View,
        counted: &Counted,
        found: &mut Vec<String>,
    ) {
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
            hold("# of at most # pods desired", &[desired, ceiling]);
            hold("# of at least #", &[available, floor]);
            hold("(floor #", &[floor]);
            hold("(ceiling #", &[ceiling]);
            // No more than are wanted: others may be there for a moment.
            let [all, new] = [available, u64::from(counted.new_available)].map(|pods| pods.min(wanted));
            // A rollout is told of the new revision: pods of the old ones may still be available.
            let told = match view.verdict.badge.as_str() {
                "Starting" | "Rolling out" | "Waiting" | "Slow" | "Finishing" => new,
                _ => all,
            };
            hold("# of # available.", &[told, wanted]);
            hold("has # of # available", &[all, wanted]);
            // `matches` reads words without a colon or a comma at their ends.
            hold("Paused # of # pods of", &[new, wanted]);
            hold("Paused # of # pods available # of", &[all, wanted, new]);
            hold("Paused # pods available (# desired # of", &[available, wanted, new]);
            hold("# of # new pods available.", &[new, wanted]);
            hold("# pods desired, above the ceiling of #", &[desired, ceiling]);
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
}

/// Numbers in a text where the words of a pattern stand around them: `#` is a number.
pub(super) fn matches(text: &str, pattern: &str) -> Vec<Vec<u64>> {
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
