//! Waiting in tests: for a state, never for a time.

use std::time::{Duration, Instant};

/// Polls a condition; fails after a deadline that only a defect reaches.
pub async fn until(what: &str, condition: impl AsyncFnMut() -> bool) {
    until_or(|| what.to_owned(), condition).await;
}

/// The same; what is missing is told as it is at the deadline.
pub async fn until_or(what: impl Fn() -> String, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition().await {
        assert!(Instant::now() < deadline, "never came: {}", what());
        tokio::time::sleep(Duration::from_millis(5)).await; // polling with a deadline
    }
}
