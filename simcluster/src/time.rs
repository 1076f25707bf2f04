//! Virtual time: milliseconds since 1970, and the whole seconds in objects.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

/// Returns the time rounded down to a second, as in objects.
pub fn second(millis: i64) -> Time {
    Time(Timestamp::from_second(millis.div_euclid(1000)).unwrap_or_default())
}

/// Returns the time with its fraction, as in Leases and the scheduler's Events.
pub fn micro(millis: i64) -> MicroTime {
    MicroTime(Timestamp::from_millisecond(millis).unwrap_or_default())
}

pub fn millis(time: &Time) -> i64 {
    time.0.as_millisecond()
}

/// Returns a time rounded down to a second, plus seconds.
pub fn after(millis: i64, seconds: i64) -> Time {
    let moment = second(millis).0;
    Time(moment.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(moment))
}
