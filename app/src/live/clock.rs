//! The page's clock: the server's time, advanced by the browser's clock. Pure: the browser's time is an argument.

use timeline::Millis;
use timeline::wire::Connection;

/// The largest delay of the server's time that is taken for network delay of a frame. Multiplied by the speed.
const JITTER_MILLIS: f64 = 400.0;

/// The server's time as the page estimates it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    server_millis: f64,
    at_page_millis: f64,
    speed: f64,
    stopped_at: Option<f64>,
}

impl Clock {
    /// Creates a clock from one server time and the page time at which it was read.
    pub const fn new(server_millis: Millis, page_millis: f64) -> Self {
        Self { server_millis: server_millis as f64, at_page_millis: page_millis, speed: 1.0, stopped_at: None }
    }

    /// Takes the server's time. Ignores small jitter of the network, so that the picture does not jump back; there is no jitter while the
    /// time is stopped.
    pub fn synchronize(&mut self, server_millis: Millis, page_millis: f64) {
        let off = server_millis as f64 - self.running(page_millis);
        let jitter = if self.speed > 0.0 { JITTER_MILLIS * self.speed.max(1.0) } else { 0.0 };
        if !(-jitter..=0.0).contains(&off) {
            self.server_millis = server_millis as f64;
            self.at_page_millis = page_millis;
        }
    }

    /// Sets the speed: clusters may have their own, and a stale picture stands still.
    pub fn set_pace(&mut self, connection: &Connection, has_link: bool, page_millis: f64) {
        let speed = f64::from(connection.speed_percent) / 100.0;
        if (speed - self.speed).abs() > f64::EPSILON {
            self.server_millis = self.running(page_millis);
            self.at_page_millis = page_millis;
            self.speed = speed;
        }
        let runs = has_link && !connection.state.is_stale();
        self.stopped_at = if runs { None } else { self.stopped_at.or(Some(self.running(page_millis))) };
    }

    /// Sets the clock back to the last known time: the loss of the connection was detected later.
    pub fn stand_at(&mut self, known_until_millis: Millis) {
        self.stopped_at = self.stopped_at.map(|_| known_until_millis as f64);
    }

    pub fn now_millis(&self, page_millis: f64) -> Millis {
        self.stopped_at.unwrap_or_else(|| self.running(page_millis)) as Millis
    }

    /// Returns the estimated server time, also while the shown time stands still.
    pub fn running_millis(&self, page_millis: f64) -> Millis {
        self.running(page_millis) as Millis
    }

    fn running(&self, page_millis: f64) -> f64 {
        self.server_millis + (page_millis - self.at_page_millis) * self.speed
    }
}

#[cfg(test)]
mod tests {
    use timeline::wire::ConnectionState;

    use super::*;

    #[test]
    fn a_late_frame_does_not_turn_the_clock_back() {
        let mut clock = Clock::new(1_000_000, 0.0);
        clock.synchronize(1_000_900, 1_000.0);
        assert_eq!(clock.now_millis(1_000.0), 1_001_000);
        clock.synchronize(1_002_500, 2_000.0);
        assert_eq!(clock.now_millis(2_000.0), 1_002_500);
    }

    #[test]
    fn what_was_noticed_late_stands_at_the_last_word() {
        let state = ConnectionState::Stale { since_millis: 0, retry_at_millis: None, why: String::new() };
        let (stale, live) = (Connection { state, ..Connection::default() }, Connection::default());
        let mut clock = Clock::new(0, 0.0);
        clock.stand_at(1_000);
        assert_eq!(clock.now_millis(12_000.0), 12_000, "it does not stand still");
        clock.set_pace(&stale, true, 12_000.0);
        clock.stand_at(2_000);
        assert_eq!((clock.now_millis(60_000.0), clock.running_millis(60_000.0)), (2_000, 60_000));
        clock.set_pace(&live, true, 70_000.0);
        assert_eq!(clock.now_millis(70_000.0), 70_000);
    }

    #[test]
    fn a_time_that_is_held_is_what_the_server_says() {
        let state = ConnectionState::Replay { name: "rollout".into() };
        let held = Connection { state, speed_percent: 0, ..Connection::default() };
        let mut clock = Clock::new(1_000, 0.0);
        clock.set_pace(&held, true, 120.0);
        assert_eq!(clock.now_millis(5_000.0), 1_120, "that it stands still was told 120 ms after the time");
        clock.synchronize(1_000, 5_000.0);
        assert_eq!(clock.now_millis(9_000.0), 1_000);
    }

    #[test]
    fn a_replay_runs_at_its_own_speed() {
        let mut clock = Clock::new(0, 0.0);
        let state = ConnectionState::Replay { name: "rollout".into() };
        clock.set_pace(&Connection { state, speed_percent: 400, ..Connection::default() }, true, 0.0);
        assert_eq!(clock.now_millis(1_000.0), 4_000);
        clock.synchronize(3_000, 1_000.0);
        assert_eq!(clock.now_millis(1_000.0), 4_000, "a frame that is a quarter of a second late is no news");
    }
}
