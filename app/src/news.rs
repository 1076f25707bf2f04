//! Decides which changes of a Deployment a notification or a tone announces: that it is healthy, or in trouble. Pure.
//!
//! The same state is not announced twice in a row, and there is at least a minute between two announcements about the same revision: a
//! flapping readiness probe would otherwise ring every few seconds. A change within that minute is announced at its end, if it is still
//! true.

use timeline::view::Tone;

/// Tone of a Deployment's verdict, and the revision of its last rollout.
pub type DeploymentState = (Tone, Option<u64>);

/// Minimum time between two announcements about one revision, in milliseconds.
pub const QUIET_MILLIS: f64 = 60_000.0;

/// The last observed and the last announced state of a Deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    observed: Option<DeploymentState>,
    /// The last announced state, or the first observed one.
    announced: Option<DeploymentState>,
    announced_millis: Option<f64>,
    is_waiting: bool,
}

impl News {
    /// Takes the state of a Deployment; `None` while it is not known. Returns the announcement to make now. Trouble in the first
    /// observation is announced only if it is known to be new.
    pub fn observe(&mut self, now: Option<DeploymentState>, is_new_trouble: bool, page_millis: f64) -> Option<Tone> {
        let before = std::mem::replace(&mut self.observed, now.filter(|(tone, _)| *tone != Tone::Quiet));
        let Some((tone, _)) = &self.observed else {
            self.is_waiting = false;
            return None;
        };
        let is_end = matches!(tone, Tone::Ok | Tone::Bad);
        match before {
            None if is_new_trouble && *tone == Tone::Bad => self.is_waiting = true,
            None if is_end => self.announced = self.observed,
            Some((before, _)) if is_end && before != *tone => self.is_waiting = true,
            _ => {}
        }
        self.due_announcement(page_millis)
    }

    /// Returns an earlier change whose announcement is due.
    pub fn due_announcement(&mut self, page_millis: f64) -> Option<Tone> {
        let (tone, revision) = self.observed.filter(|(tone, _)| matches!(tone, Tone::Ok | Tone::Bad))?;
        let is_of_told = self.announced.is_some_and(|(_, told)| told == revision);
        let is_quiet = is_of_told && self.announced_millis.is_some_and(|told| page_millis - told < QUIET_MILLIS);
        if !self.is_waiting || is_quiet {
            return None;
        }
        self.is_waiting = false;
        if self.announced == self.observed {
            return None;
        }
        self.announced = self.observed;
        self.announced_millis = Some(page_millis);
        Some(tone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the announcements, and their times, for changes at these seconds, checked every second.
    fn told(heard: &[(u32, Option<Tone>, u64)], until: u32) -> Vec<(u32, Tone)> {
        let mut news = News::default();
        let mut all = Vec::new();
        for second in 0..=until {
            let now = f64::from(second) * 1_000.0;
            for (_, tone, revision) in heard.iter().filter(|(at, ..)| *at == second) {
                all.extend(
                    news.observe(tone.map(|tone| (tone, Some(*revision))), false, now).map(|tone| (second, tone)),
                );
            }
            all.extend(news.due_announcement(now).map(|tone| (second, tone)));
        }
        all
    }

    #[test]
    fn what_changes_for_good_or_bad_is_told_at_once() {
        let heard = [(0, Some(Tone::Busy), 1), (5, Some(Tone::Ok), 1)];
        assert_eq!(told(&heard, 200), [(5, Tone::Ok)]);
        let heard = [(0, Some(Tone::Ok), 1), (5, Some(Tone::Bad), 1), (90, Some(Tone::Ok), 1)];
        assert_eq!(told(&heard, 200), [(5, Tone::Bad), (90, Tone::Ok)]);
        for silent in [
            [(0, None, 1), (1, Some(Tone::Ok), 1)],
            [(0, Some(Tone::Ok), 1), (1, Some(Tone::Ok), 1)],
            [(0, Some(Tone::Ok), 1), (1, Some(Tone::Busy), 1)],
            [(0, Some(Tone::Bad), 1), (1, None, 1)],
            [(0, Some(Tone::Busy), 1), (1, Some(Tone::Quiet), 1)],
        ] {
            assert_eq!(told(&silent, 200), [], "{silent:?}");
        }
    }

    #[test]
    fn trouble_that_is_heard_first_is_told_where_it_is_new() {
        let state = |tone| Some((tone, Some(1)));
        let told = |tone, is_new| {
            let mut news = News::default();
            // The state is unknown before the stream begins.
            [None, state(tone), state(tone), None, state(tone)].map(|heard| news.observe(heard, is_new, 0.0))
        };
        assert_eq!(told(Tone::Bad, true), [None, Some(Tone::Bad), None, None, None]);
        assert_eq!(told(Tone::Bad, false), [None; 5]);
        assert_eq!(told(Tone::Ok, true), [None; 5], "it passed before it was heard");
    }

    #[test]
    fn what_flaps_is_told_once_and_never_more_often_than_once_a_minute() {
        let flapping = |low: Tone| -> Vec<(u32, Option<Tone>, u64)> {
            (0..40).map(|turn| (turn * 7, Some(if turn % 2 == 0 { Tone::Ok } else { low }), 1)).collect()
        };
        assert_eq!(told(&flapping(Tone::Busy), 300), [], "it is as it was");
        let all = told(&flapping(Tone::Bad), 300);
        assert!(!all.is_empty());
        assert!(all.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 60), "{all:?}");
    }

    #[test]
    fn what_comes_too_soon_is_told_later_if_it_still_is_so_and_another_revision_at_once() {
        let begin = [(0, Some(Tone::Busy), 1), (5, Some(Tone::Ok), 1), (15, Some(Tone::Busy), 1)];
        let with = |more: &[(u32, Option<Tone>, u64)]| told(&[&begin[..], more].concat(), 200);
        assert_eq!(with(&[(30, Some(Tone::Bad), 1)]), [(5, Tone::Ok), (65, Tone::Bad)]);
        assert_eq!(with(&[(30, Some(Tone::Bad), 1), (40, Some(Tone::Ok), 1)]), [(5, Tone::Ok)]);
        assert_eq!(with(&[(30, Some(Tone::Bad), 2)]), [(5, Tone::Ok), (30, Tone::Bad)]);
        assert_eq!(with(&[(30, Some(Tone::Ok), 2)]), [(5, Tone::Ok), (30, Tone::Ok)]);
    }
}
