//! Plays a recording into a hub, as fast as it happened or faster, once or in a loop.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use timeline::Millis;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::feed::recording::Recording;
use crate::kube::{InitialState, SourceEvent};
use crate::telemetry::clock::{OwnClock, parse_speed};
use crate::telemetry::viewers::Viewers;

/// Pause after the end of a recording.
const END_PAUSE: Duration = Duration::from_secs(4);
/// Longest wait for a line: timestamps may be absurd.
const LONGEST_WAIT: Duration = Duration::from_hours(365 * 24);

/// Options of a replay.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct ReplayOptions {
    /// Playback speed as a factor, from 0.01 to 1000
    #[arg(long, env = "ROLLCAST_SPEED", default_value_t = 1.0, value_parser = parse_speed, value_name = "X")]
    pub speed: f64,
    /// Start again at the end
    #[arg(long, env = "ROLLCAST_LOOP")]
    pub r#loop: bool,
    /// Start when the first page is opened, so that it misses nothing
    #[arg(long, env = "ROLLCAST_WHEN_WATCHED")]
    pub when_watched: bool,
    /// Jump to this second of the recording and stop there
    #[arg(long, env = "ROLLCAST_HOLD_AT", conflicts_with_all = ["loop", "speed", "when_watched"], value_name = "SECONDS")]
    pub hold_at: Option<f64>,
}

/// Reads a recording by [`Recording::read`] or [`Recording::read_to_store`], and logs its bad lines.
///
/// # Errors
/// When the file cannot be read or has no valid line.
pub fn read(path: &Path, parse: fn(&str) -> Recording) -> anyhow::Result<Recording> {
    let text = std::fs::read(path).with_context(|| format!("cannot read the recording {}", path.display()))?;
    let recording = parse(&String::from_utf8_lossy(&text));
    ensure_observed(&recording, &path.display().to_string())?;
    Ok(recording)
}

/// Logs the bad lines of a recording.
///
/// # Errors
/// When it has no valid line.
pub fn ensure_observed(recording: &Recording, source: &str) -> anyhow::Result<()> {
    for bad in &recording.bad_lines {
        tracing::warn!(error = %bad, recording = %source, "skipped a line of the recording");
    }
    if recording.observed.is_empty() {
        let first = recording.bad_lines.first().map_or_else(String::new, |bad| format!(" ({bad})"));
        anyhow::bail!("{source} contains no valid line{first}");
    }
    Ok(())
}

/// Returns a free name: the name itself, or with the first free number. Histories are never mixed under one name.
pub fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Plays a recording into the queue of a hub; if viewers are given, it stands at its first instant until one connects. Returns at the end
/// of the recording, or never if it repeats; `None` if the hub has ended.
pub async fn play(
    events: mpsc::Sender<SourceEvent>,
    name: String,
    recording: Recording,
    options: ReplayOptions,
    mut viewers: Option<Viewers>,
) -> Option<()> {
    let (from, to) = recording.span()?;
    loop {
        let held = options.hold_at.map(|seconds| from.saturating_add((seconds * 1000.0) as Millis));
        let clock_at = |start_millis, speed| OwnClock { start_millis, started: Instant::now(), speed };
        let speed = if held.is_some() || viewers.is_some() { 0.0 } else { options.speed };
        let mut clock = clock_at(held.unwrap_or(from), speed);
        let clock_event = |clock| SourceEvent::Played { name: name.clone(), clock };
        let initial = InitialState { looking_since_millis: Some(clock.start_millis), ..InitialState::default() };
        for event in [SourceEvent::Begins(Box::new(initial)), clock_event(clock)] {
            events.send(event).await.ok()?;
        }
        for (index, observed) in recording.observed.iter().enumerate() {
            if let Some(until) = held {
                if observed.at_millis > until {
                    break;
                }
            } else {
                if observed.at_millis > from
                    && let Some(viewers) = viewers.take()
                {
                    viewers.wait().await;
                    clock = clock_at(clock.start_millis, options.speed);
                    events.send(clock_event(clock)).await.ok()?;
                }
                tokio::time::sleep_until(clock.started + offset(from, observed.at_millis, options.speed)).await;
            }
            let line = recording.lines.get(index).cloned();
            events.send(SourceEvent::Recorded { observed: Box::new(observed.clone()), line }).await.ok()?;
        }
        if held.is_some() {
            return Some(());
        }
        tokio::time::sleep(END_PAUSE).await;
        if !options.r#loop {
            let end_millis = to.saturating_add(END_PAUSE.as_millis() as i64);
            return events.send(clock_event(clock_at(end_millis, 0.0))).await.ok();
        }
    }
}

/// Returns the time from the begin of a recording until a line is played. The lines of different kinds have timestamps of different tasks,
/// so a line may be a little older than the first one: it is played at once.
fn offset(from_millis: Millis, at_millis: Millis, speed: f64) -> Duration {
    let seconds = at_millis.saturating_sub(from_millis).max(0) as f64 / 1000.0 / speed;
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_stamped_before_the_first_one_is_played_at_once() {
        assert_eq!(offset(1_000, 999, 1.0), Duration::ZERO);
        assert_eq!(offset(1_000, 3_000, 4.0), Duration::from_millis(500));
        assert_eq!(
            [offset(Millis::MAX, Millis::MIN, 1.0), offset(Millis::MIN, Millis::MAX, 0.001)],
            [Duration::ZERO, LONGEST_WAIT]
        );
    }

    #[test]
    fn a_name_that_is_taken_gets_the_first_number_that_is_free() {
        let taken: BTreeSet<String> = ["web", "web-2", "shop-2"].map(String::from).into();
        assert_eq!(["web", "shop", "web-2"].map(|name| free_name(name, &taken)), ["web-3", "shop", "web-2-2"]);
    }
}
