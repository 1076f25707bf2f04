//! When credentials of a cluster are renewed: one renewal at a time, and waits between them, longer ones between runs of a
//! command.

use std::time::Duration;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::pace::Pace;

/// Times of the renewals of one cluster's credentials.
#[derive(Default)]
pub(super) struct Renewals {
    is_under_way: bool,
    /// Earliest time of the next renewal.
    next: Option<Instant>,
    /// Settings of the last command that was wanted: the waits are between its runs.
    command_settings: Option<u64>,
    /// Waits between runs of the command.
    backoff: Backoff,
    /// End of the command's last run.
    command_ended: Option<Instant>,
    /// Earliest time of the command's next run.
    next_command: Option<Instant>,
}

impl Renewals {
    /// Begins a renewal; returns whether that is allowed now.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        if self.is_under_way || self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.is_under_way = true;
        true
    }

    /// Ends a renewal. While the cluster does not respond, the next one begins with the first probe after the wait.
    pub(super) fn end(&mut self, now: Instant, pace: &Pace) {
        let [first, _] = pace.renewal;
        self.is_under_way = false;
        self.next = Some(now + first);
    }

    /// Returns whether the command of these settings may run now. The first one of other settings may: it does not wait for
    /// runs of another command.
    pub(super) fn may_run_command(&mut self, settings: u64, now: Instant, pace: &Pace) -> bool {
        if self.command_settings.replace(settings) != Some(settings) {
            self.backoff.reset();
            self.next_command = None;
        }
        if self.next_command.is_some_and(|next| now < next) {
            return false;
        }
        let [_, longest] = pace.renewal;
        // Credentials that lasted long reset the back-off: the next refusal has another cause.
        if self.command_ended.is_some_and(|ended| now.duration_since(ended) > longest * 2) {
            self.backoff.reset();
        }
        true
    }

    /// Records that the command has run. `left` is the remaining lifetime of the present credentials, if it is known and not over.
    pub(super) fn end_command(&mut self, now: Instant, left: Option<Duration>, pace: &Pace) {
        let [first, longest] = pace.renewal;
        self.command_ended = Some(now);
        let mut wait = self.backoff.fail(first, longest, 1.0);
        // Some commands return the same credentials until these have expired, or will in a few seconds.
        if let Some(half) = left.map(|left| left / 2).filter(|half| *half < wait) {
            self.backoff.reset();
            wait = half.max(first);
        }
        self.next_command = Some(now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds at which the command runs if renewals are always wanted and begin every other second. `expires` is the
    /// expiry of the credentials.
    fn runs(renewals: &mut Renewals, start: Instant, lasts: u64, expires: Option<u64>) -> Vec<u64> {
        let pace = Pace::default();
        let (mut begins, mut runs) = (Vec::new(), Vec::new());
        for second in 0..lasts {
            let now = start + Duration::from_secs(second);
            if !renewals.begin(now) {
                continue;
            }
            assert!(!renewals.begin(now), "two at a time");
            begins.push(second);
            if renewals.may_run_command(1, now, &pace) {
                let left = expires.and_then(|end| end.checked_sub(second)).filter(|left| *left > 0);
                renewals.end_command(now, left.map(Duration::from_secs), &pace);
                runs.push(second);
            }
            renewals.end(now, &pace);
        }
        assert!(begins.into_iter().eq((0..lasts).step_by(2)), "files are read at one pace");
        runs
    }

    #[test]
    fn commands_run_one_at_a_time_and_further_and_further_apart() {
        let (mut renewals, start) = (Renewals::default(), Instant::now());
        assert_eq!(runs(&mut renewals, start, 300, None), [0, 2, 6, 14, 30, 62, 122, 182, 242]);
        let later = start + Duration::from_secs(430);
        assert_eq!(runs(&mut renewals, later, 3, None), [0, 2], "the waits start over after a long good time");
    }

    #[test]
    fn a_command_of_other_settings_does_not_wait_for_runs_of_the_one_before() {
        let (mut renewals, start, pace) = (Renewals::default(), Instant::now(), Pace::default());
        assert_eq!(runs(&mut renewals, start, 100, None), [0, 2, 6, 14, 30, 62]);
        let mut may_run = |settings, second| {
            let now = start + Duration::from_secs(second);
            let may_run = renewals.may_run_command(settings, now, &pace);
            if may_run {
                renewals.end_command(now, None, &pace);
            }
            may_run
        };
        assert!(!may_run(1, 100) && may_run(2, 100), "only the mended one runs");
        assert!(!may_run(2, 101) && may_run(2, 102), "its waits begin with the shortest");
    }

    #[test]
    fn credentials_that_a_command_returns_until_they_expire_are_renewed_about_then() {
        let runs = runs(&mut Renewals::default(), Instant::now(), 100, Some(60));
        assert_eq!(runs, [0, 2, 6, 14, 30, 46, 48, 52, 56, 58, 60, 62, 66, 74, 90]);
    }
}
