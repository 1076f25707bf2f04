//! Debounces texts so that they can be read: a text changes at most once a second, and one that is contradicted at once is not shown.

use std::time::Duration;

use leptos::prelude::*;

use crate::browser;

/// A text is shown when it is this old: two observations that contradict each other arrive close together.
const SETTLE_MILLIS: f64 = 150.0;
/// A shown text stays at least this long.
const LEAST_MILLIS: f64 = 1_000.0;

/// Follows a text at a pace at which people read. Changes from or to an empty text are not delayed, nor is any change while `is_at_once`,
/// such as at a moment that the viewer chose.
pub fn debounce<T>(words: Signal<T>, is_at_once: Signal<bool>) -> Signal<T>
where
    T: Clone + Default + PartialEq + Send + Sync + 'static,
{
    let shown = RwSignal::new(words.get_untracked());
    let changed_millis = StoredValue::new(f64::NEG_INFINITY);
    let is_waiting = StoredValue::new(false);
    let show = move |words: &T| {
        if shown.try_with_untracked(|shown| shown != words).unwrap_or(false) {
            changed_millis.set_value(browser::page_millis());
            shown.set(words.clone());
        }
    };
    Effect::new(move |_| {
        let (words_now, nothing) = (words.get(), T::default());
        let is_empty = shown.with_untracked(|shown| *shown == nothing) || words_now == nothing;
        if is_empty || is_at_once.get() {
            show(&words_now);
            return;
        }
        let is_new = shown.with_untracked(|shown| *shown != words_now);
        if !is_new || is_waiting.get_value() {
            return;
        }
        is_waiting.set_value(true);
        let wait = wait_millis(browser::page_millis() - changed_millis.get_value());
        browser::run_after(Duration::from_millis(wait as u64), move || {
            // The viewer may have left the page.
            if is_waiting.try_set_value(false).is_none() {
                words.try_with_untracked(show);
            }
        });
    });
    shown.into()
}

/// Returns how long a new text waits if the shown one is this old.
fn wait_millis(age_millis: f64) -> f64 {
    (LEAST_MILLIS - age_millis).max(SETTLE_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_for_a_second_and_settle_before_they_are_shown() {
        assert_eq!([0.0, 400.0, 950.0, f64::INFINITY].map(wait_millis), [1_000.0, 600.0, 150.0, 150.0]);
    }
}
