//! Duration of a rollout compared with earlier ones: as sentences, and as a figure that a page updates each second.

use serde::{Deserialize, Serialize};
use timeline::Millis;
use timeline::words::{capitalized, count, duration_in_words};

/// Minimum number of earlier rollouts for an estimate or a general statement.
pub(crate) const ENOUGH: usize = 3;
/// An estimated end within this time is shown as possible at any moment.
const SOON_MILLIS: Millis = 100;

/// Status of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RolloutProgress {
    /// Complete after this time.
    Complete(Millis),
    /// In progress for this time, and not held up.
    GoingOn(Millis),
    /// Held up, ended otherwise, or its beginning was not observed.
    Otherwise,
}

/// A rollout with the durations of comparable earlier ones: the data from which a page estimates the time left.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Measure {
    /// The revision of the rollout.
    pub revision: u64,
    /// When it began.
    pub started_millis: Millis,
    /// Status when this was measured.
    pub standing: RolloutProgress,
    /// Durations of complete rollouts of about as many replicas, the fastest first.
    pub took_millis: Vec<Millis>,
}

/// A figure, its label, and both as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// "12 s to 39 s".
    pub value: String,
    /// "left, from earlier rollouts".
    pub words: String,
    /// "12 s to 39 s left: 3 earlier ones took 24 s to 51 s."
    pub sentence: String,
}

impl Measure {
    /// Returns the expected time left, or the duration; `None` if too few earlier ones are known.
    pub fn figure(&self, now_millis: Millis) -> Option<Figure> {
        let took = &self.took_millis;
        match self.standing {
            RolloutProgress::Complete(millis) => {
                let words = match rank(millis, took) {
                    rank if rank.is_empty() => "to complete".to_owned(),
                    rank => format!("to complete, {rank}"),
                };
                let sentence = comparison_words(millis, took).unwrap_or_default();
                Some(Figure { value: duration_in_words(millis), words, sentence })
            }
            RolloutProgress::GoingOn(_) => {
                let gone_on_millis = now_millis - self.started_millis;
                let (soonest, latest) = remaining(gone_on_millis, took)?;
                let words = "left, from earlier rollouts".to_owned();
                Some(Figure { value: time_left(soonest, latest), words, sentence: expected(gone_on_millis, took)? })
            }
            RolloutProgress::Otherwise => None,
        }
    }
}

/// Returns the median of times: the middle one, or the mean of the two in the middle.
pub fn median(times: impl Iterator<Item = Millis>) -> Option<Millis> {
    let mut times: Vec<Millis> = times.collect();
    times.sort_unstable();
    let upper = times.get(times.len() / 2)?;
    let lower = times.get((times.len() - 1) / 2)?;
    Some((lower + upper) / 2)
}

/// Returns "1 earlier one", "9 earlier ones".
pub(crate) fn earlier(many: usize) -> String {
    count(many as u32, "earlier one")
}

/// Returns the rank of a duration among earlier ones: "slower than 3 of 4 earlier"; empty if there are none.
fn rank(millis: Millis, took: &[Millis]) -> String {
    let (faster, many) = (took.iter().filter(|took| **took < millis).count(), took.len());
    match faster {
        _ if many == 0 => String::new(),
        0 if many == 1 => "no slower than the earlier one".to_owned(),
        0 => format!("no slower than any of {many} earlier"),
        _ if faster == many && many == 1 => "slower than the earlier one".to_owned(),
        _ if faster == many => format!("slower than all {many} earlier"),
        _ => format!("slower than {faster} of {many} earlier"),
    }
}

/// Returns the rank of a complete rollout among earlier ones, in words; `None` if there are none.
pub(crate) fn comparison_words(millis: Millis, took: &[Millis]) -> Option<String> {
    let (fastest, slowest) = (took.first()?, took.last()?);
    let (this, many) = (duration_in_words(millis), took.len());
    if many < ENOUGH {
        let others: Vec<String> = took.iter().map(|took| duration_in_words(*took)).collect();
        return Some(format!("Took {this}; {} took {}.", earlier(many), others.join(" and ")));
    }
    let (median, span) = (duration_in_words(median(took.iter().copied())?), span(*fastest, *slowest));
    Some(format!("Took {this}, {} ones: median {median}, {span}.", rank(millis, took)))
}

/// Returns the shortest and the longest remaining time, according to the earlier rollouts that took longer; `None` if too few did.
fn remaining(millis: Millis, took: &[Millis]) -> Option<(Millis, Millis)> {
    let longer = took.get(took.iter().filter(|took| **took <= millis).count()..).filter(|of| of.len() >= ENOUGH)?;
    Some((longer.first()? - millis, longer.last()? - millis))
}

/// Formats "12 s to 39 s".
fn span(from: Millis, to: Millis) -> String {
    let (from, to) = (duration_in_words(from), duration_in_words(to));
    if from == to { from } else { format!("{from} to {to}") }
}

/// Formats "12 s to 39 s", or "up to 39 s" if it may be complete at any moment.
fn time_left(soonest: Millis, latest: Millis) -> String {
    if soonest < SOON_MILLIS { format!("up to {}", duration_in_words(latest)) } else { span(soonest, latest) }
}

/// Says when a rollout in progress may be complete, or how many earlier ones were by then; `None` without data.
pub(crate) fn expected(millis: Millis, took: &[Millis]) -> Option<String> {
    let many = took.len();
    if many < ENOUGH {
        return None; // too few for an estimate
    }
    let shorter = took.iter().filter(|took| **took <= millis).count();
    let Some((soonest, latest)) = remaining(millis, took) else {
        let of =
            if shorter == many { format!("all {}", earlier(many)) } else { format!("{shorter} of {}", earlier(many)) };
        return Some(format!("In progress for {}: {of} were complete by then.", duration_in_words(millis)));
    };
    let of = if shorter == 0 { earlier(many) } else { format!("the {} slowest of {}", many - shorter, earlier(many)) };
    let took = span(soonest + millis, latest + millis);
    let left = capitalized(time_left(soonest, latest));
    Some(format!("{left} left: {of} took {took}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_what_is_left_and_then_what_it_took() {
        let measure = |standing, took: &[Millis]| Measure {
            revision: 2,
            started_millis: 5_000,
            standing,
            took_millis: took.into(),
        };
        let going = measure(RolloutProgress::GoingOn(0), &[24_000, 31_000, 51_000]);
        let figure = going.figure(17_000).unwrap();
        assert_eq!((figure.value.as_str(), figure.words.as_str()), ("12 s to 39 s", "left, from earlier rollouts"));
        assert!(figure.sentence.starts_with("12 s to 39 s left: "), "{}", figure.sentence);
        assert_eq!(going.figure(5_000 + 24_000), None, "two are no ground");
        let soon = going.figure(5_000 + 23_950).unwrap();
        assert_eq!(soon.value, "up to 27 s");
        assert!(soon.sentence.starts_with("Up to 27 s left: 3 earlier ones "), "{}", soon.sentence);
        assert_eq!(measure(RolloutProgress::GoingOn(0), &[24_000; 3]).figure(17_000).unwrap().value, "12 s");
        assert_eq!(measure(RolloutProgress::Otherwise, &[24_000; 3]).figure(17_000), None);
        let complete = measure(RolloutProgress::Complete(42_000), &[24_000, 31_000, 51_000]).figure(0).unwrap();
        assert_eq!(
            (complete.value.as_str(), complete.words.as_str()),
            ("42 s", "to complete, slower than 2 of 3 earlier")
        );
        assert!(complete.sentence.starts_with("Took 42 s, slower than 2 of 3 earlier ones: "), "{}", complete.sentence);
        let first = measure(RolloutProgress::Complete(42_000), &[]).figure(0).unwrap();
        assert_eq!((first.words.as_str(), first.sentence.as_str()), ("to complete", ""));
    }
}
