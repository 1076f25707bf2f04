//! A list as the browser knows it: its lines, and the clocks of its clusters, carried on by the browser's own ticking.

use timeline::list::{Copy, News};

use super::client::page_millis;
use super::clock::Clock;
use crate::list::Ages;

/// What is known of a list.
pub(super) struct Known {
    pub(super) copy: Copy,
    clocks: Vec<Clock>,
}

impl Known {
    /// As the server rendered it.
    pub(super) fn of(copy: Copy) -> Self {
        Self { clocks: clocks(&copy), copy }
    }

    /// Takes what is new.
    pub(super) fn hear(&mut self, news: News, page_millis: f64) {
        let is_anew = news.is_anew;
        self.copy.hear(news);
        if is_anew {
            self.clocks = clocks(&self.copy);
        }
        for (clock, cluster) in self.clocks.iter_mut().zip(&self.copy.overall.clusters) {
            clock.hear(cluster.now_millis, page_millis);
            clock.set_pace(&cluster.connection, true, page_millis);
        }
    }

    /// The clusters' clocks now.
    pub(super) fn ages(&self, page_millis: f64) -> Ages {
        Ages(self.clocks.iter().map(|clock| clock.now_millis(page_millis)).collect())
    }
}

fn clocks(copy: &Copy) -> Vec<Clock> {
    copy.overall.clusters.iter().map(|cluster| Clock::new(cluster.now_millis, page_millis())).collect()
}
