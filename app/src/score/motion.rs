//! Motion: bands move to their new positions in a short animation. Pure: the browser's clock is an argument.

use super::places::BandPlace;

/// Duration of a move, in milliseconds.
const MOVE_MILLIS: f64 = 280.0;

/// Bands during a move.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Motion {
    /// Positions at the start of the move.
    from: Vec<(u128, BandPlace)>,
    /// Positions at the end of the move.
    to: Vec<(u128, BandPlace)>,
    began: f64,
    /// Completed share of the move.
    share: f64,
}

impl Motion {
    /// Returns the present position of a band whose final position is `target`. A new band appears there at once.
    pub fn place(&self, key: u128, target: BandPlace) -> BandPlace {
        let from = self.from.iter().find(|(known, _)| *known == key).map(|(_, place)| *place);
        from.filter(|_| self.share < 1.0).map_or(target, |from| interpolate(from, target, self.share))
    }

    /// Starts a move from the present positions to new ones.
    pub fn head_for(&mut self, targets: Vec<(u128, BandPlace)>, is_still: bool, clock: f64) {
        if targets == self.to {
            return;
        }
        let before = std::mem::take(&mut self.to);
        self.from = before.into_iter().map(|(key, place)| (key, self.place(key, place))).collect();
        self.to = targets;
        self.began = clock;
        self.share = if is_still { 1.0 } else { 0.0 };
    }

    /// Advances the clock; returns whether bands still move.
    pub fn advance(&mut self, clock: f64) -> bool {
        if self.share >= 1.0 || self.from.is_empty() {
            return false;
        }
        let time = ((clock - self.began) / MOVE_MILLIS).clamp(0.0, 1.0);
        // Ease out.
        self.share = 1.0 - (1.0 - time) * (1.0 - time) * (1.0 - time);
        true
    }
}

fn interpolate(from: BandPlace, to: BandPlace, share: f64) -> BandPlace {
    let at = |from: f64, to: f64| from + (to - from) * share;
    BandPlace {
        top: at(from.top, to.top),
        height: at(from.height, to.height),
        row: at(from.row, to.row),
        first: at(from.first, to.first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(top: f64) -> BandPlace {
        BandPlace { top, height: 50.0, row: 10.0, first: top + 12.0 }
    }

    #[test]
    fn bands_move_once_and_from_where_they_are() {
        let mut motion = Motion::default();
        motion.head_for(vec![(1, place(0.0))], false, 0.0);
        assert!(!motion.advance(10.0), "nothing was there before");
        motion.head_for(vec![(2, place(0.0)), (1, place(100.0))], false, 1_000.0);
        assert_eq!(motion.place(1, place(100.0)), place(0.0));
        assert_eq!(motion.place(2, place(0.0)), place(0.0), "a new band appears in its place");
        assert!(motion.advance(1_140.0));
        let halfway = motion.place(1, place(100.0)).top;
        assert!((50.0..100.0).contains(&halfway), "{halfway}");
        // Another change during a move continues from the present positions.
        motion.head_for(vec![(2, place(0.0)), (1, place(200.0))], false, 1_140.0);
        assert_eq!(motion.place(1, place(200.0)).top, halfway);
        assert!(motion.advance(1_420.0));
        assert_eq!(motion.place(1, place(200.0)), place(200.0));
        assert!(!motion.advance(1_500.0));
    }

    #[test]
    fn who_wants_no_motion_gets_none() {
        let mut motion = Motion::default();
        motion.head_for(vec![(1, place(0.0))], true, 0.0);
        motion.head_for(vec![(1, place(100.0))], true, 10.0);
        assert_eq!(motion.place(1, place(100.0)), place(100.0));
        assert!(!motion.advance(20.0));
    }
}
