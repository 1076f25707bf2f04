//! The time at which a Deployment is assessed.

use crate::Millis;

/// The time, and how our clock and the API server's differ.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Our clock.
    pub millis: Millis,
    /// Our clock less the API server's.
    pub skew_millis: Millis,
}
