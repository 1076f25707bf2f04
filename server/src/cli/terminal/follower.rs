//! A copy of one Deployment's timeline and sentences, updated by frames. Pure.

use std::time::{Duration, Instant};

use timeline::Millis;
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{Connection, ConnectionState, Forbidden, ServerFrame};

use super::feed::FeedEvent;

/// Time for which a connection must be live before its data counts as final: a server may receive a change this much later than its
/// author, and a resumed watch delivers missed events within this time.
pub(super) const MAY_LAG: Duration = Duration::from_secs(1);

/// Copy of one Deployment.
#[derive(Default)]
pub(super) struct Follower {
    /// The Deployment and its sentences.
    pub copy: DeploymentCopy,
    /// Connection state of the source; `None` before the first frame.
    pub connection: Option<Connection>,
    /// Why there is no connection to the server.
    pub lost: Option<String>,
    /// Whether the data was received over the current connection.
    is_current: bool,
    /// Whether the first data may be older than the caller's last change.
    may_lag: bool,
    /// Time since which the data is live.
    live_since: Option<Instant>,
    clock: Option<(Millis, Instant)>,
}

impl Follower {
    /// Creates a follower of a server, whose data may lag, or of a cluster that is watched here.
    pub(super) fn new(remote: bool) -> Self {
        Self { may_lag: remote, ..Self::default() }
    }

    /// Applies an event of a feed. Returns `false` if frames are missing: only a new feed can help.
    pub(super) fn handle(&mut self, heard: FeedEvent, arrived: Instant) -> bool {
        let fits = match heard {
            FeedEvent::Frame(frame) => {
                self.lost = None;
                self.frame(*frame, arrived)
            }
            FeedEvent::Lost(why) => {
                self.reset();
                self.lost = Some(why);
                true
            }
        };
        if !fits {
            self.reset();
        }
        match (self.is_live(), self.live_since) {
            (true, None) => self.live_since = Some(arrived),
            (false, Some(_)) => (self.live_since, self.may_lag) = (None, true),
            _ => {}
        }
        fits
    }

    fn frame(&mut self, frame: ServerFrame, arrived: Instant) -> bool {
        match frame {
            ServerFrame::Snapshot(snapshot) => {
                self.clock = Some((snapshot.now_millis, arrived));
                self.is_current = true;
                if self.copy.take_snapshot(*snapshot) {
                    self.live_since = None; // the server restarted: its knowledge begins now
                }
            }
            ServerFrame::Delta(delta) => {
                let now_millis = delta.now_millis;
                if self.copy.take_delta(delta) != Taken::Fits {
                    return false;
                }
                self.clock = Some((now_millis, arrived));
            }
            ServerFrame::Connection { connection, .. } => self.connection = Some(connection),
            ServerFrame::Heartbeat { now_millis } => self.clock = Some((now_millis, arrived)),
            ServerFrame::Hello { .. } | ServerFrame::List(_) | ServerFrame::Moment(_) => {}
        }
        true
    }

    /// Marks the data as that of an earlier connection.
    fn reset(&mut self) {
        (self.connection, self.is_current) = (None, false);
    }

    /// Returns the time of the cluster by the last frame.
    pub(super) fn now_millis(&self, at: Instant) -> Millis {
        let Some((millis, arrived)) = self.clock else {
            return crate::telemetry::clock::now_millis();
        };
        if self.state().is_some_and(ConnectionState::is_stale) {
            return millis; // the time of a silent cluster stands still
        }
        let percent = self.connection.as_ref().map_or(100, |connection| connection.speed_percent);
        let passed = at.saturating_duration_since(arrived).as_millis() * u128::from(percent) / 100;
        millis + Millis::try_from(passed).unwrap_or(0)
    }

    /// Returns whether the data is live, so that a missing object does not exist.
    pub(super) fn is_live(&self) -> bool {
        self.is_current && self.lost.is_none() && self.state().is_some_and(ConnectionState::is_live)
    }

    /// Returns whether the first lists are not complete.
    pub(super) fn is_connecting(&self) -> bool {
        self.lost.is_none() && matches!(self.state(), None | Some(ConnectionState::Connecting))
    }

    /// Returns the time from which live data is final; `None` while it is not live.
    pub(super) fn settled_at(&self) -> Option<Instant> {
        let lag = if self.may_lag { MAY_LAG } else { Duration::ZERO };
        self.live_since.map(|since| since + lag)
    }

    fn state(&self) -> Option<&ConnectionState> {
        self.connection.as_ref().map(|connection| &connection.state)
    }

    /// Returns a sentence about missing permissions in a namespace; empty without any.
    pub(super) fn unread_words(&self, namespace: &str) -> String {
        let is_there = |missing: &&Forbidden| missing.namespace.as_ref().is_none_or(|only| only == namespace);
        let missing = self.connection.iter().flat_map(|connection| &connection.forbidden).filter(is_there);
        let missing = missing.map(|missing| format!("{} {}", missing.verb, missing.resource));
        let missing = missing.collect::<Vec<_>>().join(", ");
        if missing.is_empty() {
            missing
        } else {
            super::plain(&format!(" Rollcast has no permission to {missing} there."))
        }
    }

    /// Describes the connection: "Live", "No data from the cluster since 14:02:05 UTC: …".
    pub(super) fn connection_words(&self) -> String {
        if let Some(why) = &self.lost {
            return super::plain(&format!("No connection to the server: {why}. Trying again."));
        }
        let Some(connection) = &self.connection else {
            return "Connecting".to_owned();
        };
        let mut words = match &connection.state {
            ConnectionState::Connecting => match &connection.listing {
                Some(listing) => format!("Connecting, {}", listing.words()),
                None => "Connecting".to_owned(),
            },
            ConnectionState::Live => "Live".to_owned(),
            ConnectionState::Stale { since_millis, why, .. } => {
                let since = super::moment(*since_millis, self.now_millis(Instant::now()));
                format!("No data from the cluster since {since} UTC: {why}")
            }
            ConnectionState::Replay { name } if connection.speed_percent == 0 => format!("Recording {name} (paused)"),
            ConnectionState::Replay { name } => format!("Recording {name}"),
            ConnectionState::Unknown => "The server does not watch a cluster with this name".to_owned(),
            ConnectionState::OtherNamespaces => "The server does not watch this namespace".to_owned(),
        };
        for forbidden in &connection.forbidden {
            words.push_str(&format!(" · no permission to {} {}", forbidden.verb, forbidden.resource));
        }
        super::plain(&words)
    }
}
