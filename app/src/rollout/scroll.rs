//! Keeps the current band in view where bands do not fit, until the viewer scrolls.

use leptos::html;
use leptos::prelude::*;

use crate::score::places::BandPlace;

/// Space below the current band, in pixels.
const BELOW: f64 = 8.0;
/// Automatic scrolling resumes within this distance from its position, in pixels.
const NEAR: i32 = 8;
/// A scroll within this time after a scroll key is attributed to that key, in milliseconds.
const KEY_MILLIS: f64 = 2_000.0;
const KEYS: [&str; 7] = ["Home", "End", "PageUp", "PageDown", "ArrowUp", "ArrowDown", " "];

/// The scrollable part with the bands.
pub(super) struct Scroll {
    node: NodeRef<html::Div>,
    /// The last automatic position, in pixels.
    at: i32,
    /// Content height and visible height at that time.
    heights: (i32, i32),
    /// Whether the viewer scrolled away, which stops automatic scrolling.
    is_left_alone: bool,
    /// Time of a scroll key that has not scrolled yet, in page time.
    key_at: f64,
}

impl Scroll {
    pub(super) const fn new(node: NodeRef<html::Div>) -> Self {
        Self { node, at: 0, heights: (0, 0), is_left_alone: false, key_at: f64::NEG_INFINITY }
    }

    /// Returns the visible height, in pixels.
    pub(super) fn height(&self) -> Option<f64> {
        self.node.get_untracked().map(|element| f64::from(element.client_height()))
    }

    /// Returns the available height: the rest of `room`, in pixels. For a part that is as high as its content.
    pub(super) fn height_in(&self, room: NodeRef<html::Div>) -> Option<f64> {
        let (element, room) = (self.node.get_untracked()?, room.get_untracked()?);
        Some(f64::from(room.client_height() - element.offset_top()))
    }

    /// Returns its width including the scroll bar, in pixels, if it has one.
    pub(super) fn width(&self) -> Option<i32> {
        let element = self.node.get_untracked()?;
        Some(element.offset_width()).filter(|width| *width > element.client_width())
    }

    /// Starts over for another Deployment, in which nobody has scrolled yet.
    pub(super) const fn reset(&mut self) {
        self.is_left_alone = false;
    }

    /// Handles a scroll key. Wheels and fingers scroll many times, a key perhaps once, at the same time as a change of height.
    pub(super) fn key(&mut self, key: &str, page_millis: f64) {
        if KEYS.contains(&key) {
            self.key_at = page_millis;
        }
    }

    /// Scrolls to the current band unless the viewer scrolled away. `above` is the space above the picture.
    pub(super) fn follow(&mut self, current: Option<BandPlace>, above: f64, page_millis: f64) {
        let (Some(element), Some(current)) = (self.node.get_untracked(), current) else { return };
        let heights = (element.client_height(), element.scroll_height());
        let most = (heights.1 - heights.0).max(0);
        let seen = element.scroll_top();
        let bottom = above + current.top + current.height + BELOW;
        let wanted = ((bottom - f64::from(element.client_height())).ceil() as i32).min(most).max(0);
        // A scroll together with a change of height may be an effect of that change: the browser limits the position to the end, and keeps
        // it there after the content was lower for a moment. An inert element, as on the wall, cannot be scrolled by a viewer.
        let is_inert = matches!(element.closest("[inert]"), Ok(Some(_)));
        let is_by_key = page_millis - self.key_at < KEY_MILLIS;
        if seen != self.at && (heights == self.heights || is_by_key) && !is_inert {
            // A viewer who scrolled to the top by key wants to stay there, however near the automatic position is.
            self.is_left_alone = (seen - wanted).abs() > NEAR || (is_by_key && seen == 0 && wanted > 0);
            // The scroll may be an effect of a change of height, and the key may still scroll later.
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
