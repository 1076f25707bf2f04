//! The clock of a cluster: that of this machine, or one that is faster, slower or stands still (recordings, the playground).

use std::time::Duration;

use timeline::Millis;
use tokio::time::Instant;

/// The time of one cluster.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The time of this machine.
    Real,
    /// The time of a recording or of a simulated cluster.
    Own(OwnClock),
}

/// A clock that runs at some speed.
#[derive(Debug, Clone, Copy)]
pub struct OwnClock {
    /// Its time at `started`.
    pub start_millis: Millis,
    /// When it began to run.
    pub started: Instant,
    /// Its seconds per second; 0 when it stands still.
    pub speed: f64,
}

impl Clock {
    /// Returns its time.
    pub fn now_millis(self) -> Millis {
        match self {
            Self::Real => now_millis(),
            Self::Own(clock) => {
                clock.start_millis + (clock.started.elapsed().as_secs_f64() * clock.speed * 1000.0) as Millis
            }
        }
    }

    /// Returns its time after `wait`.
    pub fn after(self, wait: Duration) -> Millis {
        self.now_millis() + (wait.as_secs_f64() * self.speed() * 1000.0) as Millis
    }

    /// Returns the real time until it shows `at_millis`; `None` if it stands still.
    pub fn until(self, at_millis: Millis) -> Option<Duration> {
        let left = (at_millis - self.now_millis()).max(0) as f64 / 1000.0;
        (self.speed() > 0.0).then(|| Duration::from_secs_f64(left / self.speed()))
    }

    /// Returns its speed in percent.
    pub fn percent(self) -> u32 {
        (self.speed() * 100.0).round() as u32
    }

    /// Returns its speed; 0 when it stands still.
    pub const fn speed(self) -> f64 {
        match self {
            Self::Real => 1.0,
            Self::Own(clock) => clock.speed,
        }
    }
}

/// Returns the time of this machine.
pub fn now_millis() -> Millis {
    jiff::Timestamp::now().as_millisecond()
}

/// Returns a time in words, to the minute, in UTC.
pub fn stamp(millis: Millis) -> String {
    format(millis, "%-d %b %Y %H:%M UTC")
}

/// Returns a day in words, in UTC.
pub fn day(millis: Millis) -> String {
    format(millis, "%-d %b %Y")
}

fn format(millis: Millis, format: &str) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|at| at.strftime(format).to_string()).unwrap_or_default()
}

/// Parses the speed of a clock.
///
/// # Errors
/// A sentence that says the range of speeds.
pub fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && (0.01..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("must be a number from 0.01 to 1000".to_owned()),
    }
}

/// Parses a duration: a whole number with the unit s, m, h or d.
///
/// # Errors
/// A sentence that says the form of durations.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let mut units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)].into_iter();
    let found = units.find_map(|(unit, seconds)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds));
    found.map(Duration::from_secs).ok_or_else(|| "must be a whole number with a unit: 30s, 10m, 24h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_passes_at_its_speed() {
        let clock = Clock::Own(OwnClock { start_millis: 1_000, started: Instant::now(), speed: 4.0 });
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(clock.now_millis(), 3_000);
        assert_eq!(clock.after(Duration::from_millis(250)), 4_000);
        assert_eq!(clock.until(5_000), Some(Duration::from_millis(500)));
        assert_eq!(clock.until(2_000), Some(Duration::ZERO));
        assert_eq!(clock.percent(), 400);
    }

    #[tokio::test]
    async fn a_clock_that_stands_still_never_gets_there() {
        let clock = Clock::Own(OwnClock { start_millis: 1_000, started: Instant::now(), speed: 0.0 });
        assert_eq!((clock.now_millis(), clock.until(2_000), clock.percent()), (1_000, None, 0));
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("90m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse_duration("7d"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "10", "m", "1.5h", "-3s", "10 m", "3µ", "99999999999999999999s", "18446744073709551615d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
