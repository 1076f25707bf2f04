//! Two clocks: the API server's and ours. Objects carry whole seconds of the one, arrivals are milliseconds of the other.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Clocks that are less apart are not told apart: timestamps are cut to whole seconds.
const APART_MILLIS: Millis = 2_000;
/// Arrivals that are remembered. When all of them are late, it is not they that are late: a clock was set.
const SAMPLES: usize = 31;
/// Objects that seem to arrive this long after they were made were not new, whatever the clocks say.
const OLD_MILLIS: Millis = 24 * 3_600_000;

/// The difference of the clocks: the least (arrival − creation) of new objects. What is told is the same until it is wrong by
/// [`APART_MILLIS`], so that times of the API server do not flicker.
///
/// Nothing arrives before it is made, so an arrival is either in time or late, never early: the earliest one is the nearest to the
/// truth. Where one came in time that is at most a second above it, because timestamps are cut to whole seconds; those that waited for
/// a watch that was away do not count then. So clocks that are hours apart are found with the first new object, and a wrong first one
/// is mended by the first that comes in time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Skew {
    samples: VecDeque<Millis>,
    /// The difference that [`Skew::millis`] returns.
    told_millis: Millis,
}

impl Skew {
    /// Takes the arrival of an object that was just made.
    pub fn note(&mut self, at_millis: Millis, created_millis: Millis) {
        let apart = at_millis.saturating_sub(created_millis);
        if apart.saturating_abs() > OLD_MILLIS {
            return;
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(apart);
        let least = self.samples.iter().copied().min().unwrap_or(apart);
        if least.abs_diff(self.told_millis) >= APART_MILLIS.unsigned_abs() {
            self.told_millis = least;
        }
    }

    /// Our clock was set, forward by so much: what was known of it moves with it.
    pub fn shift(&mut self, by_millis: Millis) {
        self.samples.iter_mut().for_each(|sample| *sample = sample.saturating_add(by_millis));
        self.told_millis = self.told_millis.saturating_add(by_millis);
    }

    /// Starts with a known difference.
    pub fn from_millis(millis: Millis) -> Self {
        Self { samples: VecDeque::from([millis]), told_millis: millis }
    }

    /// Our clock less the API server's; 0 while nothing else is known.
    pub const fn millis(&self) -> Millis {
        self.told_millis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: Millis = 1_000_000;
    const HOUR: Millis = 3_600_000;

    fn after(late: impl IntoIterator<Item = Millis>) -> Millis {
        let mut skew = Skew::default();
        late.into_iter().for_each(|late| skew.note(MADE + late, MADE));
        skew.millis()
    }

    #[test]
    fn it_is_not_moved_by_late_arrivals() {
        assert_eq!(after([]), 0);
        assert_eq!(after([100, 900, 500, 5_000, 400, 600, OLD_MILLIS + 1]), 0);
        assert_eq!(after([9_100, 9_900, 500, 9_500, 400, 9_600]), 500);
        assert_eq!(after([500, 500, 500].into_iter().chain((0..20).map(|n| HOUR - n * 60_000))), 0);
    }

    #[test]
    fn what_is_told_does_not_move_with_every_arrival() {
        let mut skew = Skew::default();
        let mut told: Vec<Millis> = (0..400)
            .map(|turn| {
                skew.note(MADE + 7_000 + turn * 317 % 1_000, MADE);
                skew.millis()
            })
            .collect();
        told.dedup();
        assert_eq!(told, [7_000]);
        skew.note(MADE + 5_001, MADE);
        assert_eq!(skew.millis(), 7_000);
        skew.note(MADE + 5_000, MADE);
        assert_eq!(skew.millis(), 5_000, "a clock that was set is followed");
    }

    #[test]
    fn objects_of_another_day_tell_nothing() {
        let day = OLD_MILLIS;
        assert_eq!([day, day + 1, -day, -day - 1].map(|late| after([late])), [day, 0, -day, 0]);
    }

    #[test]
    fn clocks_that_are_hours_apart_are_found_with_the_first_new_object() {
        assert_eq!(after([3 * HOUR + 500]), 3 * HOUR + 500);
        assert_eq!(after([-3 * HOUR + 500, -3 * HOUR + 700, -3 * HOUR + 300]), -3 * HOUR + 500);
    }

    #[test]
    fn old_objects_at_the_beginning_are_mended_by_the_first_that_is_new() {
        assert_eq!(after([5 * HOUR, 4 * HOUR, 6 * HOUR, 3 * HOUR, 500]), 500);
    }

    #[test]
    fn a_step_of_our_own_clock_moves_what_is_known_at_once() {
        let mut skew = Skew::default();
        [500 - HOUR; 40].into_iter().for_each(|late| skew.note(MADE + late, MADE));
        assert_eq!(skew.millis(), 500 - HOUR, "this machine is an hour behind");
        skew.shift(HOUR);
        assert_eq!(skew.millis(), 500, "its clock was set");
        skew.note(MADE + 700, MADE);
        assert_eq!(skew.millis(), 500);
        skew.shift(-HOUR);
        assert_eq!(skew.millis(), 500 - HOUR);
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_in_both_directions() {
        assert_eq!(after([500; 40].into_iter().chain([500 - HOUR])), 500 - HOUR);
        assert_eq!(after([500; 40].into_iter().chain([HOUR + 500; SAMPLES - 1])), 0);
        assert_eq!(after([500; 40].into_iter().chain([HOUR + 500; SAMPLES])), HOUR + 500);
    }
}
