//! How long a rollout took or may still take, measured by those before it: in sentences, and as a figure that a page tells anew each second.

use serde::{Deserialize, Serialize};
use timeline::Millis;
use timeline::words::duration;

/// So many must there be to tell an end in advance, and to speak of a rule.
pub(super) const ENOUGH: usize = 3;

/// How a rollout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Standing {
    /// It was complete after this time.
    Complete(Millis),
    /// It has gone on for this time, and nothing holds it.
    GoingOn(Millis),
    /// It does not go on, or ended otherwise, or its begin was not seen.
    Otherwise,
}

/// A rollout and how long those before it took that it can be compared with: what a page needs to tell at any time how long it may still take.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Measure {
    /// Which revision it rolls out.
    pub revision: u64,
    /// When it began.
    pub started_millis: Millis,
    /// How it stood when this was told.
    pub standing: Standing,
    /// How long complete ones of about as many replicas took, the fastest first.
    pub took_millis: Vec<Millis>,
}

/// A figure with what it counts, and both in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// "12 s to 39 s".
    pub value: String,
    /// "left, from earlier rollouts".
    pub words: String,
    /// "It may be complete in 12 s to 39 s: the 3 complete ones before it took 24 s to 51 s."
    pub sentence: String,
}

impl Measure {
    /// How long it may still take, or how long it took; `None` where there is no ground for that.
    #[must_use]
    pub fn figure(&self, now_millis: Millis) -> Option<Figure> {
        let took = &self.took_millis;
        match self.standing {
            Standing::Complete(millis) => {
                let (faster, many) = (took.iter().filter(|took| **took < millis).count(), took.len());
                let words = match faster {
                    _ if many == 0 => "duration".to_owned(),
                    0 => format!("duration; fastest of {} so far", many + 1),
                    _ => format!("duration; slower than {faster} of {many} earlier"),
                };
                let sentence = compared(millis, took).unwrap_or_default();
                Some(Figure { value: duration(millis), words, sentence })
            }
            Standing::GoingOn(_) => {
                let gone_on_millis = now_millis - self.started_millis;
                let (soonest, latest) = remaining(gone_on_millis, took)?;
                let words = "left, from earlier rollouts".to_owned();
                Some(Figure { value: span(soonest, latest), words, sentence: expected(gone_on_millis, took)? })
            }
            Standing::Otherwise => None,
        }
    }
}

/// The middle of some times, or what lies between the two in the middle.
#[must_use]
pub fn median(times: impl Iterator<Item = Millis>) -> Option<Millis> {
    let mut times: Vec<Millis> = times.collect();
    times.sort_unstable();
    let upper = times.get(times.len() / 2)?;
    let lower = times.get((times.len() - 1) / 2)?;
    Some((lower + upper) / 2)
}

/// "the one before it", "the 9 complete ones before it".
fn those(many: usize) -> String {
    if many == 1 { "the complete one before it".to_owned() } else { format!("the {many} complete ones before it") }
}

/// Where one that was complete after this time stands among those before it; `None` where there are none.
pub(super) fn compared(millis: Millis, took: &[Millis]) -> Option<String> {
    let (fastest, slowest) = (took.first()?, took.last()?);
    let (this, many) = (duration(millis), took.len());
    if many < ENOUGH {
        let others: Vec<String> = took.iter().map(|took| duration(*took)).collect();
        return Some(format!("It took {this}; {} took {}.", those(many), others.join(" and ")));
    }
    let faster = took.iter().filter(|took| **took < millis).count();
    let usual = duration(median(took.iter().copied())?);
    let place = match faster {
        0 => format!("none of {} was faster", those(many)),
        _ if faster == many => format!("all of {} were faster", those(many)),
        1 => format!("1 of {} was faster", those(many)),
        _ => format!("{faster} of {} were faster", those(many)),
    };
    let (fastest, slowest) = (duration(*fastest), duration(*slowest));
    Some(format!("It took {this}; {place}: they took {fastest} to {slowest}, half of them at most {usual}."))
}

/// The shortest and the longest time that is left if it takes as long as one of those that took longer; `None` where too few did.
fn remaining(millis: Millis, took: &[Millis]) -> Option<(Millis, Millis)> {
    let longer = took.get(took.iter().filter(|took| **took <= millis).count()..).filter(|of| of.len() >= ENOUGH)?;
    Some((longer.first()? - millis, longer.last()? - millis))
}

/// "12 s to 39 s".
fn span(from: Millis, to: Millis) -> String {
    let (from, to) = (duration(from), duration(to));
    if from == to { from } else { format!("{from} to {to}") }
}

/// When one that has gone on for this time may be complete, or how many were by then; `None` where there is no ground.
pub(super) fn expected(millis: Millis, took: &[Millis]) -> Option<String> {
    let many = took.len();
    if many < ENOUGH {
        return None; // no ground
    }
    let shorter = took.iter().filter(|took| **took <= millis).count();
    let Some((soonest, latest)) = remaining(millis, took) else {
        let all = if shorter == many { "all".to_owned() } else { shorter.to_string() };
        return Some(format!("It goes on for {}: {all} of {} were complete by then.", duration(millis), those(many)));
    };
    let (of, than) = match shorter {
        0 => (those(many), ""),
        _ => (format!("{} of {}", many - shorter, those(many)), " that took longer than this"),
    };
    let took = span(soonest + millis, latest + millis);
    Some(format!("It may be complete in {}: {of}{than} took {took}.", span(soonest, latest)))
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
        let going = measure(Standing::GoingOn(0), &[24_000, 31_000, 51_000]);
        let figure = going.figure(17_000).unwrap();
        assert_eq!((figure.value.as_str(), figure.words.as_str()), ("12 s to 39 s", "left, from earlier rollouts"));
        assert!(figure.sentence.starts_with("It may be complete in 12 s to 39 s: "), "{}", figure.sentence);
        assert_eq!(going.figure(5_000 + 24_000), None, "two are no ground");
        assert_eq!(measure(Standing::GoingOn(0), &[24_000; 3]).figure(17_000).unwrap().value, "12 s");
        assert_eq!(measure(Standing::Otherwise, &[24_000; 3]).figure(17_000), None);
        let complete = measure(Standing::Complete(42_000), &[24_000, 31_000, 51_000]).figure(0).unwrap();
        assert_eq!(
            (complete.value.as_str(), complete.words.as_str()),
            ("42 s", "duration; slower than 2 of 3 earlier")
        );
        assert!(complete.sentence.starts_with("It took 42 s; 2 of the 3 "), "{}", complete.sentence);
        let fastest = measure(Standing::Complete(20_000), &[24_000, 31_000]).figure(0).unwrap();
        assert_eq!(fastest.words, "duration; fastest of 3 so far");
        let first = measure(Standing::Complete(42_000), &[]).figure(0).unwrap();
        assert_eq!((first.words.as_str(), first.sentence.as_str()), ("duration", ""));
    }
}
