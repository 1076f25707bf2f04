//! Animation frames, timers and random numbers.

use std::time::Duration;

use leptos::leptos_dom::helpers::IntervalHandle;
use leptos::prelude::*;

/// Runs a function after the effects of changed signals have updated the document, and before the browser draws it.
pub use leptos::leptos_dom::helpers::queue_microtask as run_after_effects;
/// Runs a function with the next animation frame; a hidden page has none.
pub use leptos::leptos_dom::helpers::request_animation_frame as next_frame;

/// Runs a function once, after `wait`.
pub fn run_after(wait: Duration, run: impl FnOnce() + 'static) {
    set_timeout(run, wait);
}

/// Runs a function in every `period`, until the surrounding component is disposed. Called from effects.
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

/// Returns a random number from 0 to 1.
pub fn chance() -> f64 {
    js_sys::Math::random()
}
