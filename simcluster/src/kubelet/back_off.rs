//! How long a kubelet waits before it tries again: ten seconds at first, twice as long each time, five minutes at most; what went well for
//! ten minutes begins again (client-go `util/flowcontrol/backoff.go`).

use super::{BACK_OFF_MILLIS, MAX_BACK_OFF_MILLIS};

/// A wait, and when it was made longer last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BackOff {
    /// How long.
    pub millis: i64,
    since: i64,
}

impl BackOff {
    fn is_forgotten(self, at: i64) -> bool {
        at - self.since > 2 * MAX_BACK_OFF_MILLIS
    }

    /// The wait after another failure that happened at `failed`.
    pub fn next(known: Option<Self>, failed: i64, now: i64) -> Self {
        let millis = match known.filter(|known| !known.is_forgotten(failed)) {
            Some(known) => (known.millis * 2).min(MAX_BACK_OFF_MILLIS),
            None => BACK_OFF_MILLIS,
        };
        Self { millis, since: now }
    }

    /// Until when to wait after what ended at `ended`; `None` if that is over.
    pub fn until(self, ended: i64, now: i64) -> Option<i64> {
        let end = ended + self.millis;
        (!self.is_forgotten(ended) && now < end).then_some(end)
    }

    /// Whether the wait since it was made longer is not over.
    pub fn is_waiting(self, now: i64) -> bool {
        self.until(self.since, now).is_some()
    }
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
}
