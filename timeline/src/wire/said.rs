//! The sentences of a Deployment, now and at another time, and the difference that viewers receive.

use serde::{Deserialize, Serialize};

use crate::say::story::Line;
use crate::view::View;
use crate::{Millis, Uid};

/// The sentences of a Deployment, made where the cluster's time is known, once for all viewers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The verdict and the figures; `None` when there is no such Deployment.
    pub view: Option<View>,
    /// The story, oldest first.
    pub story: Vec<Line>,
    /// Version of both; a viewer that returns names it.
    pub version: SaidVersion,
}

/// Version of sentences: equal ones have the same, also after a restart. 0 where nobody asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidVersion {
    /// Hash of the verdict and the figures.
    pub view: u32,
    /// Hash of the story.
    pub story: u32,
    /// Number of its lines.
    pub lines: u32,
}

impl Said {
    /// Returns these sentences with their version: a viewer may come back with them.
    #[must_use]
    pub fn with_version(self) -> Self {
        let lines = self.story.len() as u32;
        let version = SaidVersion { view: hash(&self.view), story: hash(&self.story), lines };
        Self { version, ..self }
    }

    /// Takes what is said anew.
    pub fn take(&mut self, delta: SaidDelta) {
        self.version = delta.version;
        if let Some(view) = delta.view {
            self.view = Some(*view);
        }
        if let Some((first, last, lines)) = delta.story {
            let end = self.story.split_off(self.story.len().saturating_sub(last as usize));
            self.story.truncate(first as usize);
            self.story.extend(lines);
            self.story.extend(end);
        }
    }

    /// Replaces the view by that of a later time, if nothing happened in between; returns the difference, `None` when there is none.
    pub fn take_view(&mut self, view: Option<View>) -> Option<SaidDelta> {
        if self.view == view {
            return None;
        }
        self.version.view = hash(&view);
        self.view = view;
        self.delta(true, (self.story.len(), 0), self.story.len())
    }

    /// Computes the difference to `before`; `None` when there is none.
    pub fn delta_since(&self, before: &Self) -> Option<SaidDelta> {
        let is_same = |(new, old): &(&Line, &Line)| new == old;
        let first = self.story.iter().zip(&before.story).take_while(is_same).count();
        // A line in the middle may be told anew: a pod restarted again.
        let new_end = self.story.iter().skip(first).rev();
        let last = new_end.zip(before.story.iter().skip(first).rev()).take_while(is_same).count();
        self.delta(self.view != before.view, (first, last), before.story.len())
    }

    /// Computes the difference to sentences of which only the version is known; `None` when there is none.
    pub fn delta_since_version(&self, before: SaidVersion) -> Option<SaidDelta> {
        let lines = before.lines as usize;
        let kept = self.story.get(..lines).filter(|kept| hash(kept) == before.story).map_or(0, <[Line]>::len);
        self.delta(self.version.view != before.view, (kept, 0), lines)
    }

    /// Returns the difference to sentences with so many lines, of which so many at the beginning and at the end stay.
    fn delta(&self, is_view_new: bool, (first, last): (usize, usize), lines: usize) -> Option<SaidDelta> {
        let view = self.view.clone().filter(|_| is_view_new).map(Box::new);
        let is_same = first == self.story.len() && first == lines;
        let end = self.story.len().saturating_sub(last);
        let between = || self.story.get(first..end).unwrap_or_default().to_vec();
        let story = (!is_same).then(|| (first as u32, last as u32, between()));
        (view.is_some() || story.is_some()).then_some(SaidDelta { view, story, version: self.version })
    }
}

/// Returns the FNV-1a hash of the encoding: the same after a restart.
fn hash(sentences: &(impl Serialize + ?Sized)) -> u32 {
    let bytes = super::encode(sentences).unwrap_or_default();
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The difference of two versions of [`Said`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaidDelta {
    /// The verdict and the figures, when they changed.
    pub view: Option<Box<View>>,
    /// Numbers of lines that stay at the beginning and at the end of the story, and the lines between them.
    pub story: Option<(u32, u32, Vec<Line>)>,
    /// Version of the sentences afterwards.
    pub version: SaidVersion,
}

/// Answer to [`super::ViewerFrame::Moment`]: what was said at a time of the past, and what starts do not tell of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The time that was asked about, in milliseconds.
    pub at_millis: Millis,
    /// The sentences of then; `None` when they are not kept any more.
    pub said: Option<Said>,
    /// Why pods were in their states then, by UID, where there was a reason that is kept.
    pub reasons: Vec<(Uid, String)>,
}
