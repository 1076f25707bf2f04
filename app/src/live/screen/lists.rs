//! What of the page is kept right besides its texts: lists, and what moves with every frame.

use timeline::frame::{Moment, Snapshot};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlInputElement};

use crate::board::{Shown, first_shown};
use crate::components::score;
use crate::live::element;
use crate::live::paint::Paint;
use crate::live::patch::{List, place};
use crate::live::screen::scroll::Scroll;
use crate::motion::Motion;
use crate::numbers::fixed;
use crate::rows::Tag;
use crate::scene::{self, Frame};

/// What of the page is kept right besides its texts.
pub(super) struct Lists {
    pub(super) lists: [List; 10],
    pub(super) ticks: List,
    pub(super) paint: Option<Paint>,
    /// Whose style holds the times of the axis, and the height.
    pub(super) timed: Vec<Element>,
    /// What moves with every frame.
    pub(super) moving: [Option<Element>; 5],
    pub(super) picture: Option<Element>,
    pub(super) scroll: Scroll,
    /// Height of all bands, in pixels.
    pub(super) total: f64,
    /// Width of the picture, where it is not that of its room.
    width: Option<i32>,
    /// What was moved last.
    moved: [String; 5],
    pub(super) slider: Option<HtmlInputElement>,
    pub(super) announcer: Option<Element>,
}

/// Takes over what the server rendered: the same scene, made again.
pub(super) fn adopted(mut lists: Lists, snapshot: &Snapshot, moment: Option<&Moment>) -> (Lists, Frame) {
    let Shown { model, said, frame } = first_shown(snapshot, moment);
    let scene = scene::scene(&model, snapshot.deployment, &said, frame, &Motion::default());
    lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.adopt(plans));
    lists.stretch(scene.height);
    lists.time_passes(frame);
    if let Some(placed) = element("placed") {
        placed.remove(); // from here on every element has its own style
    }
    (lists, frame)
}

impl Lists {
    /// Those whose ids begin with the prefix.
    pub(super) fn of(prefix: &str) -> Self {
        let list = |(id, tag)| List::new(&format!("{prefix}{id}"), tag);
        let there = |id: &str| element(&format!("{prefix}{id}"));
        Self {
            lists: scene::LISTS.map(list),
            ticks: list(("ticks", Tag::Block)),
            paint: Paint::new(&format!("{prefix}paint")),
            timed: ["ticks", "gaps", "marks"].into_iter().filter_map(there).collect(),
            moving: score::MOVING.map(|(id, _)| there(id)),
            picture: there("picture"),
            scroll: Scroll::new(there("scroller")),
            total: 0.0,
            width: None,
            moved: Default::default(),
            slider: there("slider").and_then(|slider| slider.dyn_into().ok()),
            announcer: there("announcer"),
        }
    }

    /// Moves the axis.
    pub(super) fn time_passes(&mut self, frame: Frame) {
        self.ticks.show(&scene::ticks(frame));
        let style = scene::times(frame);
        self.timed.iter().for_each(|element| place(element, &style));
        let moving = self.moving.iter().zip(score::MOVING).zip(score::moving(frame, self.total));
        for (((element, (_, attribute)), value), moved) in moving.zip(&mut self.moved) {
            if let Some(element) = element.as_ref().filter(|_| *moved != value) {
                let _ = element.set_attribute(attribute, &value); // names of attributes are ours
                *moved = value;
            }
        }
        if let Some(paint) = &mut self.paint {
            paint.paint(frame, self.total);
        }
    }

    /// Gives the picture its height.
    pub(super) fn stretch(&mut self, total: f64) {
        if self.total.to_bits() != total.to_bits() {
            self.total = total;
            self.fit();
        }
    }

    /// Gives the picture its width: that of axis and budget, also beside a scroll bar.
    pub(super) fn widen(&mut self) {
        let width = self.scroll.width();
        if self.width != width {
            self.width = width;
            self.fit();
        }
    }

    fn fit(&self) {
        if let Some(picture) = &self.picture {
            let width = self.width.map_or_else(String::new, |width| format!(";width:{width}px"));
            place(picture, &format!("height:{}px{width}", fixed(self.total)));
        }
    }
}
