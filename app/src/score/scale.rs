//! The time axis: the shown stretch of time, and its ticks.

use timeline::model::{Deployment, Rollout};
use timeline::{Millis, Model, rollout};

/// Time shown before the start of a rollout.
const LEAD_MILLIS: f64 = 3_000.0;
/// Longest time shown.
const LONGEST_MILLIS: f64 = 600_000.0;
/// Narrowest and widest window for a viewer's zoom.
const NARROWEST_MILLIS: f64 = 500.0;
const WIDEST_MILLIS: f64 = 86_400_000.0;
/// Time shown before and after an ended rollout: this part of its duration, at least [`LEAST_AROUND_MILLIS`].
const AROUND_PART: Millis = 10;
const LEAST_AROUND_MILLIS: Millis = 300;
/// Remaining part of the way to a new width after a millisecond: half of it after 90. Whole powers, because others would add 2 KB
/// to the program. Below [`CLOSE_MILLIS`] the rest is skipped.
const LEFT_EACH_MILLI: f64 = 0.992_327_946_3;
const CLOSE_MILLIS: f64 = 50.0;
/// Window while nothing is rolling out.
const STABLE_MILLIS: f64 = 60_000.0;
/// Time for which the window stays fitted to an ended rollout.
const AFTERGLOW_MILLIS: f64 = 30_000.0;
/// Windows during a rollout, in seconds: the window grows from one to the next, so that time passes at a constant speed in between.
const WINDOWS: [f64; 18] = [
    12.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 75.0, 90.0, 120.0, 150.0, 180.0, 240.0, 300.0, 400.0, 500.0, 600.0,
];
/// Steps between ticks that are easy to read, in seconds.
const STEPS: [i64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600];
/// Largest picture that every browser paints: one side, and the area.
const MOST_SIDE: f64 = 8_192.0;
const MOST_PIXELS: f64 = 16_000_000.0;
/// Room for the text of a tick, in pixels.
const TICK_WIDTH: f64 = 96.0;

/// Returns the window that ends now: the whole current rollout, or the last minute if nothing is rolling out.
pub fn window_millis(model: &Model, deployment: Option<&Deployment>, now_millis: Millis) -> f64 {
    let since = |at: Millis| (now_millis - at) as f64;
    let is_fitted = |rollout: &&Rollout| rollout.completed_millis.is_none_or(|at| since(at) <= AFTERGLOW_MILLIS);
    let began = deployment.and_then(|deployment| {
        let last = deployment.rollouts.last().filter(is_fitted)?;
        rollout::began_millis(model, deployment, last)
    });
    let wanted = began.map_or(STABLE_MILLIS, |began| since(began) + LEAD_MILLIS);
    stepped(wanted).unwrap_or(LONGEST_MILLIS)
}

fn stepped(wanted_millis: f64) -> Option<f64> {
    WINDOWS.map(|seconds| seconds * 1_000.0).into_iter().find(|window| *window >= wanted_millis)
}

/// A rollout that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedRollout {
    /// Start of the rollout, or the time since which it is known.
    pub began_millis: Millis,
    /// Last change of a pod or ReplicaSet of the Deployment, not before the end of the rollout.
    pub settled_millis: Millis,
}

impl EndedRollout {
    /// Returns the last rollout of a Deployment; `None` if it is still going on.
    pub fn from_model(model: &Model, deployment: &Deployment) -> Option<Self> {
        let last = deployment.rollouts.last()?;
        let ended = last.ended_millis().or(deployment.deleted_millis)?;
        let began = rollout::began_millis(model, deployment, last);
        let began_millis = began.unwrap_or_else(|| deployment.known_since_millis());
        let pods = model.pods_of_deployment(deployment.uid);
        let pods = pods.iter().filter_map(|pod| pod.states.last().map(|(_, at)| *at));
        let sets = model.sets_of(deployment.uid).filter_map(|set| set.scales.last().map(|scale| scale.at_millis));
        let settled_millis = pods.chain(sets).chain([ended]).max().unwrap_or(ended);
        Some(Self { began_millis, settled_millis })
    }

    const fn around_millis(self) -> Millis {
        let part = (self.settled_millis - self.began_millis) / AROUND_PART;
        if part < LEAST_AROUND_MILLIS { LEAST_AROUND_MILLIS } else { part }
    }

    /// Returns the last time shown.
    pub const fn until_millis(self) -> Millis {
        self.settled_millis + self.around_millis()
    }

    /// Returns the width of the window that ends at `now_millis` and begins a little before the rollout. During playback the
    /// window grows in steps.
    pub fn window_millis(self, now_millis: Millis) -> f64 {
        let wanted = (now_millis - self.began_millis + self.around_millis()) as f64;
        let grown = stepped(wanted).filter(|_| now_millis < self.settled_millis);
        grown.unwrap_or(wanted).clamp(NARROWEST_MILLIS, WIDEST_MILLIS)
    }
}

/// Returns the fitting window that ends at that time: of an ended rollout, or of the present.
pub fn fitting_millis(
    over: Option<EndedRollout>,
    model: &Model,
    deployment: Option<&Deployment>,
    now_millis: Millis,
) -> f64 {
    over.map_or_else(|| window_millis(model, deployment, now_millis), |over| over.window_millis(now_millis))
}

/// Returns the window after a viewer's zoom by that factor.
pub fn zoomed(window_millis: f64, factor: f64) -> f64 {
    (window_millis * factor).clamp(NARROWEST_MILLIS, WIDEST_MILLIS)
}

/// Returns the window on its way to the wanted width, `passed_millis` later. The speed does not depend on the frame rate.
pub fn glided(window_millis: f64, wanted_millis: f64, passed_millis: f64) -> f64 {
    let left = (wanted_millis - window_millis) * LEFT_EACH_MILLI.powi(passed_millis.max(0.0).round() as i32);
    if left.abs() < CLOSE_MILLIS { wanted_millis } else { wanted_millis - left }
}

/// Returns the number of painted pixels per pixel of the page: that of the screen, limited to the size that browsers can paint.
pub fn sharpness(ratio: f64, width: f64, height: f64) -> f64 {
    let all = (MOST_PIXELS / (width * height).max(1.0)).sqrt();
    ratio.min(MOST_SIDE / width.max(1.0)).min(MOST_SIDE / height.max(1.0)).min(all)
}

/// Returns the times of the ticks in the window before `now_millis`: multiples of a step that is easy to read.
pub fn ticks(now_millis: Millis, window_millis: f64, width: f64) -> Vec<Millis> {
    let seconds = (window_millis / 1000.0) as i64;
    let most = (width / TICK_WIDTH).max(1.0) as i64;
    let step = STEPS.into_iter().find(|step| seconds / step <= most).unwrap_or(21_600) * 1000;
    let from = now_millis - window_millis as i64;
    let first = from.div_euclid(step) * step;
    (0..).map(|index| first + index * step).take_while(|at| *at <= now_millis + step).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use timeline::fact::{Meta, ReplicaSetCounts, ReplicaSetFact, ReplicaSetNow, Seen};
    use timeline::{Fact, Uid};

    use super::*;
    use crate::detail::rollouts::tests::{deployment, timeline_of};

    #[test]
    fn the_window_of_a_rollout_by_recreate_begins_with_its_take_down() {
        let web = Uid::from_bits(1);
        let set = |number: u128, revision: u64, desired: u32| {
            let (uid, name) = (Uid::from_bits(number), format!("web-{revision}"));
            let meta = Meta { uid, namespace: "shop".into(), name, controller: Some(web), ..Meta::default() };
            let counts = ReplicaSetCounts { desired, ..ReplicaSetCounts::default() };
            let now = ReplicaSetNow { counts, ..ReplicaSetNow::default() };
            Box::new(ReplicaSetFact { meta, revision: Some(revision), now, ..ReplicaSetFact::default() })
        };
        let timeline = timeline_of([
            (0, Fact::Deployment(deployment(1), Seen::Added)),
            (0, Fact::ReplicaSet(set(2, 1, 3), Seen::Added)),
            (60_000, Fact::ReplicaSet(set(2, 1, 0), Seen::Modified)),
            (120_000, Fact::ReplicaSet(set(3, 2, 3), Seen::Added)),
            (120_000, Fact::Deployment(deployment(2), Seen::Modified)),
        ]);
        let model = timeline.model();
        let known = model.deployments.get(&web);
        assert_eq!(known.unwrap().rollouts.last().unwrap().started_millis, Some(120_000));
        assert_eq!(window_millis(model, known, 130_000), 75_000.0);
    }

    #[test]
    fn the_window_of_a_rollout_grows_in_steps_of_a_third_at_most() {
        let steps = WINDOWS.windows(2).map(|pair| pair[1] / pair[0]);
        assert!(steps.clone().all(|step| (1.1..=4.0 / 3.0 + 1e-9).contains(&step)), "{:?}", steps.collect::<Vec<_>>());
        assert_eq!(WINDOWS.last().map(|seconds| seconds * 1_000.0), Some(LONGEST_MILLIS));
    }

    /// Returns a Deployment whose first rollout began after a second and is not complete.
    pub(crate) fn rolling_out(deleted_millis: Option<Millis>) -> Deployment {
        let rollout = Rollout { revision: 1, started_millis: Some(1_000), ..Rollout::default() };
        Deployment { uid: Uid::from_bits(1), rollouts: vec![rollout], deleted_millis, ..Deployment::default() }
    }

    #[test]
    fn a_rollout_is_over_with_its_deployment() {
        let over = |deleted_millis| EndedRollout::from_model(&Model::default(), &rolling_out(deleted_millis));
        assert_eq!(over(None), None, "it goes on");
        assert_eq!(over(Some(50_000)), Some(EndedRollout { began_millis: 1_000, settled_millis: 50_000 }));
    }

    #[test]
    fn a_rollout_that_is_over_is_shown_from_a_tenth_before_it_to_a_tenth_after_it() {
        let over = EndedRollout { began_millis: 100_000, settled_millis: 140_000 };
        assert_eq!(over.until_millis(), 144_000);
        assert_eq!(over.window_millis(144_000), 48_000.0);
        assert_eq!(over.window_millis(100_000), 12_000.0, "while it plays, the window grows in steps");
        assert_eq!(over.window_millis(110_000), 15_000.0);
        let short = EndedRollout { began_millis: 100_000, settled_millis: 100_000 };
        assert_eq!((short.until_millis(), short.window_millis(100_300)), (100_300, 600.0));
    }

    #[test]
    fn zoom_has_its_ends() {
        assert_eq!(zoomed(60_000.0, 0.5), 30_000.0);
        assert_eq!(zoomed(60_000.0, 0.001), NARROWEST_MILLIS);
        assert_eq!(zoomed(60_000.0, 1e6), WIDEST_MILLIS);
    }

    #[test]
    fn the_window_glides_as_fast_with_few_frames_as_with_many() {
        let glide = |frames: usize| (0..frames).fold(60_000.0, |at, _| glided(at, 30_000.0, 360.0 / frames as f64));
        for frames in [1, 3, 20, 90] {
            assert!((glide(frames) - 31_875.0).abs() < 0.1, "{frames} frames in 360 ms: {}", glide(frames));
        }
        assert_eq!(glided(60_000.0, 30_000.0, 0.0), 60_000.0);
        assert_eq!(glided(60_000.0, 30_000.0, 5_000.0), 30_000.0);
        assert_eq!(glided(60_000.0, 30_000.0, f64::INFINITY), 30_000.0, "who wants no motion gets none");
        assert_eq!(glided(30_049.0, 30_000.0, 0.0), 30_000.0);
    }

    #[test]
    fn no_picture_is_larger_than_browsers_can_paint() {
        assert_eq!(sharpness(2.0, 1_400.0, 700.0), 2.0);
        for (width, height) in [(1_400.0, 60_000.0), (20_000.0, 500.0), (8_000.0, 8_000.0)] {
            let ratio = sharpness(2.0, width, height);
            assert!(width * ratio <= MOST_SIDE && height * ratio <= MOST_SIDE);
            assert!(width * ratio * height * ratio <= MOST_PIXELS + 1.0);
        }
    }

    #[test]
    fn ticks_are_few_and_cover_the_window() {
        for window in [12_000.0, 45_000.0, 600_000.0] {
            let ticks = ticks(1_000_123, window, 800.0);
            assert!((3..=11).contains(&ticks.len()), "{window}: {ticks:?}");
            assert!(ticks.first().unwrap() <= &(1_000_123 - window as i64) && ticks.last().unwrap() >= &1_000_123);
        }
    }
}
