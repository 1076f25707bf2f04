//! Animation frames, timers, and chance.

use std::time::Duration;

use leptos::leptos_dom::helpers::IntervalHandle;
use leptos::prelude::*;

/// Does something once the effects of what was set have changed the document, before it is drawn.
pub use leptos::leptos_dom::helpers::queue_microtask as run_after_effects;
/// Does something with the next animation frame; while the page is hidden none comes.
pub use leptos::leptos_dom::helpers::request_animation_frame as next_frame;

/// Runs a function once, after `wait`.
pub fn run_after(wait: Duration, run: impl FnOnce() + 'static) {
    set_timeout(run, wait);
}

/// Runs a function in every `period`, until the component around it is gone. Called from effects.
pub fn run_every(period: Duration, run: impl Fn() + 'static) {
    if let Some(interval) = start_interval(period, run) {
        on_cleanup(move || interval.clear());
    }
}

/// Runs a function in every `period`, until the handle is cleared; `None` where the browser has no timers.
#[must_use]
pub fn start_interval(period: Duration, run: impl Fn() + 'static) -> Option<IntervalHandle> {
    set_interval_with_handle(run, period).ok()
}

/// A number from 0 to 1, another one every time.
pub fn chance() -> f64 {
    js_sys::Math::random()
}
