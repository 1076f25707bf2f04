//! A list as the browser knows it: its lines, and the clocks of its clusters, carried on by the browser's own ticking. Pure: the
//! browser's time is an argument.

use timeline::list::{Copy, News};

use crate::list::Ages;
use crate::live::clock::Clock;

/// What is known of a list.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Its lines.
    pub copy: Copy,
    clocks: Vec<Clock>,
}

impl Known {
    /// As the server rendered it.
    #[must_use]
    pub fn of(copy: Copy, page_millis: f64) -> Self {
        Self { clocks: clocks(&copy, page_millis), copy }
    }

    /// Takes what is new.
    pub fn hear(&mut self, news: News, page_millis: f64) {
        let is_anew = news.is_anew;
        self.copy.hear(news);
        if is_anew || self.clocks.len() != self.copy.overall.clusters.len() {
            self.clocks = clocks(&self.copy, page_millis);
        }
        for (clock, cluster) in self.clocks.iter_mut().zip(&self.copy.overall.clusters) {
            clock.hear(cluster.now_millis, page_millis);
            clock.set_pace(&cluster.connection, true, page_millis);
        }
    }

    /// The clusters' clocks now.
    #[must_use]
    pub fn ages(&self, page_millis: f64) -> Ages {
        Ages(self.clocks.iter().map(|clock| clock.now_millis(page_millis)).collect())
    }
}

fn clocks(copy: &Copy, page_millis: f64) -> Vec<Clock> {
    copy.overall.clusters.iter().map(|cluster| Clock::new(cluster.now_millis, page_millis)).collect()
}
