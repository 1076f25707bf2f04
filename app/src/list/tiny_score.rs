//! The tiny score of a row: the number of pods in each state over the last minute, in layers, as paths. Pure.

use timeline::Millis;
use timeline::view::{LATELY_MILLIS, LAYERS, Summary};
use timeline::words::grouped;

/// Width of the tiny score, in units of its view box.
pub const WIDE: i64 = 120;
/// Height of the tiny score, in units of its view box.
pub const HIGH: i64 = 30;

/// Class names of the layers, in the order of [`Summary::pods`].
pub const CLASSES: [&str; LAYERS] = ["available", "old", "not-yet", "failing", "terminating"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TinyPicture {
    /// Available pods of the current revision, and desired pods: "3/4".
    pub new_of_desired: String,
    /// Whether another revision is being replaced, whose pods are not counted.
    pub is_new: bool,
    /// Whether fewer pods are available than desired.
    pub is_short: bool,
    /// Outlines of the layers from the bottom, in the order of [`CLASSES`].
    pub layers: [String; LAYERS],
    /// Line at the desired number.
    pub desired: String,
}

impl TinyPicture {
    /// Draws a Deployment at a time of its cluster.
    pub fn from_summary(summary: &Summary, now_millis: Millis) -> Self {
        let lately = &summary.lately;
        let x = |after: u32| {
            let ago = lately.from_millis + i64::from(after) - now_millis;
            ((ago + LATELY_MILLIS) * WIDE / LATELY_MILLIS).clamp(0, WIDE)
        };
        let mut steps: Vec<(i64, [u32; LAYERS])> =
            lately.steps.iter().map(|(after, counts)| (x(*after), *counts)).collect();
        steps.insert(0, (0, steps.first().map_or(summary.pods, |(_, counts)| *counts)));
        let all = |counts: &[u32; LAYERS], layers: usize| i64::from(counts.iter().take(layers).sum::<u32>());
        let highest = steps.iter().map(|(_, counts)| all(counts, LAYERS)).max();
        let most = highest.unwrap_or(0).max(i64::from(summary.desired)).max(1);
        let y = |pods: i64| HIGH - pods * HIGH / most;
        let layer = |layer: usize| {
            let mut path = String::new();
            for (index, (from, counts)) in steps.iter().enumerate() {
                let to = steps.get(index + 1).map_or(WIDE, |(next, _)| *next);
                let (bottom, top) = (y(all(counts, layer)), y(all(counts, layer + 1)));
                if to > *from && bottom > top {
                    path.push_str(&format!("M{from} {bottom}V{top}H{to}V{bottom}z"));
                }
            }
            path
        };
        let available = summary.new_available();
        Self {
            new_of_desired: format!("{}/{}", grouped(available.into()), grouped(summary.desired.into())),
            is_new: summary.replaces.is_some(),
            is_short: available < summary.desired,
            layers: std::array::from_fn(layer),
            desired: format!("M0 {0}H{WIDE}", y(i64::from(summary.desired)).max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::test_data;
    use timeline::view::{Lately, Tone};

    fn summary(tone: Tone, desired: u32, pods: [u32; LAYERS], steps: Vec<(u32, [u32; LAYERS])>) -> Summary {
        Summary { desired, pods, lately: Lately { from_millis: 0, steps }, ..test_data::summary(tone) }
    }

    #[test]
    fn what_is_missing_is_left_empty_below_the_line() {
        let tiny = TinyPicture::from_summary(&summary(Tone::Ok, 4, [3, 0, 0, 0, 0], Vec::new()), 90_000);
        assert_eq!((tiny.new_of_desired.as_str(), tiny.is_short), ("3/4", true));
        assert_eq!(tiny.layers, ["M0 30V8H120V30z", "", "", "", ""].map(str::to_owned));
        assert_eq!(tiny.desired, "M0 1H120");
        let many = TinyPicture::from_summary(&summary(Tone::Ok, 5_000, [1_051, 0, 0, 0, 0], Vec::new()), 90_000);
        assert_eq!(many.new_of_desired, "1,051/5,000");
    }

    #[test]
    fn layers_follow_the_last_minute() {
        let steps = vec![(0, [0, 2, 0, 0, 0]), (30_000, [1, 1, 0, 1, 1])];
        let tiny = TinyPicture::from_summary(&summary(Tone::Bad, 2, [1, 1, 0, 1, 1], steps), 60_000);
        assert_eq!(tiny.layers[1], "M0 30V15H60V30zM60 23V15H120V23z");
        assert_eq!(tiny.layers[2], "", "none is merely on its way");
        assert_eq!(tiny.layers[3], "M60 15V8H120V15z");
        assert_eq!(tiny.desired, "M0 15H120");
    }

    #[test]
    fn nobody_asked_for_pods() {
        let tiny = TinyPicture::from_summary(&summary(Tone::Quiet, 0, [0; LAYERS], Vec::new()), 0);
        assert_eq!((tiny.new_of_desired.as_str(), tiny.is_short), ("0/0", false));
        assert!(tiny.layers.iter().all(String::is_empty));
    }
}
