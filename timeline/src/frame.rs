//! Frames: what a viewer and the server say to each other over one websocket. Encoded with postcard.
//!
//! ```text
//!  viewer                                server
//!    Hello{protocol, build} ──────────────►
//!    Subscribe{scope, since} ─────────────►
//!    ◄──────────────────────────────────── Hello{protocol, build}
//!    ◄──────────────────────────────────── Snapshot{epoch, seq, …}      or Delta straight away when `since` still fits
//!    ◄──────────────────────────────────── Delta{from, to, changes} …   a gap: Subscribe again without `since`
//!    ◄──────────────────────────────────── List{…} …                    of a list: what changed in the lines in view
//!    ◄──────────────────────────────────── Heartbeat every 20 s, Connection whenever it changes
//! ```
//! A Connection comes after everything that was known when it became so: who hears that a cluster is live has heard what it
//! holds.

use serde::{Deserialize, Serialize};

use crate::list::{self, Query, Window};
use crate::story::Line;
use crate::view::View;
use crate::{Change, Millis, Model, Uid};

/// Version of the frames. Another version cannot be read.
pub const PROTOCOL: u16 = 10;

/// Largest frame that a viewer may send, in bytes.
pub const MAX_VIEWER_FRAME: usize = 4096;

/// Seconds between two heartbeats of the server. Twice this without a frame means that the connection is dead.
pub const HEARTBEAT_SECONDS: u32 = 20;

/// From the viewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewerFrame {
    /// The first frame.
    Hello {
        /// [`PROTOCOL`] of the viewer.
        protocol: u16,
        /// Build of its page.
        build: String,
    },
    /// What to follow; replaces an earlier subscription.
    Subscribe {
        /// What to follow.
        scope: Scope,
        /// Where the viewer's copy stands, if it has one.
        since: Option<Position>,
    },
    /// What was said at another time of the Deployment that is followed.
    Moment {
        /// The time.
        at_millis: Millis,
    },
}

/// A place in the sequence of changes of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Which life of the server's timeline.
    pub epoch: u64,
    /// Number of the last change in the copy.
    pub seq: u64,
}

/// What a viewer follows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Nothing now.
    Nothing,
    /// Some lines of a list of Deployments.
    List {
        /// Which Deployments.
        query: Query,
        /// Which lines.
        window: Window,
    },
    /// One Deployment.
    Deployment {
        /// Name of the cluster.
        cluster: String,
        /// Namespace.
        namespace: String,
        /// Name of the Deployment.
        name: String,
        /// Which one of that name; `None` for the one that bears it now, or bore it last.
        uid: Option<Uid>,
    },
}

/// From the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ServerFrame {
    /// The first frame.
    Hello {
        /// [`PROTOCOL`] of the server.
        protocol: u16,
        /// Build of the page that it serves.
        build: String,
    },
    /// Everything the viewer follows, anew.
    Snapshot(Box<Snapshot>),
    /// What happened since.
    Delta(Delta),
    /// What changed in the lines that the viewer follows.
    List(Box<list::News>),
    /// How the server gets on with a cluster.
    Connection {
        /// Name of the cluster.
        cluster: String,
        /// How it gets on.
        connection: Connection,
    },
    /// What was said at another time.
    Moment(Box<Moment>),
    /// Nothing to say, still here.
    Heartbeat {
        /// The server's clock.
        now_millis: Millis,
    },
}

/// One Deployment with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Which life of the server's timeline.
    pub epoch: u64,
    /// Number of the last change in it.
    pub seq: u64,
    /// The server's clock.
    pub now_millis: Millis,
    /// The Deployment; `None` when there is none of that name.
    pub deployment: Option<Uid>,
    /// Since when the server looks for it.
    pub looking_since_millis: Millis,
    /// The Deployment, its ReplicaSets and their Pods.
    pub model: Model,
    /// What is said of it.
    pub said: Said,
}

/// What the server says of a Deployment: said where the cluster's time is known, once for all viewers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The verdict and the figures; `None` when there is no such Deployment.
    pub view: Option<View>,
    /// The story, oldest first.
    pub story: Vec<Line>,
}

impl Said {
    /// Takes what is said anew.
    pub fn hear(&mut self, news: News) {
        if let Some(view) = news.view {
            self.view = Some(*view);
        }
        if let Some((kept, lines)) = news.story {
            self.story.truncate(kept as usize);
            self.story.extend(lines);
        }
    }

    /// What a viewer who knows `before` must hear; `None` when it is the same.
    #[must_use]
    pub fn news_since(&self, before: &Self) -> Option<News> {
        let kept = self.story.iter().zip(&before.story).take_while(|(new, old)| new == old).count();
        let is_same = kept == self.story.len() && kept == before.story.len();
        let news = News {
            view: self.view.clone().filter(|_| self.view != before.view).map(Box::new),
            story: (!is_same).then(|| (kept as u32, self.story.get(kept..).unwrap_or_default().to_vec())),
        };
        (news != News::default()).then_some(news)
    }
}

/// What was said at some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The time.
    pub at_millis: Millis,
    /// What was said; `None` when it is not kept any more.
    pub said: Option<Said>,
}

/// What is said anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct News {
    /// The verdict and the figures.
    pub view: Option<Box<View>>,
    /// How many lines of the story stay, and the ones that follow them.
    pub story: Option<(u32, Vec<Line>)>,
}

/// Changes of one scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// The copy must stand here.
    pub from: u64,
    /// And stands here afterwards.
    pub to: u64,
    /// The server's clock.
    pub now_millis: Millis,
    /// What changed, in order.
    pub changes: Vec<Change>,
    /// What is said anew.
    pub news: Option<News>,
}

/// How the server gets on with a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Overall.
    pub state: ConnectionState,
    /// The cluster's time against ours, in percent: 100 unless it is recorded or simulated, 0 while it stands still.
    pub speed_percent: u32,
    /// What the server may not read; the rest goes on.
    pub forbidden: Vec<Forbidden>,
}

impl Default for Connection {
    fn default() -> Self {
        Self { state: ConnectionState::default(), speed_percent: 100, forbidden: Vec::new() }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// The first lists are being fetched.
    #[default]
    Connecting,
    /// Everything is watched.
    Live,
    /// No word since then.
    Stale {
        /// The last word from the cluster.
        since_millis: Millis,
        /// The next try.
        retry_at_millis: Option<Millis>,
        /// What went wrong, in a sentence.
        why: String,
    },
    /// A recording is played.
    Replay {
        /// Name of the recording.
        name: String,
    },
    /// The server watches no cluster of that name.
    Unknown,
}

impl ConnectionState {
    /// What is told of the cluster is how it is now.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live | Self::Replay { .. })
    }

    /// What is told of the cluster is from earlier, and its time stands still.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Unknown)
    }
}

/// A permission that is missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forbidden {
    /// "list" or "watch".
    pub verb: String,
    /// The resource with its group: "replicasets.apps".
    pub resource: String,
    /// The namespace, or every namespace.
    pub namespace: Option<String>,
}

/// A frame that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("this frame cannot be read: {0}")]
pub struct Unreadable(#[from] postcard::Error);

/// Encodes a frame of either side.
///
/// # Errors
/// When postcard cannot encode it; the frames here always can.
pub fn encode<T: Serialize>(frame: &T) -> Result<Vec<u8>, Unreadable> {
    Ok(postcard::to_stdvec(frame)?)
}

/// Decodes anything that [`encode`] encoded.
///
/// # Errors
/// When the bytes are something else.
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    Ok(postcard::from_bytes(bytes)?)
}

/// Decodes a frame of the server.
///
/// # Errors
/// When the bytes are not one.
pub fn decode_server(bytes: &[u8]) -> Result<ServerFrame, Unreadable> {
    let mut frame = postcard::from_bytes(bytes)?;
    if let ServerFrame::Snapshot(snapshot) = &mut frame {
        snapshot.model.index();
    }
    Ok(frame)
}

/// Decodes a frame of a viewer.
///
/// # Errors
/// When the bytes are not one.
pub fn decode_viewer(bytes: &[u8]) -> Result<ViewerFrame, Unreadable> {
    Ok(postcard::from_bytes(bytes)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

    use super::*;

    #[test]
    fn every_frame_is_read_as_it_was_written() {
        let snapshot = Snapshot {
            epoch: 7,
            seq: 7,
            now_millis: 7,
            deployment: None,
            looking_since_millis: 7,
            model: Model::default(),
            said: Said::default(),
        };
        let delta = Delta { from: 1, to: 2, now_millis: 3, changes: Vec::new(), news: None };
        let connection = Connection::default();
        let frames = [
            ServerFrame::Hello { protocol: PROTOCOL, build: "b".into() },
            ServerFrame::List(Box::default()),
            ServerFrame::Heartbeat { now_millis: 9 },
            ServerFrame::Snapshot(Box::new(snapshot)),
            ServerFrame::Delta(delta),
            ServerFrame::Connection { cluster: "c".into(), connection },
            ServerFrame::Moment(Box::new(Moment { at_millis: 1, said: None })),
        ];
        for frame in frames {
            assert_eq!(decode_server(&encode(&frame).unwrap()).unwrap(), frame);
        }
        assert!(decode_server(&[200]).is_err());
    }
}
