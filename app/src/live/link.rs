//! The connection to the server: when to connect, when to give up a silent connection, when to retry. A pure state machine; the clock (the
//! browser's milliseconds) and a random number (0 to 1) are arguments, and the action is returned.
//!
//! ```text
//!                             heard
//!                        ┌───────────────┐
//!                        ▼               │
//!   Connecting ──opened──► Live ──9 s──► Silent ──45 s, or awake──► Lost (another connection; after a sleep at once)
//!       │  ▲               │ │             │                         │
//!       │  └──open again───┘ │             │                         │
//!       │ closed             │ closed      │ closed                  │
//!       └──────────────► Waiting{retry at} ◄────────── closed ───────┘
//!                           └── time is up, or the network is back ──► Lost
//! ```

use timeline::wire::HEARTBEAT_SECONDS;

/// Longest wait before a retry, in milliseconds.
const MAX_WAIT_MILLIS: f64 = 10_000.0;
const FIRST_WAIT_MILLIS: f64 = 500.0;
/// After this long without a frame the page reports that the server does not respond: two heartbeats and a bit.
const SILENCE_MILLIS: f64 = (HEARTBEAT_SECONDS * 2 + 1) as f64 * 1000.0;
/// After this long without a frame a connection is given up. Not sooner: over a slow line one large frame may take long.
const GIVE_UP_MILLIS: f64 = 45_000.0;
/// Timeout of a connection attempt.
const CONNECT_MILLIS: f64 = 10_000.0;
/// A connection that lasts this long resets the number of failed attempts.
/// A first frame does not: a server without capacity for a stream sends hello, too.
const SETTLED_MILLIS: f64 = MAX_WAIT_MILLIS;

/// State of the connection between page and server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkState {
    /// Connecting for the first time, or because the server requested another connection. Not a loss.
    Connecting {
        /// Number of earlier attempts.
        attempt: u32,
        /// When this attempt was first checked; `None` before.
        tried_millis: Option<f64>,
    },
    /// Frames arrive.
    Live(OpenSocket),
    /// The connection is open, but no frame arrives. It may recover.
    Silent(OpenSocket),
    /// The connection is lost, and another one is being opened.
    Lost {
        /// Number of earlier attempts.
        attempt: u32,
        /// When this attempt began.
        tried_millis: f64,
    },
    /// Waiting before the next attempt.
    Waiting {
        /// Number of attempts so far.
        attempt: u32,
        /// When the next attempt begins.
        retry_millis: f64,
    },
}

/// Before the first connection attempt.
impl Default for LinkState {
    fn default() -> Self {
        Self::Connecting { attempt: 0, tried_millis: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenSocket {
    /// Number of attempts before this connection.
    attempt: u32,
    /// When it opened.
    opened_millis: f64,
    /// When the last frame arrived.
    heard_millis: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    Opened,
    /// A frame arrived.
    Heard,
    /// The socket closed, or could not be opened.
    Closed,
    /// The socket closed, and the server requests another one at once.
    OpenAgain,
    /// Time passed.
    Tick,
    /// The browser reports that the network is back, or the page is visible again.
    WokeUp,
    /// The computer was suspended.
    Slept,
}

/// Action that the caller must take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEffect {
    None,
    /// Send hello and subscribe.
    Greet,
    /// Close the socket, if any, and open another.
    Connect,
}

impl LinkState {
    /// Returns whether a socket is open and frames arrive.
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Live(_) | Self::Silent(_))
    }

    /// Returns when a silent server sent its last frame.
    pub const fn silent_since(&self) -> Option<f64> {
        if let Self::Silent(socket) = self { Some(socket.heard_millis) } else { None }
    }

    /// Returns the seconds until the next attempt, rounded up; `None` if none is scheduled.
    pub fn retry_seconds(&self, now: f64) -> Option<u32> {
        let Self::Waiting { retry_millis, .. } = self else { return None };
        Some(((retry_millis - now) / 1_000.0).ceil().max(0.0) as u32).filter(|seconds| *seconds > 0)
    }

    /// Returns the number of consecutive attempts without a lasting connection.
    const fn attempts(&self, now: f64) -> u32 {
        match self {
            Self::Live(socket) | Self::Silent(socket) if now - socket.opened_millis > SETTLED_MILLIS => 0,
            Self::Live(OpenSocket { attempt, .. })
            | Self::Silent(OpenSocket { attempt, .. })
            | Self::Connecting { attempt, .. }
            | Self::Lost { attempt, .. }
            | Self::Waiting { attempt, .. } => *attempt,
        }
    }

    /// Returns whether the connection is lost or silent. Before the first connection it is not: the rendered data is fresh.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Silent(_) | Self::Lost { .. } | Self::Waiting { .. })
    }
}

/// Computes the next state and the action for an event.
#[must_use]
pub fn step(state: LinkState, event: LinkEvent, now: f64, chance: f64) -> (LinkState, LinkEffect) {
    use LinkState::{Connecting, Live, Lost, Silent, Waiting};
    match (state, event) {
        (_, LinkEvent::Opened) => {
            let attempt = state.attempts(now);
            (Live(OpenSocket { attempt, opened_millis: now, heard_millis: now }), LinkEffect::Greet)
        }
        (Live(socket) | Silent(socket), LinkEvent::Heard) => {
            (Live(OpenSocket { heard_millis: now, ..socket }), LinkEffect::None)
        }
        (Live(socket) | Silent(socket), LinkEvent::Tick) if now - socket.heard_millis > GIVE_UP_MILLIS => {
            (Lost { attempt: 0, tried_millis: now }, LinkEffect::Connect)
        }
        // The network may have changed.
        (Live(socket) | Silent(socket), LinkEvent::WokeUp) if now - socket.heard_millis > SILENCE_MILLIS => {
            (Lost { attempt: 0, tried_millis: now }, LinkEffect::Connect)
        }
        // The timers may have stopped while suspended, and frames may be lost.
        (Live(_) | Silent(_), LinkEvent::Slept) => (Lost { attempt: 0, tried_millis: now }, LinkEffect::Connect),
        (Live(socket), LinkEvent::Tick) if now - socket.heard_millis > SILENCE_MILLIS => {
            (Silent(socket), LinkEffect::None)
        }
        (Connecting { attempt, tried_millis: None }, LinkEvent::Tick) => {
            (Connecting { attempt, tried_millis: Some(now) }, LinkEffect::None)
        }
        (
            Connecting { attempt, tried_millis: Some(tried_millis) } | Lost { attempt, tried_millis },
            LinkEvent::Tick,
        ) if now - tried_millis > CONNECT_MILLIS => wait_for_retry(attempt, now, chance),
        // Not a loss, like the first connection. A server that requests it again soon after counts as failing.
        (Live(socket), LinkEvent::OpenAgain) if now - socket.opened_millis > SETTLED_MILLIS => {
            (Connecting { attempt: 0, tried_millis: Some(now) }, LinkEffect::Connect)
        }
        (Connecting { .. } | Live(_) | Silent(_) | Lost { .. }, LinkEvent::Closed | LinkEvent::OpenAgain) => {
            wait_for_retry(state.attempts(now), now, chance)
        }
        (Waiting { attempt, retry_millis }, LinkEvent::Tick) if now >= retry_millis => {
            (Lost { attempt, tried_millis: now }, LinkEffect::Connect)
        }
        (Waiting { attempt, .. }, LinkEvent::WokeUp | LinkEvent::Slept) => {
            (Lost { attempt, tried_millis: now }, LinkEffect::Connect)
        }
        (state, _) => (state, LinkEffect::None),
    }
}

/// Waits a random time below a limit that doubles (full jitter). The server waits alike for a cluster (`server/src/kube/backoff.rs`). Only
/// one line of arithmetic is the same, with other units and another minimum: a server may retry at once, the pages of one server must not.
fn wait_for_retry(attempt: u32, now: f64, chance: f64) -> (LinkState, LinkEffect) {
    let limit = (FIRST_WAIT_MILLIS * f64::from(1u32 << attempt.min(10))).min(MAX_WAIT_MILLIS);
    (LinkState::Waiting { attempt: attempt + 1, retry_millis: now + limit * chance.clamp(0.05, 1.0) }, LinkEffect::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a connection that is open since time 0.
    fn live(heard_millis: f64) -> LinkState {
        LinkState::Live(OpenSocket { attempt: 0, opened_millis: 0.0, heard_millis })
    }

    /// Applies these events and the wait after them, six times; returns the state, and the time.
    fn wait_again(mut state: LinkState, events: &[LinkEvent]) -> (LinkState, f64) {
        let (mut now, mut waits) = (0.0, Vec::new());
        for _ in 0..6 {
            for event in events {
                state = step(state, *event, now, 1.0).0;
            }
            let LinkState::Waiting { retry_millis, .. } = state else { panic!("{state:?}") };
            waits.push(retry_millis - now);
            now = retry_millis;
            let (next, effect) = step(state, LinkEvent::Tick, now, 1.0);
            assert_eq!(effect, LinkEffect::Connect);
            state = next;
        }
        assert_eq!(waits, [500.0, 1000.0, 2000.0, 4000.0, 8000.0, 10_000.0]);
        (state, now)
    }

    #[test]
    fn a_broken_link_waits_longer_each_time_and_recovers() {
        let (state, mut now) = wait_again(live(0.0), &[LinkEvent::Closed]);
        let (opened, effect) = step(state, LinkEvent::Opened, now, 1.0);
        assert!(opened.is_live() && effect == LinkEffect::Greet, "{opened:?}");
        now += SETTLED_MILLIS + 1.0;
        let (lost, _) = step(opened, LinkEvent::Closed, now, 1.0);
        assert_eq!(lost, LinkState::Waiting { attempt: 1, retry_millis: now + FIRST_WAIT_MILLIS }, "it lasted");
    }

    #[test]
    fn connections_that_close_soon_after_a_first_frame_are_tried_less_and_less_often() {
        wait_again(LinkState::default(), &[LinkEvent::Opened, LinkEvent::Heard, LinkEvent::Closed]);
    }

    #[test]
    fn a_connection_that_the_server_wants_to_be_made_again_is_not_lost_unless_it_fails() {
        let again = |state| step(state, LinkEvent::OpenAgain, 20_000.0, 1.0);
        let (opening, effect) = again(live(19_000.0));
        assert_eq!(opening, LinkState::Connecting { attempt: 0, tried_millis: Some(20_000.0) });
        assert!(!opening.is_lost() && effect == LinkEffect::Connect);
        for event in [LinkEvent::Closed, LinkEvent::Tick] {
            let failed = step(opening, event, 30_001.0, 1.0).0;
            assert_eq!(failed, LinkState::Waiting { attempt: 1, retry_millis: 30_501.0 }, "{event:?}");
        }
        // A connection that was short or silent is lost like any other.
        let short = LinkState::Live(OpenSocket { attempt: 0, opened_millis: 15_000.0, heard_millis: 19_000.0 });
        let silent = step(live(0.0), LinkEvent::Tick, 20_000.0, 1.0).0;
        for state in [short, silent] {
            assert_eq!(again(state).0, LinkState::Waiting { attempt: 1, retry_millis: 20_500.0 }, "{state:?}");
        }
    }

    #[test]
    fn a_silent_server_is_told_within_ten_seconds_and_its_connection_given_up_later() {
        let well = live(0.0);
        assert_eq!(step(well, LinkEvent::Tick, 9_000.0, 0.5), (well, LinkEffect::None));
        let (silent, effect) = step(well, LinkEvent::Tick, 9_250.0, 0.5);
        assert!(silent.is_lost() && silent.is_open() && effect == LinkEffect::None, "{silent:?}");
        assert_eq!(silent.silent_since(), Some(0.0), "since its last word");
        let heard = step(silent, LinkEvent::Heard, 20_000.0, 0.5);
        assert_eq!(heard, (live(20_000.0), LinkEffect::None), "a slow frame has come");
        assert_eq!(step(silent, LinkEvent::Tick, 44_000.0, 0.5), (silent, LinkEffect::None));
        assert_eq!(step(silent, LinkEvent::Tick, 46_000.0, 0.5).1, LinkEffect::Connect);
        for state in [well, silent] {
            assert_eq!(step(state, LinkEvent::WokeUp, 10_000.0, 0.5).1, LinkEffect::Connect, "the network is back");
        }
    }

    #[test]
    fn seconds_are_counted_down_to_the_next_try() {
        let waiting = LinkState::Waiting { attempt: 5, retry_millis: 9_000.0 };
        assert_eq!([1.0, 6_000.0, 6_001.0, 8_999.0].map(|now| waiting.retry_seconds(now)), [9, 3, 3, 1].map(Some));
        assert_eq!(waiting.retry_seconds(9_000.0), None, "it begins");
        assert_eq!(LinkState::Lost { attempt: 1, tried_millis: 0.0 }.retry_seconds(0.0), None);
    }

    #[test]
    fn waking_up_does_not_wait() {
        let waiting = LinkState::Waiting { attempt: 5, retry_millis: 9_000.0 };
        for event in [LinkEvent::WokeUp, LinkEvent::Slept] {
            assert_eq!(
                step(waiting, event, 1.0, 0.5),
                (LinkState::Lost { attempt: 5, tried_millis: 1.0 }, LinkEffect::Connect)
            );
        }
    }

    #[test]
    fn after_a_sleep_a_connection_that_was_just_heard_is_made_anew() {
        let lost = (LinkState::Lost { attempt: 0, tried_millis: 1_000.0 }, LinkEffect::Connect);
        assert_eq!(step(live(1_000.0), LinkEvent::Slept, 1_000.0, 0.5), lost);
        let looked_at_again = step(live(1_000.0), LinkEvent::WokeUp, 1_000.0, 0.5);
        assert_eq!(looked_at_again, (live(1_000.0), LinkEffect::None), "nobody slept");
    }

    #[test]
    fn a_first_connection_that_is_swallowed_is_given_up() {
        let mut state = LinkState::default();
        for now in [0.0, 9_000.0] {
            state = step(state, LinkEvent::Tick, now, 1.0).0;
            assert!(matches!(state, LinkState::Connecting { .. }), "{state:?}");
        }
        state = step(state, LinkEvent::Tick, 10_500.0, 1.0).0;
        assert!(matches!(state, LinkState::Waiting { attempt: 1, .. }), "{state:?}");
    }
}
