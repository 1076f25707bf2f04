//! A rollout in one HTML file: everything that its page shows, with the sentences and details of each moment. The file has no server; the
//! record in it answers the requests that other pages send to a server. The page itself is `pages::exported`.
//!
//! Sentences are stored as deltas ([`SaidDelta`]), with whole sentences at every [`WHOLE_EVERY`]th place, so that any moment is found
//! without reading all of them.

use std::sync::Arc;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use timeline::Millis;
use timeline::wire::{Moment, Said, SaidDelta};

use crate::detail::Detail;

/// Distance between entries with whole sentences; those in between are deltas.
pub const WHOLE_EVERY: usize = 64;

/// The verdicts, stories and details of a rollout, with their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Start of the known moments.
    pub from_millis: Millis,
    /// The last moment shown.
    pub to_millis: Millis,
    /// Verdict and story by time: whole sentences, each followed by deltas.
    pub told: Vec<(Millis, SaidDelta)>,
    /// Pods, revisions and the list of rollouts, by their paths below the page ([`timeline::address::pod`]), each with its versions by
    /// time.
    pub details: Vec<(String, Vec<(Millis, Detail)>)>,
    /// Version of Rollcast that made the file.
    pub version: String,
}

impl Record {
    /// Returns the verdict and the story at a time: the last ones until then.
    pub fn moment(&self, at_millis: Millis) -> Moment {
        let count = self.told.partition_point(|(at, _)| *at <= at_millis);
        let first = count.saturating_sub(1) / WHOLE_EVERY * WHOLE_EVERY;
        let said = (count > 0 && at_millis >= self.from_millis).then(|| {
            let mut said = Said::default();
            self.told.get(first..count).into_iter().flatten().for_each(|(_, delta)| said.take(delta.clone()));
            said
        });
        Moment { at_millis, said }
    }

    /// Returns a detail at a time; `None` if it did not exist yet.
    pub fn detail(&self, path: &str, at_millis: Option<Millis>) -> Option<Detail> {
        let (_, told) = self.details.iter().find(|(known, _)| known == path)?;
        let at_millis = at_millis.unwrap_or(self.to_millis);
        let (_, detail) = told.iter().rev().find(|(since, _)| *since <= at_millis)?;
        Some(match detail {
            Detail::Pod(pod) => Detail::Pod(Box::new(pod.as_ref().clone().at(at_millis))),
            detail => detail.clone(),
        })
    }
}

/// The exported file around a page, for all components on it.
#[derive(Clone)]
pub struct Exported {
    /// The record that answers in place of a server.
    pub record: Arc<Record>,
    /// The moment that the page shows; `None` for the end.
    shown_millis: StoredValue<Option<Millis>>,
}

impl Exported {
    /// Returns the exported file around this component; `None` if there is a server.
    pub fn of_app() -> Option<Self> {
        use_context()
    }

    /// Sets the moment that the page shows.
    pub fn show(&self, moment: Option<Millis>) {
        self.shown_millis.set_value(moment);
    }

    /// Returns a detail at the moment that the page shows.
    pub fn detail(&self, path: &str) -> Option<Detail> {
        self.record.detail(path, self.shown_millis.get_value())
    }

    /// Provides the record to all components, so that they know that the page is a file.
    pub(crate) fn provide(record: Record) {
        provide_context(Self { record: Arc::new(record), shown_millis: StoredValue::new(None) });
    }
}

#[cfg(test)]
mod tests {
    use timeline::story::{Line, LineKind};

    use super::*;

    #[test]
    fn a_moment_is_what_was_said_last_before_it() {
        let line = |number: i64| Line { at_millis: number, kind: LineKind::Step, text: format!("line {number}") };
        let said = |number: i64| Said { story: (1..=number).map(line).collect(), ..Said::default() };
        let told = (1..=200_i64).map(|number| {
            let before = if (number - 1) % WHOLE_EVERY as i64 == 0 { Said::default() } else { said(number - 1) };
            (number * 10, said(number).delta_since(&before).unwrap())
        });
        let told = told.collect();
        let record = Record { from_millis: 10, to_millis: 9_000, told, details: Vec::new(), version: String::new() };
        for (at, lines) in [(10, 1), (19, 1), (20, 2), (640, 64), (645, 64), (650, 65), (1_290, 129), (9_000, 200)] {
            let moment = record.moment(at);
            assert_eq!((moment.at_millis, moment.said), (at, Some(said(lines))), "{at}");
        }
        assert_eq!(record.moment(9).said, None);
    }
}
