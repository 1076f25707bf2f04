//! The lists of a page as the server renders them; the browser finds them in the page.

use std::fmt::Write;

use super::{Frame, LISTS};
use crate::board::{Shown, first_shown};
use crate::motion::Motion;
use crate::numbers::fixed;
use crate::payload::DeploymentPayload;
use crate::rows::{Plan, Row, Tag, markup, placed};

/// The lists of a page, and what they are rendered for.
pub struct First {
    /// Markup by the id of its list.
    lists: Vec<(&'static str, String)>,
    /// Where everything is, as a style sheet.
    pub placed: String,
    /// The stretch of time and the room.
    pub frame: Frame,
    /// Height of all bands, in pixels.
    pub total: f64,
}

impl First {
    /// Renders what a payload shows first.
    #[must_use]
    pub fn of(payload: &DeploymentPayload) -> Self {
        let snapshot = &payload.snapshot;
        let Shown { model, said, frame } = first_shown(snapshot, payload.moment.as_ref());
        let scene = super::scene(&model, snapshot.deployment, &said, frame, &Motion::default());
        let mut first = Self { lists: Vec::new(), placed: String::new(), frame, total: scene.height };
        for ((id, tag), plans) in LISTS.into_iter().zip(&scene.lists) {
            first.add(id, tag, plans);
        }
        first.add("ticks", Tag::Block, &super::ticks(frame));
        let _ = write!(first.placed, "#ticks,#gaps,#marks{{{}}}", super::times(frame));
        let _ = write!(first.placed, "#picture{{height:{}px}}", fixed(scene.height));
        first
    }

    /// The markup of a list.
    #[must_use]
    pub fn list(&self, id: &str) -> String {
        self.lists.iter().find(|(known, _)| *known == id).map(|(_, markup)| markup.clone()).unwrap_or_default()
    }

    fn add(&mut self, id: &'static str, tag: Tag, plans: &[Plan<'_>]) {
        let rows: Vec<Row> = plans.iter().map(Plan::row).collect();
        self.lists.push((id, markup(tag, &rows)));
        self.placed.push_str(&placed(id, &rows));
    }
}
