//! Two clocks: the API server's and ours. Objects carry whole seconds of the one, arrivals are milliseconds of the other.

use std::collections::VecDeque;

use crate::Millis;

/// Arrivals that are remembered.
const SAMPLES: usize = 31;
/// An object arrives this long after its timestamp on average, because timestamps are cut to whole seconds.
const CUT_MILLIS: Millis = 500;
/// Objects that seem to arrive this long after they were made were not new.
const OLD_MILLIS: Millis = 24 * 3_600_000;

/// How far the clocks are apart: the median of (arrival − creation) of new objects, less half a second.
#[derive(Debug, Default)]
pub struct Skew {
    samples: VecDeque<Millis>,
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
    }

    /// Our clock less the API server's; 0 while nothing is known.
    #[must_use]
    pub fn millis(&self) -> Millis {
        let mut sorted: Vec<Millis> = self.samples.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(0, |median| median - CUT_MILLIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_a_few_late_arrivals() {
        let mut skew = Skew::default();
        assert_eq!(skew.millis(), 0);
        for late in [100, 900, 500, 60_000, 400, 600, OLD_MILLIS + 1] {
            skew.note(1_000_000 + late, 1_000_000);
        }
        assert_eq!(skew.millis(), 100);
    }
}
