//! Content of the history page: its rows, its overview, and texts about both.

use timeline::Millis;
use timeline::episodes::{Day, EpisodeRow, Search, TIMES};
use timeline::rollout::Outcome;
use timeline::words::{duration, grouped_count};

use crate::measure::median;
use crate::payload::Preview;

/// A workload with its latest rollouts among the search results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastWorkload {
    /// Its cluster and namespace.
    pub place: (String, String),
    /// Its name.
    pub name: String,
    /// The latest rollouts among the search results, oldest first.
    pub rollouts: Vec<EpisodeRow>,
    /// Number of rows that the search found for it.
    pub total: u32,
}

impl PastWorkload {
    /// Summarises the rollouts: "12 rollouts, 2 with trouble, median 40 s", or "latest 24 of 66 rollouts, …". All figures are about the
    /// listed rollouts.
    pub fn summary(&self) -> String {
        let shown = self.rollouts.len() as u32;
        let all = grouped_count(self.total, "rollout");
        let all = if shown < self.total { format!("latest {shown} of {all}") } else { all };
        let complete = self.rollouts.iter().filter(|rollout| rollout.outcome == Outcome::Complete);
        let took: Vec<Millis> = complete.filter_map(EpisodeRow::took_millis).collect();
        let median = median(took.iter().copied()).filter(|_| took.len() > 1);
        let median = median.map(|median| format!(", median {}", duration(median))).unwrap_or_default();
        let troubled = self.rollouts.iter().filter(|rollout| !rollout.trouble().is_empty()).count();
        let troubled = if troubled == 0 { String::new() } else { format!(", {troubled} with trouble") };
        format!("{all}{troubled}{median}")
    }
}

/// One page of search results of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryPayload {
    /// The search.
    pub search: Search,
    /// Start of the time range in the format of the form's field: "2026-11-21 04:54"; empty if none was given.
    pub since: String,
    /// End of the time range; see `since`.
    pub until: String,
    /// Rollouts of this page, the latest first, each with its day and time.
    pub rollouts: Vec<(String, EpisodeRow)>,
    /// Number of rows that the search found, on all pages.
    pub total: u32,
    /// Number of those rows that are other episodes than rollouts.
    pub others: u32,
    /// The workloads of this page's rollouts, the one with the latest rollout first.
    pub workloads: Vec<PastWorkload>,
    /// Cursor of the next page.
    pub after: Option<String>,
    /// The last days, oldest first, independent of the time range.
    pub days: Vec<Day>,
    /// Storage and its limits: "in /var/lib/rollcast for 30 d, at most 2 GB".
    pub kept: String,
    /// Why the history cannot be read; empty while it can.
    pub trouble: String,
    /// Since when observations are not written, and why; empty while they are.
    pub unwritten: String,
}

impl HistoryPayload {
    /// The title of the page.
    pub const TITLE: &str = "History — Rollcast";

    /// Preview that a chat shows for a link to the page.
    pub fn preview(&self) -> Preview {
        let description = if self.trouble.is_empty() { self.summary() } else { self.trouble.clone() };
        Preview { title: Self::TITLE.to_owned(), description, image: None }
    }

    /// Summarises the results: "50 of 132 rollouts, last 7 days, from 2026-11-20 00:00 to 2026-11-27 00:00 UTC." Empty if they could not be
    /// read.
    pub fn summary(&self) -> String {
        if !self.trouble.is_empty() {
            return String::new();
        }
        let named = TIMES.iter().find(|(name, _)| *name == self.search.when).map(|(_, words)| words.to_lowercase());
        let named = named.map(|words| format!(", {words}")).unwrap_or_default();
        let zone = self.search.zone_name();
        let span = match (self.since.as_str(), self.until.as_str()) {
            ("", "") => String::new(),
            (since, "") => format!(", since {since} {zone}"),
            ("", until) => format!(", until {until} {zone}"),
            (since, until) => format!(", from {since} to {until} {zone}"),
        };
        let shown = self.rollouts.len() as u32;
        let noun = if self.others == 0 { "rollout" } else { "episode" };
        match (self.total, shown < self.total) {
            (0, _) if !self.search.kinds.is_empty() => format!("No episodes match{named}{span}."),
            (0, _) => format!("No rollouts match{named}{span}."),
            (total, true) => format!("{shown} of {}{named}{span}.", grouped_count(total, noun)),
            (total, false) => format!("{}{named}{span}.", grouped_count(total, noun)),
        }
    }
}

#[cfg(test)]
mod tests {
    use timeline::rollout::Trigger;

    use super::*;

    #[test]
    fn a_summary_is_of_the_rollouts_that_are_drawn() {
        let of = |rollouts: &[EpisodeRow], total| {
            let place = (String::new(), String::new());
            PastWorkload { place, name: "web".to_owned(), rollouts: rollouts.to_vec(), total }.summary()
        };
        let complete = |took| {
            let trigger = Trigger::Template;
            EpisodeRow { trigger, ended_millis: Some(took), outcome: Outcome::Complete, ..EpisodeRow::default() }
        };
        assert_eq!(of(&[complete(5_000)], 1), "1 rollout");
        let stuck = EpisodeRow { cause: "why".to_owned(), ..EpisodeRow::default() };
        let all = [complete(60_000), complete(20_000), complete(40_000), stuck];
        assert_eq!(of(&all, 4), "4 rollouts, 1 with trouble, median 40 s");
        assert_eq!(of(&all, 66), "latest 4 of 66 rollouts, 1 with trouble, median 40 s");
    }

    #[test]
    fn the_page_says_how_many_of_how_many_and_of_which_time() {
        let rollouts = vec![(String::new(), EpisodeRow::default())];
        let week = Search { when: "week".to_owned(), ..Search::default() };
        let (since, until) = ("2026-11-20 00:00".to_owned(), "2026-11-27 00:00".to_owned());
        let payload = HistoryPayload { search: week, since, until, rollouts, total: 132, ..HistoryPayload::default() };
        let span = "last 7 days, from 2026-11-20 00:00 to 2026-11-27 00:00 UTC";
        assert_eq!(payload.summary(), format!("1 of 132 rollouts, {span}."));
        assert_eq!(HistoryPayload { total: 1, ..payload.clone() }.summary(), format!("1 rollout, {span}."));
        let none = HistoryPayload { total: 0, rollouts: Vec::new(), ..payload };
        assert_eq!(none.summary(), format!("No rollouts match, {span}."));
        assert_eq!(HistoryPayload::default().summary(), "No rollouts match.");
        let trouble = "Cannot read the history right now.".to_owned();
        let unread = HistoryPayload { trouble: trouble.clone(), ..HistoryPayload::default() };
        assert_eq!((unread.summary(), unread.preview().description), (String::new(), trouble));
    }
}
