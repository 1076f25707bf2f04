//! What a click in a detail does that stands beside the picture. Where nobody provides it, the detail is a page of its own, and
//! the same links lead to other pages.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use timeline::Millis;

/// What the page of a Deployment does for the details that it shows.
#[derive(Clone, Copy)]
pub struct Actions {
    /// Opens something, by its path below the page of the Deployment ([`crate::address::pod`], [`crate::address::revision`]).
    pub open: Callback<String>,
    /// Closes what is open.
    pub close: Callback<()>,
    /// Shows another moment.
    pub seek: Callback<Millis>,
}

/// A click that is not meant to open another tab or window: what the page does by itself may take its place.
#[must_use]
pub fn is_plain(event: &MouseEvent) -> bool {
    event.button() == 0 && !event.ctrl_key() && !event.meta_key() && !event.shift_key() && !event.alt_key()
}
