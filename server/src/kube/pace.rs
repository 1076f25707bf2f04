//! Times and limits of the watch loop.

use std::time::Duration;

/// Settings of the watch loop. Tests shorten the times.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Objects per page of a list.
    pub page_size: u32,
    /// A watch that ends sooner counts as a failure.
    pub min_watch_lifetime: Duration,
    /// Longest back-off. With the time in which a request is earned it stays within five seconds.
    pub max_backoff: Duration,
    /// First back-off; doubled with every failure.
    pub first_backoff: Duration,
    /// Failures in a row after which the position is given up and everything is listed again.
    pub failures_before_relist: u32,
    /// Requests of one watch that may bring nothing and come at once. A page of a list that brings objects is none of them.
    pub burst: u32,
    /// Time in which one more of those is earned.
    pub earn: Duration,
    /// Time between two liveness probes, also the time that one may take.
    pub probe: Duration,
    /// Silence after which a cluster is stale. Told at the latest one probe later, which together must stay within ten seconds.
    pub silence: Duration,
    /// After this long the server ends a watch. With the margin this is the longest that a connection which died without a word goes
    /// unnoticed while others live.
    pub watch_seconds: u32,
    /// With many namespaces watches last longer, so that all of a cluster together begin about one a second, but not longer than this. One
    /// does not: if it is found dead, all connections are made again.
    pub most_watch_seconds: u32,
    /// Watches that live this long together are told how far they are at least once: API servers do so once a minute, and before they
    /// end a watch.
    pub bookmark: Duration,
    /// A watch that has not ended this long after it should is dead, and is ended on our side.
    pub watch_margin: Duration,
    /// Longest wait for an answer to begin, and for some more of it to come.
    pub answer: Duration,
    /// Longest that one page of a list may take from the request to its last byte, and a list that is streamed to its next new object.
    pub page: Duration,
    /// Longest that a command which fetches credentials may take, and what else of that may hang.
    pub credentials: Duration,
    /// Longest time of a command that asks people.
    pub credentials_interactive: Duration,
    /// First wait after credentials were fetched anew, doubled with every time, and the longest.
    pub renewal: [Duration; 2],
    /// At the start, credentials that take longer than this count as silence.
    pub patience: Duration,
    /// Credentials that could not be had at the start are asked for again after this long.
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
            // At most 8 + 60/1.2 = 58 requests that bring nothing in any minute: under one a second whatever the server does.
            burst: 8,
            earn: Duration::from_millis(1200),
            probe: Duration::from_secs(3),
            silence: Duration::from_secs(7),
            watch_seconds: 20,
            most_watch_seconds: 110,
            bookmark: Duration::from_secs(90),
            watch_margin: Duration::from_secs(5),
            // An API server gives up a list of its own after 60 s; one that has not begun after half of that is not well.
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
