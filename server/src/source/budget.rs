//! How many requests one watch may make: what the server does cannot make it more.
//!
//! Requests take from a bucket. Lists of large clusters are many requests at once, so each page after the first may take from
//! a second bucket, which is large and fills slowly, and only then from the first. Together they earn less than one
//! request a second.

use tokio::time::Instant;

use super::Pace;
use super::backoff::Bucket;

/// The requests of one watch.
#[derive(Debug)]
pub(super) struct RequestBudget {
    started: Instant,
    requests: Bucket,
    pages: Bucket,
}

impl RequestBudget {
    pub(super) fn new(pace: &Pace) -> Self {
        Self {
            started: Instant::now(),
            requests: Bucket::new(pace.burst, pace.earn),
            pages: Bucket::new(pace.page_burst, pace.page_earn),
        }
    }

    /// Waits until one more request may be made.
    pub(super) async fn request(&mut self) {
        tokio::time::sleep(self.requests.take(self.started.elapsed())).await;
    }

    /// Waits until one more page may be asked for.
    pub(super) async fn page(&mut self) {
        if !self.pages.take_at_once(self.started.elapsed()) {
            self.request().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn twenty_thousand_objects_are_listed_at_once_and_never_more_than_a_request_a_second_over_time() {
        let mut budget = RequestBudget::new(&Pace::default());
        let begun = Instant::now();
        budget.request().await;
        for _ in 1..40 {
            budget.page().await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO, "40 pages of 500");
        // A server whose lists never end.
        let mut pages = 40;
        while begun.elapsed() < Duration::from_secs(1_800) {
            budget.page().await;
            pages += 1;
        }
        assert!((1_500..1_800).contains(&pages), "{pages} in half an hour");
    }
}
