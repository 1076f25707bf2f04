//! Compares a rollout with earlier ones, in sentences. Counts only complete rollouts that replaced another revision. Predicts an end only
//! if enough of them took longer than this one has taken so far.

use timeline::Millis;
use timeline::episodes::EpisodeRow;
use timeline::words::{count, duration_in_words};

use crate::measure::{ENOUGH, RolloutProgress, comparison_words, earlier, expected, median};

/// Two rollouts are comparable if their numbers of replicas differ by at most this factor.
const ALIKE: u32 = 2;

/// Returns whether a rollout of `replicas` is comparable with `other`, which must have replaced another revision and be of a similar size.
pub fn is_alike(replicas: u32, other: &EpisodeRow) -> bool {
    let (few, many) = (replicas.min(other.replicas), replicas.max(other.replicas));
    many <= few.saturating_mul(ALIKE) && !other.is_first()
}

/// Returns the durations of comparable rollouts, the fastest first.
pub fn comparable(this: &EpisodeRow, before: &[EpisodeRow]) -> Vec<Millis> {
    let alike = before.iter().filter(|other| is_alike(this.replicas, other));
    let mut took: Vec<Millis> = alike.filter_map(EpisodeRow::complete_millis).collect();
    took.sort_unstable();
    took
}

/// Compares a rollout with earlier ones, a sentence for each measure; empty if there are none to compare with.
pub fn sentences(this: &EpisodeRow, progress: RolloutProgress, before: &[EpisodeRow]) -> Vec<String> {
    let alike: Vec<&EpisodeRow> = before.iter().filter(|other| is_alike(this.replicas, other)).collect();
    let took = comparable(this, before);
    let mut said = Vec::new();
    match progress {
        RolloutProgress::Complete(millis) => said.extend(comparison_words(millis, &took)),
        RolloutProgress::GoingOn(millis) => said.extend(expected(millis, &took)),
        RolloutProgress::Otherwise => {}
    }
    let firsts: Vec<Millis> = alike.iter().filter_map(|other| other.first_available_millis).collect();
    if let (Some(first), true) = (this.first_available_millis, firsts.len() >= ENOUGH) {
        let usual = median(firsts.iter().copied()).unwrap_or_default();
        let (first, usual) = (duration_in_words(first), duration_in_words(usual));
        said.push(format!("First pod available after {first}; median of {} {usual}.", earlier(firsts.len())));
    }
    let restarts: Vec<u32> = alike.iter().filter_map(|other| other.restarts).collect();
    let own = this.restarts.unwrap_or_default();
    if own > 0 && !restarts.is_empty() {
        let without = restarts.iter().filter(|count| **count == 0).count() as u32;
        let restarted = count(own, "container restart");
        said.push(format!("{restarted}; none in {without} of {}.", earlier(restarts.len())));
    }
    said
}

/// Says why a rollout without any [`sentences`] is not compared.
pub const fn why_not_compared(has_duration: bool, is_complete: bool) -> &'static str {
    match (has_duration, is_complete) {
        (true, _) => "Its duration is not compared: no earlier rollout of a similar size has a known duration.",
        (false, true) => "Its duration is not compared with earlier rollouts: its begin or end was not observed.",
        (false, false) => "Its duration is not compared with earlier rollouts: it is not complete.",
    }
}

#[cfg(test)]
mod tests {
    use timeline::rollout::{Outcome, Trigger};

    use super::*;

    fn before(took: &[Millis]) -> Vec<EpisodeRow> {
        let one = |took: &Millis| EpisodeRow {
            trigger: Trigger::Template,
            ended_millis: Some(*took).filter(|took| *took > 0),
            outcome: Outcome::Complete,
            first_available_millis: Some(took / 2),
            restarts: Some(u32::from(*took > 40_000)),
            replicas: 4,
            ..EpisodeRow::default()
        };
        took.iter().map(one).collect()
    }

    fn of_size(replicas: u32) -> EpisodeRow {
        EpisodeRow { replicas, ..EpisodeRow::default() }
    }

    fn told(progress: RolloutProgress, took: &[Millis]) -> Vec<String> {
        sentences(&of_size(4), progress, &before(took))
    }

    #[test]
    fn what_took_no_time_is_told_in_the_same_words_everywhere() {
        let this = EpisodeRow { first_available_millis: Some(40), ..of_size(4) };
        assert_eq!(
            sentences(&this, RolloutProgress::Complete(60), &before(&[80, 80, 80])),
            [
                "Took less than 0.1 s, no slower than any of 3 earlier ones: median less than 0.1 s, less than 0.1 s.",
                "First pod available after less than 0.1 s; median of 3 earlier ones less than 0.1 s.",
            ]
        );
    }

    #[test]
    fn one_that_is_complete_has_its_place() {
        let complete = RolloutProgress::Complete(42_000);
        assert!(told(complete, &[]).is_empty());
        assert!(told(complete, &[0, 0, 0, 0]).is_empty(), "none of them was complete");
        assert_eq!(told(complete, &[31_000]), ["Took 42 s; 1 earlier one took 31 s."]);
        let two = told(complete, &[51_000, 31_000]);
        assert_eq!(two, ["Took 42 s; 2 earlier ones took 31 s and 51 s."]);
        let ranged = "ones: median 31 s, 24 s to 51 s.";
        let many = told(complete, &[31_000, 24_000, 51_000, 0, 44_000, 25_000]);
        assert_eq!(many, [format!("Took 42 s, slower than 3 of 5 earlier {ranged}")]);
        let fastest = told(RolloutProgress::Complete(9_000), &[31_000, 24_000, 51_000]);
        assert_eq!(fastest, [format!("Took 9.0 s, no slower than any of 3 earlier {ranged}")]);
        let slowest = told(RolloutProgress::Complete(90_000), &[31_000, 24_000, 51_000]);
        assert!(slowest[0].contains(", slower than all 3 earlier ones: "), "{slowest:?}");
    }

    #[test]
    fn an_end_is_told_in_advance_only_on_ground() {
        let going = |millis| RolloutProgress::GoingOn(millis);
        assert!(told(going(1_000), &[31_000, 24_000]).is_empty());
        let early = told(going(12_000), &[31_000, 24_000, 51_000]);
        assert_eq!(early, ["12 s to 39 s left: 3 earlier ones took 24 s to 51 s."]);
        let some = told(going(30_000), &[31_000, 24_000, 51_000, 40_000, 25_000]);
        assert_eq!(some, ["1.0 s to 21 s left: the 3 slowest of 5 earlier ones took 31 s to 51 s."]);
        let late = told(going(45_000), &[31_000, 24_000, 51_000]);
        assert_eq!(late, ["In progress for 45 s: 2 of 3 earlier ones were complete by then."]);
        let latest = told(going(90_000), &[31_000, 24_000, 51_000]);
        assert_eq!(latest, ["In progress for 1 min 30 s: all 3 earlier ones were complete by then."]);
        assert!(told(RolloutProgress::Otherwise, &[31_000, 24_000, 51_000]).is_empty());
    }

    #[test]
    fn rollouts_of_other_sizes_are_no_measure() {
        let before = before(&[31_000, 24_000, 51_000]);
        let told = |replicas| sentences(&of_size(replicas), RolloutProgress::Complete(9_000), &before).len();
        assert_eq!([9, 8, 2, 1].map(told), [0, 1, 1, 0]);
        // The chart uses the same rollouts.
        assert_eq!([9, 8, 2, 1].map(|replicas| is_alike(replicas, &before[0])), [false, true, true, false]);
    }

    #[test]
    fn what_is_not_compared_says_why() {
        let why =
            [(true, true), (false, true), (false, false)].map(|(took, complete)| why_not_compared(took, complete));
        assert_eq!(
            why,
            [
                "Its duration is not compared: no earlier rollout of a similar size has a known duration.",
                "Its duration is not compared with earlier rollouts: its begin or end was not observed.",
                "Its duration is not compared with earlier rollouts: it is not complete.",
            ]
        );
    }

    #[test]
    fn a_creation_is_no_measure_of_a_replacement() {
        let mut before = before(&[31_000, 24_000]);
        before.extend(before.clone().into_iter().map(|other| EpisodeRow { trigger: Trigger::Created, ..other }));
        let said = sentences(&of_size(4), RolloutProgress::Complete(9_000), &before);
        assert_eq!(said, ["Took 9.0 s; 2 earlier ones took 24 s and 31 s."]);
    }

    #[test]
    fn first_pods_and_restarts_are_compared_where_that_says_something() {
        let this = EpisodeRow { first_available_millis: Some(9_000), restarts: Some(2), ..of_size(4) };
        let said = sentences(&this, RolloutProgress::Otherwise, &before(&[31_000, 24_000, 51_000]));
        assert_eq!(
            said,
            [
                "First pod available after 9.0 s; median of 3 earlier ones 15 s.",
                "2 container restarts; none in 2 of 3 earlier ones.",
            ]
        );
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([7].into_iter()), Some(7));
        assert_eq!(median([9, 1, 5].into_iter()), Some(5));
        assert_eq!(median([9, 1, 5, 6].into_iter()), Some(5));
    }
}
