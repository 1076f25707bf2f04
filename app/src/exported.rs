//! A rollout in a file of its own: everything that its page shows, with what was said and told at each moment. There is no server
//! behind such a page; what other pages ask a server, this answers. The page itself is `pages::exported`.
//!
//! Sentences are stored as deltas ([`SaidDelta`]), with a whole text at every [`WHOLE_EVERY`]th place, so that any moment is found
//! without reading all of them.

use std::sync::Arc;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use timeline::wire::{Moment, Said, SaidDelta};
use timeline::{Millis, Uid};

use crate::detail::Detail;

/// So many changes of what is said follow a whole word.
pub const WHOLE_EVERY: usize = 64;

/// The verdicts, stories and details of a rollout, with their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// From when on moments are known.
    pub from_millis: Millis,
    /// The last moment shown.
    pub to_millis: Millis,
    /// Verdict and story by time: after each whole one the changes of it.
    pub told: Vec<(Millis, SaidDelta)>,
    /// Pods, revisions and the list of rollouts, by their paths below the page ([`timeline::address::pod`]): what was told of each from
    /// when on.
    pub details: Vec<(String, Vec<(Millis, Detail)>)>,
    /// Why each pod was in its state, from when on; empty from when on there was no reason.
    pub reasons: Vec<(Uid, Vec<(Millis, String)>)>,
    /// Which version of Rollcast made it.
    pub version: String,
}

impl Record {
    /// Returns the verdict, the story and the reasons of pods at a time: the last ones before it.
    pub fn moment(&self, at_millis: Millis) -> Moment {
        let count = self.told.partition_point(|(at, _)| *at <= at_millis);
        let first = count.saturating_sub(1) / WHOLE_EVERY * WHOLE_EVERY;
        let said = (count > 0 && at_millis >= self.from_millis).then(|| {
            let mut said = Said::default();
            self.told.get(first..count).into_iter().flatten().for_each(|(_, delta)| said.take(delta.clone()));
            said
        });
        let reason = |(uid, told): &(Uid, Vec<(Millis, String)>)| {
            let (_, reason) = told.iter().rev().find(|(since, _)| *since <= at_millis)?;
            (!reason.is_empty()).then(|| (*uid, reason.clone()))
        };
        let reasons = self.reasons.iter().filter_map(reason).collect();
        Moment { at_millis, said, reasons }
    }

    /// Returns a detail at a time; `None` when it was not there yet.
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

/// The file that a page is, for all components on it.
#[derive(Clone)]
pub struct Exported {
    /// The record that answers in the place of a server.
    pub record: Arc<Record>,
    /// The moment that the page shows; `None` for the end.
    shown_millis: StoredValue<Option<Millis>>,
}

impl Exported {
    /// The file that the page around this component is; `None` where there is a server.
    pub fn of_app() -> Option<Self> {
        use_context()
    }

    /// The page shows this moment from here on.
    pub fn show(&self, moment: Option<Millis>) {
        self.shown_millis.set_value(moment);
    }

    /// Returns a detail at the moment that the page shows.
    pub fn detail(&self, path: &str) -> Option<Detail> {
        self.record.detail(path, self.shown_millis.get_value())
    }

    /// Lets every component around here know that the page is a file.
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
        let (details, version) = (Vec::new(), String::new());
        let reason = |at: i64, reason: &str| (at, reason.to_owned());
        let uid = Uid::from_bits(1);
        let reasons = vec![(uid, vec![reason(20, "ErrImagePull"), reason(30, "ImagePullBackOff"), reason(40, "")])];
        let record = Record { from_millis: 10, to_millis: 9_000, told, details, reasons, version };
        for (at, lines) in [(10, 1), (19, 1), (20, 2), (640, 64), (645, 64), (650, 65), (1_290, 129), (9_000, 200)] {
            let moment = record.moment(at);
            assert_eq!((moment.at_millis, moment.said), (at, Some(said(lines))), "{at}");
        }
        assert_eq!(record.moment(9).said, None);
        let told = |reason: &str| vec![(uid, reason.to_owned())];
        let expected = [Vec::new(), told("ErrImagePull"), told("ImagePullBackOff"), Vec::new()];
        assert_eq!([19, 29, 30, 40].map(|at| record.moment(at).reasons), expected);
    }
}
