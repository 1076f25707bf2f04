//! Times and limits of the watch loop.

use std::time::Duration;

/// Settings of the watch loop. Tests shorten the times.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Objects per page of a list.
    pub page_size: u32,
    /// A watch that ends sooner counts as a failure.
    pub min_watch_lifetime: Duration,
    /// Longest back-off. Together with the time to earn a request it stays within five seconds.
    pub max_backoff: Duration,
    /// First back-off; doubled with every failure.
    pub first_backoff: Duration,
    /// Failures in a row after which the position is given up and everything is listed again.
    pub failures_before_relist: u32,
    /// Burst of requests of one watch that return nothing. A page of a list with objects does not count.
    pub burst: u32,
    /// Time after which the watch may send one more such request.
    pub earn: Duration,
    /// Time between two liveness probes, also the time that one may take.
    pub probe: Duration,
    /// Silence after which a cluster is stale. Reported at most one probe later; both together must stay within ten seconds.
    pub silence: Duration,
    /// Lifetime of a watch, after which the server ends it. With the margin this is the longest time that a dead
    /// connection goes unnoticed while others are alive.
    pub watch_seconds: u32,
    /// Longest lifetime of watches. With many namespaces watches last longer, so that those of a cluster together begin
    /// about one a second. One watch keeps the short lifetime: if it is found dead, all connections are made again.
    pub most_watch_seconds: u32,
    /// Total lifetime of watches in which they receive at least one bookmark: API servers send one each minute, and one
    /// before they end a watch.
    pub bookmark: Duration,
    /// Time after its lifetime at which a watch that has not ended counts as dead, and is ended on our side.
    pub watch_margin: Duration,
    /// Longest wait for a response to begin, and for each further piece of it.
    pub answer: Duration,
    /// Longest time of one page of a list, from the request to its last byte; for a streamed list, the longest time until its next new
    /// object.
    pub page: Duration,
    /// Time limit of a command that fetches credentials, and of the other steps of fetching that may hang.
    pub credentials: Duration,
    /// Longest time of a command that prompts.
    pub credentials_interactive: Duration,
    /// Wait after the kubeconfig and its files were read again. For commands: the first wait, doubled with every run, and the longest.
    pub renewal: [Duration; 2],
    /// At the start, credentials that take longer than this count as silence.
    pub patience: Duration,
    /// Time after which credentials that could not be fetched at the start are requested again.
    pub again: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            page_size: 500,
            min_watch_lifetime: Duration::from_secs(1),
            max_backoff: Duration::from_millis(3_500),
            first_backoff: Duration::from_millis(400),
            failures_before_relist: 3,
            // At most 8 + 60/1.2 = 58 requests without a result in any minute: less than one per second, whatever the server does.
            burst: 8,
            earn: Duration::from_millis(1200),
            probe: Duration::from_secs(3),
            silence: Duration::from_secs(7),
            watch_seconds: 20,
            most_watch_seconds: 110,
            bookmark: Duration::from_secs(90),
            watch_margin: Duration::from_secs(5),
            // An API server ends its own handling of a list after 60 s; a response that has not begun after half of that counts as failed.
            answer: Duration::from_secs(30),
            page: Duration::from_secs(120),
            credentials: Duration::from_secs(30),
            credentials_interactive: Duration::from_secs(180),
            renewal: [Duration::from_secs(2), Duration::from_secs(60)],
            patience: Duration::from_secs(8),
            again: Duration::from_secs(20),
        }
    }
}
