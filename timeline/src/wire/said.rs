//! The sentences of a Deployment, now and at another time, and the difference that viewers receive.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::say::story::Line;
use crate::view::View;

/// The sentences of a Deployment, made where the cluster's time is known, once for all viewers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The verdict and the figures; `None` when there is no such Deployment.
    pub view: Option<View>,
    /// The story, oldest first.
    pub story: Vec<Line>,
}

impl Said {
    /// Takes what is said anew.
    pub fn take(&mut self, delta: SaidDelta) {
        if let Some(view) = delta.view {
            self.view = Some(*view);
        }
        if let Some((kept, lines)) = delta.story {
            self.story.truncate(kept as usize);
            self.story.extend(lines);
        }
    }

    /// Computes the difference to `before`; `None` when there is none.
    #[must_use]
    pub fn delta_since(&self, before: &Self) -> Option<SaidDelta> {
        let kept = self.story.iter().zip(&before.story).take_while(|(new, old)| new == old).count();
        let is_same = kept == self.story.len() && kept == before.story.len();
        let delta = SaidDelta {
            view: self.view.clone().filter(|_| self.view != before.view).map(Box::new),
            story: (!is_same).then(|| (kept as u32, self.story.get(kept..).unwrap_or_default().to_vec())),
        };
        (delta != SaidDelta::default()).then_some(delta)
    }
}

/// The difference of two versions of [`Said`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SaidDelta {
    /// The verdict and the figures, when they changed.
    pub view: Option<Box<View>>,
    /// Number of lines of the story that stay, and the lines that follow them.
    pub story: Option<(u32, Vec<Line>)>,
}

/// Answer to [`super::ViewerFrame::Moment`]: what was said at a time of the past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The time that was asked about, in milliseconds.
    pub at_millis: Millis,
    /// The sentences of then; `None` when they are not kept any more.
    pub said: Option<Said>,
}
