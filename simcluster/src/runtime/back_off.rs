//! Back-off of a kubelet: ten seconds at first, doubled each time, five minutes at most; ten minutes without a failure reset it
//! (client-go `util/flowcontrol/backoff.go`).

/// First and longest back-off of a kubelet, for containers and images alike.
const BACK_OFF_MILLIS: i64 = 10_000;
const MAX_BACK_OFF_MILLIS: i64 = 300_000;

/// A delay, and the time of its last extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackOff {
    pub millis: i64,
    since: i64,
}

impl BackOff {
    fn is_forgotten(self, at: i64) -> bool {
        at - self.since > 2 * MAX_BACK_OFF_MILLIS
    }

    /// Returns the back-off after another failure, which happened at `failed`.
    pub fn next(known: Option<Self>, failed: i64, now: i64) -> Self {
        let millis = match known.filter(|known| !known.is_forgotten(failed)) {
            Some(known) => (known.millis * 2).min(MAX_BACK_OFF_MILLIS),
            None => BACK_OFF_MILLIS,
        };
        Self { millis, since: now }
    }

    /// Returns the end of the back-off after an exit at `ended`; `None` if it is over.
    pub fn until(self, ended: i64, now: i64) -> Option<i64> {
        let end = ended + self.millis;
        (!self.is_forgotten(ended) && now < end).then_some(end)
    }

    /// Returns whether the wait since the last extension is not over.
    pub fn is_waiting(self, now: i64) -> bool {
        self.until(self.since, now).is_some()
    }
}

/// Returns the delay before a crashed container restarts, by its restarts so far. The first restart comes at once.
pub(crate) fn crash_back_off(restarts: i32) -> i64 {
    (BACK_OFF_MILLIS << restarts.saturating_sub(1).clamp(0, 8)).min(MAX_BACK_OFF_MILLIS)
}

/// Returns the delay before an image is pulled again, for a pod of this age: each delay is about as long as all before it.
pub(crate) fn pull_back_off(age_millis: i64) -> i64 {
    (age_millis + BACK_OFF_MILLIS / 2).clamp(BACK_OFF_MILLIS, MAX_BACK_OFF_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes_and_begin_again_after_ten() {
        let (mut known, mut now, mut waits) = (None, 0, Vec::new());
        for _ in 0..7 {
            let next = BackOff::next(known, now, now);
            waits.push(next.millis / 1000);
            assert_eq!(next.until(now, now), Some(now + next.millis));
            now += next.millis;
            assert_eq!(next.until(now - next.millis, now), None);
            known = Some(next);
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300]);
        let failed = now + 2 * MAX_BACK_OFF_MILLIS + 1;
        assert_eq!(BackOff::next(known, failed, failed).millis, BACK_OFF_MILLIS);
    }

    #[test]
    fn crashed_containers_wait_up_to_five_minutes() {
        let waits = |most| (1..=most).map(|restarts| crash_back_off(restarts) / 1000).collect::<Vec<_>>();
        assert_eq!(waits(7), [10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(crash_back_off(i32::MAX), MAX_BACK_OFF_MILLIS);
    }

    #[test]
    fn an_image_is_tried_less_and_less_often() {
        let mut age = 3_000;
        let waits: Vec<i64> = std::iter::repeat_with(|| {
            let wait = pull_back_off(age);
            age += wait + 1_500;
            wait
        })
        .take(7)
        .collect();
        assert_eq!(waits.first(), Some(&BACK_OFF_MILLIS));
        assert!(waits.is_sorted() && waits.ends_with(&[MAX_BACK_OFF_MILLIS]), "{waits:?}");
    }
}
