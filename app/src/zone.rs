//! The time zone of times of day: the viewer's own, or UTC by choice. The server renders UTC, and the browser switches to the viewer's zone
//! after hydration, so that hydration finds the text that was rendered.

use leptos::prelude::*;
use timeline::address::Parameters;
use timeline::{Millis, words};

use crate::browser;
use crate::scoped::ScopedSignal;

/// Key of the browser's storage for the choice.
const REMEMBERED: &str = "rollcast.zone";
/// Suffix of a time of day in sentences from the server.
const MARK: &str = " UTC";
/// Length of a time of day: 14:02:05.
const CLOCK: usize = 8;
/// Length of a date and the space after it.
const DATE: usize = 11;

/// A zone that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// Coordinated universal time.
    #[default]
    Utc,
    /// The zone of the viewer's system.
    Own,
    /// A zone by its name in the IANA database: "Europe/Berlin".
    Named(String),
}

impl Choice {
    /// Parses a zone from an address or the browser's storage; `None` if it cannot be the name of a zone.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
        match text {
            "utc" | "UTC" => Some(Self::Utc),
            "own" => Some(Self::Own),
            name if name.len() <= 64 && name.contains('/') && name.chars().all(is_name) => {
                Some(Self::Named(name.to_owned()))
            }
            _ => None,
        }
    }
}

/// The zone of a page. Copies are handles of the same one.
#[derive(Clone, Copy, Default)]
pub struct Zone(ScopedSignal<Choice>);

impl Zone {
    /// Provides the zone of a page to all its components: UTC until the page is hydrated.
    pub fn provide() {
        let zone = Self::default();
        provide_context(zone);
        Effect::new(move |_| {
            let address = Parameters::parse(browser::search().trim_start_matches('?'));
            let asked = address.get("zone").and_then(Choice::parse);
            let remembered = || browser::remembered(REMEMBERED).and_then(|text| Choice::parse(&text));
            zone.0.set(asked.or_else(remembered).unwrap_or(Choice::Own));
        });
    }

    /// Returns the zone of the page around this component.
    pub fn of_page() -> Self {
        use_context().unwrap_or_default()
    }

    /// Switches between UTC and the viewer's own zone, and stores the choice.
    pub fn toggle(self) {
        let next = if self.0.with_untracked(|choice| *choice == Choice::Utc) { Choice::Own } else { Choice::Utc };
        browser::remember(REMEMBERED, if next == Choice::Utc { "utc" } else { "own" });
        self.0.set(next);
    }

    /// Returns the time of day, "14:02:05"; follows the choice.
    pub fn clock(self, at_millis: Millis) -> String {
        self.formatted(at_millis, words::clock, |name, at_millis| browser::time_in(name, at_millis).0)
    }

    /// Returns the date, "2026-11-23"; follows the choice.
    pub fn date(self, at_millis: Millis) -> String {
        self.formatted(at_millis, words::date, browser::date_in)
    }

    /// Returns the date and a space after it; empty if it is `day`. Follows the choice.
    pub fn date_unless(self, at_millis: Millis, day: &str) -> String {
        let date = self.date(at_millis);
        if date == day { String::new() } else { date + " " }
    }

    fn formatted(self, at_millis: Millis, in_utc: fn(Millis) -> String, named: fn(&str, Millis) -> String) -> String {
        self.0.with(|choice| match choice {
            Choice::Utc => in_utc(at_millis),
            Choice::Own => in_utc(at_millis - browser::behind_utc_millis(at_millis)),
            Choice::Named(name) => named(name, at_millis),
        })
    }

    /// Returns the time of day; with its date if it is more than twelve hours from `now_millis`. Follows the choice.
    pub fn moment(self, at_millis: Millis, now_millis: Millis) -> String {
        let clock = self.clock(at_millis);
        let is_dated = words::moment(at_millis, now_millis).len() > clock.len();
        if is_dated { format!("{} {clock}", self.date(at_millis)) } else { clock }
    }

    /// Formats the same with the zone: "2026-11-23 14:02:05 UTC".
    pub fn dated(self, at_millis: Millis, now_millis: Millis) -> String {
        format!("{} {}", self.moment(at_millis, now_millis), self.name(at_millis))
    }

    /// Returns the name of the zone at that time: "UTC", "CEST", "GMT+5:30".
    pub fn name(self, at_millis: Millis) -> String {
        self.0.with(|choice| match choice {
            Choice::Utc => "UTC".to_owned(),
            Choice::Own => browser::time_in("", at_millis).1,
            Choice::Named(name) => browser::time_in(name, at_millis).1,
        })
    }

    /// Returns time and zone: "14:02:05 UTC".
    pub fn stamp(self, at_millis: Millis) -> String {
        format!("{} {}", self.clock(at_millis), self.name(at_millis))
    }

    /// Converts the UTC times of a sentence to this zone. A time without a date is assumed to be within twelve hours of `near_millis`.
    pub fn replace_times(self, sentence: &str, near_millis: Millis) -> String {
        if self.0.with(|choice| *choice == Choice::Utc) || !sentence.contains(MARK) {
            return sentence.to_owned();
        }
        replace_utc_times(sentence, near_millis, |at_millis, is_dated| {
            let date = if is_dated { format!("{} ", self.date(at_millis)) } else { String::new() };
            format!("{date}{}", self.stamp(at_millis))
        })
    }
}

/// Replaces every "14:02:05 UTC" and "2026-11-23 14:02:05 UTC" of a sentence by the result of `stamp`.
fn replace_utc_times(sentence: &str, near_millis: Millis, stamp: impl Fn(Millis, bool) -> String) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(MARK) {
        match split_last(before, CLOCK, millis_of_day) {
            Some((words, of_day)) => {
                let dated = split_last(words, DATE, millis_of_date);
                let at_millis = dated.map_or_else(|| nearest(of_day, near_millis), |(_, day)| day + of_day);
                out.push_str(dated.map_or(words, |(words, _)| words));
                out.push_str(&stamp(at_millis, dated.is_some()));
            }
            None => {
                out.push_str(before);
                out.push_str(MARK);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Splits a time at the end of a text, of so many letters, from the words before it; `None` if there is none.
fn split_last(text: &str, letters: usize, read: fn(&str) -> Option<Millis>) -> Option<(&str, Millis)> {
    let (words, time) = text.split_at_checked(text.len().checked_sub(letters)?)?;
    Some((words, read(time)?))
}

const DAY_MILLIS: Millis = 86_400_000;

/// Returns the moment with that time of day that is nearest to another one.
fn nearest(of_day: Millis, near_millis: Millis) -> Millis {
    let off = (of_day - near_millis.rem_euclid(DAY_MILLIS)).rem_euclid(DAY_MILLIS);
    near_millis + if off > DAY_MILLIS / 2 { off - DAY_MILLIS } else { off }
}

/// Returns midnight in UTC of the date that "2026-11-23 " begins with.
fn millis_of_date(text: &str) -> Option<Millis> {
    let text = text.strip_suffix(' ')?;
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<Millis>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    // The estimate from equal months is within a few days of the date: the exact date is searched there.
    let near = (year - 1970) * 365 + (year - 1969) / 4 + (month - 1) * 30 + day;
    (near - 40..near + 40).map(|days| days * DAY_MILLIS).find(|at| words::date(*at) == text)
}

/// Returns milliseconds since midnight of "14:02:05".
fn millis_of_day(clock: &str) -> Option<Millis> {
    let mut parts = clock.split(':');
    let mut part = |most: Millis| {
        let text = parts.next().filter(|text| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()))?;
        text.parse::<Millis>().ok().filter(|number| *number < most)
    };
    let seconds = part(24)? * 3_600 + part(60)? * 60 + part(60)?;
    parts.next().is_none().then_some(seconds * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22 23:30:00 UTC.
    const NEAR: Millis = 1_795_390_200_000;

    #[test]
    fn times_in_sentences_are_told_in_the_viewers_zone() {
        let two_hours_ahead = |sentence: &str| {
            replace_utc_times(sentence, NEAR, |at, _| format!("{} CEST", words::clock(at + 7_200_000)))
        };
        assert_eq!(two_hours_ahead("Stale since 23:29:01 UTC: no word."), "Stale since 01:29:01 CEST: no word.");
        assert_eq!(two_hours_ahead("From 23:59:59 UTC to 00:00:01 UTC"), "From 01:59:59 CEST to 02:00:01 CEST");
        for as_it_is in ["Times are in UTC", "é3:29:01 UTC", "25:00:00 UTC", " UTC", "no time", ""] {
            assert_eq!(two_hours_ahead(as_it_is), as_it_is);
        }
    }

    #[test]
    fn a_time_with_its_date_is_told_of_that_day() {
        let dated = |sentence: &str| {
            replace_utc_times(sentence, NEAR, |at, is_dated| {
                let at = at + 7_200_000;
                let date = if is_dated { format!("{} ", words::date(at)) } else { String::new() };
                format!("{date}{} CEST", words::clock(at))
            })
        };
        assert_eq!(dated("reported at 2026-11-19 23:15:00 UTC."), "reported at 2026-11-20 01:15:00 CEST.");
        assert_eq!(dated("at 2024-02-28 23:15:00 UTC, 09:00:00 UTC"), "at 2024-02-29 01:15:00 CEST, 11:00:00 CEST");
        assert_eq!(dated("2026-13-40 09:00:00 UTC"), "2026-13-40 11:00:00 CEST");
        for date in ["1970-01-01", "1999-12-31", "2000-02-29", "2026-01-31", "2099-12-31"] {
            assert_eq!(words::date(millis_of_date(&format!("{date} ")).unwrap()), date);
        }
    }

    #[test]
    fn a_time_of_day_belongs_to_the_nearest_day() {
        let of_day = |clock: &str| nearest(millis_of_day(clock).unwrap(), NEAR) - NEAR;
        assert_eq!(of_day("23:30:01"), 1_000);
        assert_eq!(of_day("00:30:00"), 3_600_000);
        assert_eq!(of_day("23:00:00"), -1_800_000);
    }

    #[test]
    fn zones_have_names_that_are_names() {
        assert_eq!(Choice::parse("utc"), Some(Choice::Utc));
        assert_eq!(Choice::parse("Europe/Berlin"), Some(Choice::Named("Europe/Berlin".to_owned())));
        for wrong in ["", "berlin", "Europe/<script>", "a/b c", &"a/".repeat(40)] {
            assert_eq!(Choice::parse(wrong), None, "{wrong}");
        }
    }
}
