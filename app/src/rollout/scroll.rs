//! Keeps the current band in view where bands do not fit, until the viewer scrolls.

use leptos::html;
use leptos::prelude::*;

use crate::score::places::BandPlace;

/// Room below the current band, in pixels.
const BELOW: f64 = 8.0;
/// So close to where it would be the picture is kept in place again.
const NEAR: i32 = 8;
/// A scroll within this time after a key that scrolls was made by that key, in milliseconds.
const KEY_MILLIS: f64 = 2_000.0;
const KEYS: [&str; 7] = ["Home", "End", "PageUp", "PageDown", "ArrowUp", "ArrowDown", " "];

/// The part of a page in which bands scroll.
pub(super) struct Scroll {
    node: NodeRef<html::Div>,
    /// Where this put it last, in pixels.
    at: i32,
    /// Its height then, and the visible part.
    heights: (i32, i32),
    /// The viewer scrolled elsewhere, so it stays where it is.
    is_left_alone: bool,
    /// When a key was pressed in it that scrolls and was not seen to have moved it yet, in page time.
    key_at: f64,
}

impl Scroll {
    pub(super) const fn new(node: NodeRef<html::Div>) -> Self {
        Self { node, at: 0, heights: (0, 0), is_left_alone: false, key_at: f64::NEG_INFINITY }
    }

    /// Height of what can be seen of it, in pixels.
    pub(super) fn height(&self) -> Option<f64> {
        self.node.get_untracked().map(|element| f64::from(element.client_height()))
    }

    /// Height that it can have: the rest of `room`, in pixels. For a part that is as high as its content.
    pub(super) fn height_in(&self, room: NodeRef<html::Div>) -> Option<f64> {
        let (element, room) = (self.node.get_untracked()?, room.get_untracked()?);
        Some(f64::from(room.client_height() - element.offset_top()))
    }

    /// Width of it with its scroll bar, in pixels, where it has one.
    pub(super) fn width(&self) -> Option<i32> {
        let element = self.node.get_untracked()?;
        Some(element.offset_width()).filter(|width| *width > element.client_width())
    }

    /// Starts over for another Deployment, in which nobody has scrolled yet.
    pub(super) const fn reset(&mut self) {
        self.is_left_alone = false;
    }

    /// A key was pressed in it. Wheels and fingers move it many times, a key perhaps once, and that may be when its height changes.
    pub(super) fn key(&mut self, key: &str, page_millis: f64) {
        if KEYS.contains(&key) {
            self.key_at = page_millis;
        }
    }

    /// Scrolls to the current band unless the viewer scrolled elsewhere. `above` is the room above the picture.
    pub(super) fn follow(&mut self, current: Option<BandPlace>, above: f64, page_millis: f64) {
        let (Some(element), Some(current)) = (self.node.get_untracked(), current) else { return };
        let heights = (element.client_height(), element.scroll_height());
        let most = (heights.1 - heights.0).max(0);
        let seen = element.scroll_top();
        let bottom = above + current.top + current.height + BELOW;
        let wanted = ((bottom - f64::from(element.client_height())).ceil() as i32).min(most).max(0);
        // What moved together with a height may have been moved by that: a browser has no place below the end, and what became
        // lower for a moment keeps where that was. Where nothing can be touched, as on the wall, nobody moved anything.
        let is_inert = matches!(element.closest("[inert]"), Ok(Some(_)));
        let is_by_key = page_millis - self.key_at < KEY_MILLIS;
        if seen != self.at && (heights == self.heights || is_by_key) && !is_inert {
            // Who went to the very top by a key wants to be there, however near it is.
            self.is_left_alone = (seen - wanted).abs() > NEAR || (is_by_key && seen == 0 && wanted > 0);
            // What moved it may have been a height, and the key moves it later.
            if self.is_left_alone {
                self.key_at = f64::NEG_INFINITY;
            }
        }
        self.heights = heights;
        if !self.is_left_alone && seen != wanted {
            element.set_scroll_top(wanted);
        }
        self.at = element.scroll_top();
    }
}
