//! Which rollouts are asked for, and the address of that.

use crate::rollout::Outcome;
use crate::{EpisodeKind, Millis};
use serde::{Deserialize, Serialize};

use super::language;
use crate::address::{Address, Route};

/// Which rollouts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Words that are in the names, the images, the change cause or the cause, as [`language`] writes them.
    pub text: String,
    /// Only rollouts of this cluster; empty for all.
    pub cluster: String,
    /// Only rollouts of this namespace; empty for all.
    pub namespace: String,
    /// Of the Deployment of this name.
    pub name: String,
    /// With this in the names of its images.
    pub image: String,
    /// Only episodes of these kinds; empty for all.
    pub kinds: Vec<EpisodeKind>,
    /// Only rollouts with this outcome; `None` for all. A deadline that passed is found whatever came after it.
    pub outcome: Option<Outcome>,
    /// Only those with a cause.
    pub had_trouble: bool,
    /// Only those that were over after this time or more.
    pub longer_millis: Option<Millis>,
    /// Name of the time: "last night"; empty where two times were given.
    pub when: String,
    /// Went on at this time or later.
    pub from_millis: Option<Millis>,
    /// Began before this time.
    pub to_millis: Option<Millis>,
    /// The offset from UTC in which days, nights and times are told: "+02:00". For UTC "utc" where that was asked for, else empty: then
    /// browsers ask for their own.
    pub zone: String,
}

/// UTC, as addresses name it.
pub const UTC: &str = "utc";

/// Outcomes by their names in addresses.
pub const OUTCOMES: [(&str, Outcome, &str); 6] = [
    ("complete", Outcome::Complete, "Complete"),
    ("failed", Outcome::DeadlineExceeded, "Deadline passed"),
    ("scaled-to-zero", Outcome::ScaledToZero, "Scaled to zero"),
    ("superseded", Outcome::Superseded, "Superseded"),
    ("deleted", Outcome::Deleted, "Deleted"),
    ("in-progress", Outcome::Progressing, "In progress"),
];

/// Least durations by their names in addresses.
pub const LENGTHS: [(&str, Millis, &str); 4] = [
    ("30s", 30_000, "Over 30 s"),
    ("2m", 120_000, "Over 2 min"),
    ("10m", 600_000, "Over 10 min"),
    ("1h", 3_600_000, "Over 1 h"),
];

/// Kinds of episodes, as choices name them.
pub const KINDS: [(EpisodeKind, &str); 5] = [
    (EpisodeKind::Rollout, "Rollouts"),
    (EpisodeKind::Scaling, "Scalings"),
    (EpisodeKind::Recovery, "Recoveries"),
    (EpisodeKind::Failure, "Failures"),
    (EpisodeKind::Deletion, "Deletions"),
];

/// Reads kinds as addresses have them: "recovery,failure". `None` where one is unknown.
pub fn kinds(text: &str) -> Option<Vec<EpisodeKind>> {
    let mut kinds = text.split(',').map(EpisodeKind::from_name).collect::<Option<Vec<_>>>()?;
    kinds.sort_unstable();
    kinds.dedup();
    Some(kinds)
}

/// Times by their names in addresses.
pub const TIMES: [(&str, &str); 7] = [
    ("hour", "Last hour"),
    ("day", "Last 24 hours"),
    ("today", "Today"),
    ("last-night", "Last night"),
    ("yesterday", "Yesterday"),
    ("week", "Last 7 days"),
    ("month", "Last 30 days"),
];

/// A day, and what began on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// First moment of the day.
    pub from_millis: Millis,
    /// Its name: "21 Nov".
    pub name: String,
    /// Number of episodes that began.
    pub episodes: u32,
    /// Number of those episodes that are no rollouts.
    pub others: u32,
    /// Number of episodes that had trouble at some time.
    pub troubled: u32,
}

impl Search {
    /// Returns the page of the search.
    pub fn address(&self) -> String {
        self.page(None)
    }

    /// Returns the name of the zone of times: "UTC", or "UTC+02:00".
    pub fn zone_name(&self) -> String {
        let offset = if self.zone == UTC { "" } else { &self.zone };
        format!("UTC{offset}")
    }

    /// Returns the name of the least duration.
    pub fn length(&self) -> Option<&'static str> {
        LENGTHS.iter().find(|(_, millis, _)| Some(*millis) == self.longer_millis).map(|(name, ..)| *name)
    }

    /// Returns the name of the outcome.
    pub fn outcome_name(&self) -> Option<&'static str> {
        OUTCOMES.iter().find(|(_, outcome, _)| Some(*outcome) == self.outcome).map(|(name, ..)| *name)
    }

    /// Returns the names of the kinds, with commas.
    pub fn kind_names(&self) -> String {
        self.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",")
    }

    /// Returns the search with one kind more, or without it.
    pub fn with_kind_toggled(&self, kind: EpisodeKind) -> Self {
        let mut kinds = self.kinds.clone();
        match kinds.binary_search(&kind) {
            Ok(place) => drop(kinds.remove(place)),
            Err(place) => kinds.insert(place, kind),
        }
        Self { kinds, ..self.clone() }
    }

    /// Returns the words that may occur anywhere.
    pub fn words(&self) -> Vec<String> {
        language::terms(&self.text).into_iter().map(|term| term.value).collect()
    }

    /// Returns whether the search finds everything.
    pub fn narrows_nothing(&self) -> bool {
        let is_any_time = self.when.is_empty() && self.from_millis.is_none() && self.to_millis.is_none();
        is_any_time && self.written().is_empty()
    }

    /// Returns the filters: each with its value as the language writes it, and the search without it.
    pub fn narrowed(&self) -> Vec<(String, Self)> {
        let without = |change: fn(&mut Self)| {
            let mut search = self.clone();
            change(&mut search);
            search
        };
        let kinds = self.kind_names();
        let all = [
            ("kind", kinds.as_str(), without(|search| search.kinds.clear())),
            ("cluster", self.cluster.as_str(), without(|search| search.cluster.clear())),
            ("namespace", &self.namespace, without(|search| search.namespace.clear())),
            ("name", &self.name, without(|search| search.name.clear())),
            ("image", &self.image, without(|search| search.image.clear())),
            ("outcome", self.outcome_name().unwrap_or_default(), without(|search| search.outcome = None)),
            ("trouble", if self.had_trouble { "yes" } else { "" }, without(|search| search.had_trouble = false)),
            ("longer", self.length().unwrap_or_default(), without(|search| search.longer_millis = None)),
        ];
        let all = all.into_iter().filter(|(_, value, _)| !value.is_empty());
        all.map(|(key, value, without)| (language::written(Some(key), value), without)).collect()
    }

    /// Returns all of it but the time, as people write it into the search field.
    pub fn written(&self) -> String {
        let narrowed = self.narrowed().into_iter().map(|(term, _)| term);
        let words = self.words().into_iter().map(|word| language::written(None, &word));
        narrowed.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Returns the same search for the next page.
    pub fn page(&self, after: Option<&str>) -> String {
        let time = |at: Option<Millis>| at.filter(|_| self.when.is_empty());
        Address::new(Route::History, &[])
            .with("kind", Some(&self.kind_names()))
            .with("q", Some(&self.text))
            .with("cluster", Some(&self.cluster))
            .with("namespace", Some(&self.namespace))
            .with("name", Some(&self.name))
            .with("image", Some(&self.image))
            .with("outcome", self.outcome_name())
            .with("trouble", self.had_trouble.then_some("yes"))
            .with("longer", self.length())
            .with("when", Some(&self.when))
            .with("since", time(self.from_millis))
            .with("until", time(self.to_millis))
            .with("tz", Some(&self.zone))
            .with("after", after)
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_says_what_is_asked_and_each_part_can_be_let_go() {
        let search = Search {
            text: "crash \"exit code\"".to_owned(),
            namespace: "shop".to_owned(),
            outcome: Some(Outcome::DeadlineExceeded),
            had_trouble: true,
            zone: "+02:00".to_owned(),
            ..Search::default()
        };
        assert_eq!(search.written(), "namespace:shop outcome:failed trouble:yes crash \"exit code\"");
        let narrowed = search.narrowed();
        let names: Vec<&str> = narrowed.iter().map(|(term, _)| term.as_str()).collect();
        assert_eq!(names, ["namespace:shop", "outcome:failed", "trouble:yes"]);
        assert_eq!(narrowed[1].1, Search { outcome: None, ..search.clone() });
        let keys: Vec<&str> = names.iter().filter_map(|term| Some(term.split_once(':')?.0)).collect();
        assert!(keys.iter().all(|key| language::KEYS.contains(key)));
    }

    #[test]
    fn links_keep_the_zone_that_was_asked_for() {
        let of = |zone: &str| {
            let search = Search { zone: zone.to_owned(), text: "web".to_owned(), ..Search::default() };
            (search.address(), search.zone_name())
        };
        assert_eq!(of("utc"), ("/history?q=web&tz=utc".to_owned(), "UTC".to_owned()));
        assert_eq!(of(""), ("/history?q=web".to_owned(), "UTC".to_owned()));
        assert_eq!(of("-03:30").1, "UTC-03:30");
    }
}
