//! The sentences of a Deployment, now and at a moment, and the differences that viewers receive.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::say::story::Line;
use crate::view::View;

/// The sentences of a Deployment, created by the owner of the cluster's time, once for all viewers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The verdict and the figures; `None` if there is no such Deployment.
    pub view: Option<View>,
    /// The story, oldest first.
    pub story: Vec<Line>,
    /// Version of both; a viewer that reconnects sends it.
    pub version: SaidVersion,
}

/// Version of sentences: equal ones have the same version, also after a restart. 0 if it is not needed.
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
    /// Sets the version: a viewer may reconnect with these sentences.
    #[must_use]
    pub fn with_version(self) -> Self {
        let lines = self.story.len() as u32;
        let version = SaidVersion { view: hash(&self.view), story: hash(&self.story), lines };
        Self { version, ..self }
    }

    /// Applies a difference.
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

    /// Replaces the view by that of a later time, if nothing happened in between; returns the difference, `None` if they are equal.
    pub fn take_view(&mut self, view: Option<View>) -> Option<SaidDelta> {
        if self.view == view {
            return None;
        }
        self.version.view = hash(&view);
        self.view = view;
        self.delta(true, (self.story.len(), 0), self.story.len())
    }

    /// Computes the difference from `before`; `None` if they are equal.
    pub fn delta_since(&self, before: &Self) -> Option<SaidDelta> {
        let is_same = |(new, old): &(&Line, &Line)| new == old;
        let first = self.story.iter().zip(&before.story).take_while(is_same).count();
        // A line in the middle may change: a pod restarted again.
        let new_end = self.story.iter().skip(first).rev();
        let last = new_end.zip(before.story.iter().skip(first).rev()).take_while(is_same).count();
        self.delta(self.view != before.view, (first, last), before.story.len())
    }

    /// Computes the difference from sentences that are known only by version; `None` if they are equal.
    pub fn delta_since_version(&self, before: SaidVersion) -> Option<SaidDelta> {
        let lines = before.lines as usize;
        let kept = self.story.get(..lines).filter(|kept| hash(kept) == before.story).map_or(0, <[Line]>::len);
        self.delta(self.version.view != before.view, (kept, 0), lines)
    }

    /// Returns the difference from sentences with `lines` lines, of which `first` at the beginning and `last` at the end are unchanged.
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
    /// The verdict and the figures, if they changed.
    pub view: Option<Box<View>>,
    /// Numbers of unchanged lines at the beginning and at the end of the story, and the lines between them.
    pub story: Option<(u32, u32, Vec<Line>)>,
    /// Version of the sentences after the difference.
    pub version: SaidVersion,
}

/// Answer to [`super::ViewerFrame::Moment`]: the sentences of a past moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The requested moment, in milliseconds.
    pub at_millis: Millis,
    /// The sentences of that moment; `None` if it is past retention.
    pub said: Option<Said>,
}
