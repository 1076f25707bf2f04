//! Playback: the moment that a viewer sees. Pure: the viewer's own clock (milliseconds, any origin) and the live time are arguments.
//!
//! ```text
//!   Live ──pause, seek──► Still{at} ──play──► Playing{at, since, speed}
//!    ▲                      │ ▲────pause──────────┘   │
//!    └──live, or the moment reached the present───────┘
//! ```

use crate::Millis;

/// The moment that a viewer sees.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Playback {
    /// The present, as it advances.
    #[default]
    Live,
    /// One moment of the past, paused.
    Still {
        /// The moment.
        at_millis: Millis,
    },
    /// The past from a moment on, advancing.
    Playing {
        /// The moment at which playback began.
        at_millis: Millis,
        /// The viewer's clock at that time.
        since: f64,
        /// Seconds of the past per second of the viewer.
        speed: f64,
    },
}

impl Playback {
    /// Returns the moment to show; `None` for the present.
    pub fn moment(&self, clock: f64, live_millis: Millis) -> Option<Millis> {
        match *self {
            Self::Live => None,
            // A correction of the clock must not turn a past moment into the present.
            Self::Still { at_millis } => Some(at_millis),
            Self::Playing { at_millis, since, speed } => {
                let at = at_millis + ((clock - since) * speed) as Millis;
                (at < live_millis).then_some(at)
            }
        }
    }

    /// Returns `Live` once playback reached the present.
    #[must_use]
    pub fn settled(self, clock: f64, live_millis: Millis) -> Self {
        if self.moment(clock, live_millis).is_none() { Self::Live } else { self }
    }

    /// Pauses at the shown moment, or resumes from it.
    #[must_use]
    pub fn toggled(self, clock: f64, live_millis: Millis, speed: f64) -> Self {
        match self {
            Self::Still { at_millis } => Self::Playing { at_millis, since: clock, speed },
            _ => Self::Still { at_millis: self.moment(clock, live_millis).unwrap_or(live_millis - 1) },
        }
    }

    /// Moves to another moment; playback continues from there. A future moment becomes the present.
    #[must_use]
    pub fn sought(self, to_millis: Millis, clock: f64, live_millis: Millis) -> Self {
        match self {
            _ if to_millis >= live_millis => Self::Live,
            Self::Playing { speed, .. } => Self::Playing { at_millis: to_millis, since: clock, speed },
            _ => Self::Still { at_millis: to_millis },
        }
    }

    /// Changes the speed of playback; has no effect otherwise.
    #[must_use]
    pub fn paced(self, clock: f64, live_millis: Millis, speed: f64) -> Self {
        match (self, self.moment(clock, live_millis)) {
            (Self::Playing { .. }, Some(at_millis)) => Self::Playing { at_millis, since: clock, speed },
            _ => self,
        }
    }
}

/// Returns the next change after a moment, or the last one before it.
pub fn step(changes: impl Iterator<Item = Millis>, from_millis: Millis, is_forward: bool) -> Option<Millis> {
    if is_forward { changes.filter(|at| *at > from_millis).min() } else { changes.filter(|at| *at < from_millis).max() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_plays_until_it_is_the_present() {
        let still = Playback::Live.toggled(0.0, 10_000, 2.0);
        assert_eq!(still, Playback::Still { at_millis: 9_999 });
        let still = still.sought(4_000, 0.0, 10_000);
        assert_eq!(still.moment(5_000.0, 10_000), Some(4_000));
        let playing = still.toggled(5_000.0, 10_000, 2.0);
        assert_eq!(playing.moment(6_000.0, 11_000), Some(6_000));
        assert_eq!(playing.paced(6_000.0, 11_000, 5.0).moment(7_000.0, 12_000), Some(11_000));
        assert_eq!(playing.toggled(6_000.0, 11_000, 1.0), Playback::Still { at_millis: 6_000 });
        assert_eq!(playing.settled(6_000.0, 11_000), playing);
        assert_eq!(playing.settled(60_000.0, 65_000), Playback::Live);
        assert_eq!(still.sought(10_000, 0.0, 10_000), Playback::Live);
        assert_eq!(still.settled(0.0, 3_000), still, "the clock was set back");
        assert_eq!(playing.moment(6_000.0, 6_001), Some(6_000));
        assert_eq!(playing.moment(6_000.0, 6_000), None, "that is the present");
        // Playback continues from the moment to which it is moved.
        let sought = playing.sought(1_000, 6_000.0, 11_000);
        assert_eq!(sought, Playback::Playing { at_millis: 1_000, since: 6_000.0, speed: 2.0 });
        assert_eq!(playing.sought(11_000, 6_000.0, 11_000), Playback::Live);
    }

    #[test]
    fn steps_go_to_changes() {
        let changes = || [1_000, 2_000, 2_000, 5_000].into_iter();
        assert_eq!(step(changes(), 2_000, true), Some(5_000));
        assert_eq!(step(changes(), 2_000, false), Some(1_000));
        assert_eq!(step(changes(), 5_000, true), None);
    }
}
