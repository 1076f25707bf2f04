//! Animation frames, timers, and chance.

use std::time::Duration;

use leptos::leptos_dom::helpers::IntervalHandle;
use leptos::prelude::*;

/// Does something with the next animation frame; while the page is hidden none comes.
pub use leptos::leptos_dom::helpers::request_animation_frame as next_frame;

/// Runs a function once, after `wait`.
pub fn run_after(wait: Duration, run: impl FnOnce() + 'static) {
    set_timeout(run, wait);
}

/// Runs a function in every `period`, until the component around it is gone. Called from effects.
pub fn run_every(period: Duration, run: impl Fn() + 'static) {
    let interval = Interval::new(period, run);
    on_cleanup(move || drop(interval));
}

/// Something that is done again and again, until this is dropped.
pub struct Interval(IntervalHandle);

impl Interval {
    /// Does it for the first time after so long; `None` where the browser has no timers.
    pub fn new(period: Duration, run: impl Fn() + 'static) -> Option<Self> {
        set_interval_with_handle(run, period).ok().map(Self)
    }
}

impl Drop for Interval {
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// A number from 0 to 1, another one every time.
pub fn chance() -> f64 {
    js_sys::Math::random()
}
