//! The follower: a copy of one Deployment's timeline and of what is said of it, kept by frames. Pure.

use std::time::Instant;

use timeline::frame::{Connection, ConnectionState, Said, ServerFrame};
use timeline::model::Deployment;
use timeline::{Millis, Model, Uid};

use super::feed::Heard;

/// What is known of one Deployment.
#[derive(Default)]
pub(super) struct Follower {
    /// Its timeline.
    pub model: Model,
    /// The Deployment; `None` when there is none of that name.
    pub deployment: Option<Uid>,
    /// What is said of it.
    pub said: Said,
    /// How its source gets on with the cluster; `None` before the first word.
    pub connection: Option<Connection>,
    /// Why there is no connection to the server.
    pub lost: Option<String>,
    /// Whether a snapshot came.
    pub has_snapshot: bool,
    seq: u64,
    clock: Option<(Millis, Instant)>,
}

impl Follower {
    /// Takes what a feed delivers. `false`: frames are missing, and only a new feed can help.
    pub(super) fn hear(&mut self, heard: Heard, arrived: Instant) -> bool {
        let frame = match heard {
            Heard::Frame(frame) => *frame,
            Heard::Lost(why) => {
                self.lost = Some(why);
                return true;
            }
        };
        self.lost = None;
        match frame {
            ServerFrame::Snapshot(snapshot) => {
                self.clock = Some((snapshot.now_millis, arrived));
                self.has_snapshot = true;
                self.seq = snapshot.seq;
                self.deployment = snapshot.deployment;
                self.model = snapshot.model;
                self.said = snapshot.said;
            }
            ServerFrame::Delta(delta) => {
                if delta.from > self.seq {
                    return false;
                }
                self.clock = Some((delta.now_millis, arrived));
                self.seq = delta.to.max(self.seq);
                delta.changes.iter().for_each(|change| self.model.apply_change(change));
                if let Some(news) = delta.news {
                    self.said.hear(news);
                }
            }
            ServerFrame::Connection { connection, .. } => self.connection = Some(connection),
            ServerFrame::Heartbeat { now_millis } => self.clock = Some((now_millis, arrived)),
            ServerFrame::Hello { .. } | ServerFrame::List(_) | ServerFrame::Moment(_) => {}
        }
        true
    }

    /// The Deployment's part of the timeline.
    pub(super) fn deployment(&self) -> Option<&Deployment> {
        self.model.deployments.get(&self.deployment?)
    }

    /// The server's clock, as far as it was told.
    pub(super) fn now_millis(&self, at: Instant) -> Millis {
        let Some((millis, arrived)) = self.clock else {
            return crate::clock::now_millis();
        };
        if !self.is_ticking() {
            return millis;
        }
        let percent = self.connection.as_ref().map_or(100, |connection| connection.speed_percent);
        let passed = at.saturating_duration_since(arrived).as_millis() * u128::from(percent) / 100;
        millis + Millis::try_from(passed).unwrap_or(0)
    }

    /// The cluster was listed: what is not there does not exist.
    pub(super) fn is_listed(&self) -> bool {
        let state = self.connection.as_ref().map(|connection| &connection.state);
        self.has_snapshot && state.is_some_and(|state| *state != ConnectionState::Connecting)
    }

    /// Time passes: the cluster is not silent.
    fn is_ticking(&self) -> bool {
        let state = self.connection.as_ref().map(|connection| &connection.state);
        !matches!(state, Some(ConnectionState::Stale { .. }))
    }

    /// The connection in words: "Live", "No word since 14:02:05: …".
    pub(super) fn connection_words(&self) -> String {
        if let Some(why) = &self.lost {
            return super::plain(&format!("No connection to the server: {why}. Trying again."));
        }
        let Some(connection) = &self.connection else {
            return "Connecting".to_owned();
        };
        let mut words = match &connection.state {
            ConnectionState::Connecting => "Connecting".to_owned(),
            ConnectionState::Live => "Live".to_owned(),
            ConnectionState::Stale { since_millis, why, .. } => {
                format!("No word from the cluster since {}: {why}", super::clock(*since_millis))
            }
            ConnectionState::Replay { name } if connection.speed_percent == 0 => format!("Recording {name}, held"),
            ConnectionState::Replay { name } => format!("Recording {name}"),
        };
        for forbidden in &connection.forbidden {
            words.push_str(&format!(" · may not {} {}", forbidden.verb, forbidden.resource));
        }
        super::plain(&words)
    }
}
