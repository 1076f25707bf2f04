//! The time span of a shown rollout, and its lines in the recording of an episode.

use timeline::Millis;

use super::latest_lines::LatestLines;
use crate::feed::recording::{LineType, RawLine};

/// Time that is shown before the start of a rollout.
pub const LEAD_MILLIS: Millis = 5_000;
/// Time that is shown after the end of a rollout: pods take a while to end.
const TAIL_MILLIS: Millis = 45_000;
/// Longest time that is shown for a rollout that never ended.
pub const LONGEST_MILLIS: Millis = 6 * 3_600_000;

/// Returns start and end of the shown time of a rollout: from a little before its start to a little after its end, but not past
/// the last time before the next rollout.
pub fn shown_span(
    started_millis: Millis,
    ended_millis: Option<Millis>,
    last_millis: Option<Millis>,
) -> (Millis, Millis) {
    let over_millis = ended_millis.unwrap_or(started_millis + LONGEST_MILLIS) + TAIL_MILLIS;
    // A rollout that was complete before the next one began is shown as complete, even if the next one came soon.
    let complete = |last: Millis| ended_millis.filter(|ended| *ended <= last).unwrap_or(Millis::MIN);
    let to_millis = last_millis.map_or(over_millis, |last| over_millis.min(last).max(complete(last)));
    (started_millis - LEAD_MILLIS, to_millis)
}

/// Returns the lines within a time span of a recording, after a list of the objects at its start.
pub fn trim(text: &str, (from_millis, to_millis): (Millis, Millis)) -> String {
    let (mut before, mut after) = (LatestLines::default(), String::new());
    for line in text.lines() {
        let Some(read) = RawLine::parse(line) else { continue };
        if read.observed_at_millis < from_millis {
            before.read(line);
        } else if read.observed_at_millis <= to_millis {
            after.push_str(line);
            after.push('\n');
        }
    }
    before.advance(from_millis.min(to_millis));
    before.keyframe(None) + &after
}

/// Returns the objects in the lines of several workloads before a time, the oldest first. Omits ends of lists, because each list
/// contains the objects of only one workload.
pub fn objects_before(text: &str, before_millis: Millis) -> String {
    let arrival = |line: &str| {
        let read = RawLine::parse(line).filter(|read| read.r#type != LineType::ListDone)?;
        Some(read.observed_at_millis).filter(|at| *at < before_millis)
    };
    let mut lines: Vec<(Millis, &str)> = text.lines().filter_map(|line| Some((arrival(line)?, line))).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| format!("{line}\n")).collect()
}
