//! The stretch of time in which a rollout is shown, and its lines cut out of the recording of an episode.

use serde_json::value::RawValue;
use timeline::Millis;

use super::fold::Fold;
use crate::feed::recording::RecordedLine;

/// A rollout is shown from this long before it began.
pub const LEAD_MILLIS: Millis = 5_000;
/// And until this long after it was over: pods take their time to end.
pub const TAIL_MILLIS: Millis = 45_000;
/// Of one that never ended this much is shown.
pub const LONGEST_MILLIS: Millis = 6 * 3_600_000;

/// Since when and until when.
pub type Stretch = (Millis, Millis);

/// The stretch of time in which a rollout is shown: from a little before its begin to a little after its end, and not past its last
/// moment, which knows nothing of the next one.
#[must_use]
pub fn stretch(started_millis: Millis, ended_millis: Option<Millis>, last_millis: Option<Millis>) -> Stretch {
    let over_millis = ended_millis.unwrap_or(started_millis + LONGEST_MILLIS) + TAIL_MILLIS;
    // One that was complete before the next one began is shown complete, however soon that one came.
    let complete = |last: Millis| ended_millis.filter(|ended| *ended <= last).unwrap_or(Millis::MIN);
    let to_millis = last_millis.map_or(over_millis, |last| over_millis.min(last).max(complete(last)));
    (started_millis - LEAD_MILLIS, to_millis)
}

/// Until when it can be shown at most: some hours longer, where somebody asks for a moment there, and not into the next one.
#[must_use]
pub fn reach(started_millis: Millis, ended_millis: Option<Millis>, last_millis: Option<Millis>) -> Millis {
    let (_, to_millis) = stretch(started_millis, ended_millis, last_millis);
    let most_millis = ended_millis.unwrap_or(started_millis + LONGEST_MILLIS) + LONGEST_MILLIS;
    last_millis.map_or(most_millis, |last| most_millis.min(last)).max(to_millis)
}

/// The lines of a stretch out of a recording. What existed when it begins comes first.
#[must_use]
pub fn trim(text: &str, (from_millis, to_millis): Stretch) -> String {
    let (mut before, mut after) = (Fold::default(), String::new());
    for line in text.lines() {
        let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) else { continue };
        if read.observed_at_millis < from_millis {
            before.take(line);
        } else if read.observed_at_millis <= to_millis {
            after.push_str(line);
            after.push('\n');
        }
    }
    before.reach(from_millis.min(to_millis));
    let (_, text) = before.keyframe(None);
    text + &after
}

/// The lines that came before a time, the oldest first.
#[must_use]
pub fn until(text: &str, before_millis: Millis) -> String {
    let arrival = |line: &str| {
        let read: RecordedLine<'_, &RawValue> = serde_json::from_str(line).ok()?;
        Some(read.observed_at_millis).filter(|at| *at < before_millis)
    };
    let mut lines: Vec<(Millis, &str)> = text.lines().filter_map(|line| Some((arrival(line)?, line))).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| format!("{line}\n")).collect()
}
