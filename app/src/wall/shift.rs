//! Against burn-in: everything moves a little, and comes back.

use std::time::Duration;

/// Everything moves this often.
pub const EVERY: Duration = Duration::from_secs(600);
/// Where it goes in turn, in pixels.
const SHIFTS: [u8; 8] = [0, 2, 4, 6, 8, 6, 4, 2];

/// The place after so many moves, as a style.
pub fn style(moves: usize) -> String {
    let at = |step: usize| SHIFTS.get(step % SHIFTS.len()).copied().unwrap_or_default();
    format!("transform:translate({}px, {}px)", at(moves), at(moves / SHIFTS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_near_and_the_first_one_comes_back() {
        assert_eq!(
            [0, 1, 8, 64].map(style),
            ["0px, 0px", "2px, 0px", "0px, 2px", "0px, 0px"].map(|at| format!("transform:translate({at})"))
        );
    }
}
