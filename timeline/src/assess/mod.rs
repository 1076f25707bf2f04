//! Judges the state of a Deployment: counts, causes with their severity, the verdict as data, and the way out.
//! Owns [`Assessment`] and everything that it is made of; the time is an argument ([`Now`]).
//! Must not know words, pages or what travels.

mod alike;
pub mod assessment;
pub mod cause;
pub mod counts;
pub mod crash;
pub mod episode;
pub mod failed_pods;
mod nodes;
pub mod pod_causes;
mod readiness;
pub mod refusals;
pub mod remedy;
pub mod rest;
pub mod rollout_causes;
pub mod severity;
pub mod standing;

pub use assessment::{Assessment, Hold, Now};
pub use cause::{
    Cause, CauseKind, CrashCause, Evidence, Obstacle, Refused, Severity, StartStep, StartTime, pull_failure,
};
pub use counts::{Counts, SetCounts};
pub use episode::{Episode, Restarted, episode, find_set_refusal, losses, outage};
pub use remedy::Remedy;
pub use standing::{Standing, Tone};
