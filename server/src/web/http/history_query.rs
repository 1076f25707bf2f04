//! The history query of an address, and the time zone of its times.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan, Zoned};
use timeline::Millis;
use timeline::address::{Address, InvalidParameter};
use timeline::episodes::language::{self, Term};
use timeline::episodes::search::kinds;
use timeline::episodes::{Day, LENGTHS, OUTCOMES, Search, TIMES, UTC};
use timeline::rollout::Outcome;

use super::extract::{millis_in, offset};
use crate::history::store::Cursor;

/// Days of the strip.
const DAYS: i64 = 30;
const HOUR_MILLIS: Millis = 3_600_000;
/// Length of a UID in addresses.
const UID: usize = 36;
/// Most words of a search, and most characters of all words and keys together.
const WORDS: usize = 8;
const CHARACTERS: usize = 1_000;

pub(super) struct Zone {
    /// "+02:00"; empty for UTC.
    name: String,
    zone: TimeZone,
}

/// Returns the zone that an address names; UTC if it names none.
pub(super) fn zone(address: &Address) -> Result<Zone, InvalidParameter> {
    let offset = address.check("tz", offset)?.unwrap_or(Offset::UTC);
    Ok(Zone::from_offset(offset))
}

impl Zone {
    fn from_offset(offset: Offset) -> Self {
        let (sign, minutes) = (if offset.is_negative() { '-' } else { '+' }, offset.seconds().abs() / 60);
        let name = if minutes == 0 { String::new() } else { format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60) };
        Self { name, zone: offset.to_time_zone() }
    }

    /// Formats the zone for links. UTC is named, too, so that a browser does not use its own zone.
    fn parameter(&self) -> String {
        if self.name.is_empty() { UTC.to_owned() } else { self.name.clone() }
    }

    /// Formats the zone for pages: "UTC+02:00".
    pub(super) fn label(&self) -> String {
        format!("UTC{}", self.name)
    }

    fn at(&self, at_millis: Millis) -> Option<Zoned> {
        Timestamp::from_millisecond(at_millis).ok().map(|at| at.to_zoned(self.zone.clone()))
    }

    /// Formats a time for a form's field: "2026-11-21 14:02".
    pub(super) fn field(&self, at_millis: Millis) -> String {
        self.at(at_millis).map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
    }

    /// Formats a time: "21 Nov 14:02:05"; with its year, where that is not the present one.
    pub(super) fn stamp(&self, at_millis: Millis, now_millis: Millis) -> String {
        let Some(at) = self.at(at_millis) else { return String::new() };
        let is_of_this_year = self.at(now_millis).is_some_and(|now| now.year() == at.year());
        let format = if is_of_this_year { "%-d %b %H:%M:%S" } else { "%-d %b %Y %H:%M:%S" };
        at.strftime(format).to_string()
    }
}

pub(super) struct HistoryQuery {
    pub search: Search,
    pub zone: Zone,
    pub after: Option<Cursor>,
}

/// Parses the search field, within limits.
fn terms(text: &str) -> Option<Vec<Term>> {
    let terms = language::terms(text);
    let words = terms.iter().filter(|term| term.key.is_none()).count();
    (words <= WORDS && text.chars().count() <= CHARACTERS).then_some(terms)
}

/// Parses the name of an outcome in addresses.
fn outcome(text: &str) -> Option<Outcome> {
    OUTCOMES.iter().find(|(name, ..)| *name == text).map(|(_, outcome, _)| *outcome)
}

pub(super) fn history_query(address: &Address, now_millis: Millis) -> Result<HistoryQuery, InvalidParameter> {
    let (keyed, words): (Vec<Term>, Vec<Term>) =
        address.check("q", terms)?.unwrap_or_default().into_iter().partition(|term| term.key.is_some());
    // A key in the text wins over the parameter of that name.
    let address = &keyed.iter().fold(address.clone(), |address, Term { key, value }| match key {
        Some(key) => address.with(key, Some(value)),
        None => address,
    });
    let words: Vec<String> = words.iter().map(|word| language::written(None, &word.value)).collect();
    let named = |text: &str| TIMES.iter().find(|(name, _)| *name == text).map(|(name, _)| (*name).to_owned());
    let length = |text: &str| LENGTHS.iter().find(|(name, ..)| *name == text).map(|(_, millis, _)| *millis);
    let zone = zone(address)?;
    let time = |text: &str| millis_in(text, &zone.zone);
    let (since, until) = (address.check("since", time)?, address.check("until", time)?);
    // Two times are more exact than a word.
    let when = address.check("when", named)?.filter(|_| since.or(until).is_none()).unwrap_or_default();
    let (from, to) = span(&when, now_millis, &zone).unzip();
    Ok(HistoryQuery {
        search: Search {
            text: words.join(" "),
            cluster: address.parameters.text("cluster"),
            namespace: address.parameters.text("namespace"),
            name: address.parameters.text("name"),
            image: address.parameters.text("image"),
            kinds: address.check("kind", kinds)?.unwrap_or_default(),
            outcome: address.check("outcome", outcome)?,
            had_trouble: address.check("trouble", |text| (text == "yes").then_some(()))?.is_some(),
            longer_millis: address.check("longer", length)?,
            from_millis: since.or(from),
            to_millis: until.or(to.flatten()),
            when,
            zone: if address.parameters.has("tz") { zone.parameter() } else { String::new() },
        },
        zone,
        after: address.check("after", place)?,
    })
}

/// Parses a place in an address: "1795236839971-12-2f1c…-prod", with a whole UID.
fn place(text: &str) -> Option<Cursor> {
    let mut parts = text.splitn(3, '-');
    let (started, number, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (uid, cluster) = rest.split_at_checked(UID)?;
    Some(Cursor {
        started_millis: started.parse().ok()?,
        number: number.parse().ok()?,
        uid: uid.parse().ok()?,
        cluster: cluster.strip_prefix('-')?.to_owned(),
    })
}

/// Formats a place for an address.
pub(super) fn place_parameter(Cursor { started_millis, uid, number, cluster }: Cursor) -> String {
    format!("{started_millis}-{number}-{uid}-{cluster}")
}

/// Returns the time range of a word such as "today". A range up to the present has no end: the clock of a cluster may be ahead.
fn span(when: &str, now_millis: Millis, zone: &Zone) -> Option<(Millis, Option<Millis>)> {
    let now = zone.at(now_millis)?;
    let today = now.start_of_day().ok()?;
    let day = |days: i64| today.checked_add(days.days()).ok();
    let at = |days: i64, hours: i64| Some(day(days)?.checked_add(hours.hours()).ok()?.timestamp().as_millisecond());
    let (from, to) = match when {
        "hour" => (now_millis - HOUR_MILLIS, None),
        "day" => (now_millis - 24 * HOUR_MILLIS, None),
        "today" => (at(0, 0)?, Some(at(1, 0)?)),
        "last-night" => (at(-1, 18)?, Some(at(0, 8)?)),
        "yesterday" => (at(-1, 0)?, Some(at(0, 0)?)),
        "week" => (at(-6, 0)?, Some(at(1, 0)?)),
        "month" => (at(-29, 0)?, Some(at(1, 0)?)),
        _ => return None,
    };
    Some((from, to))
}

/// Returns the last days, with nothing counted yet.
pub(super) fn days(now_millis: Millis, zone: &Zone) -> Vec<Day> {
    let today = zone.at(now_millis).and_then(|now| now.start_of_day().ok()).map(|today| today.datetime());
    let day = |day: DateTime| {
        let from_millis = day.to_zoned(zone.zone.clone()).ok()?.timestamp().as_millisecond();
        Some(Day { from_millis, name: day.strftime("%-d %b").to_string(), episodes: 0, others: 0, troubled: 0 })
    };
    let back = |days: i64| today.and_then(|today| today.checked_sub(days.days()).ok()).and_then(day);
    (0..DAYS).rev().filter_map(back).collect()
}

#[cfg(test)]
mod tests {
    use timeline::Uid;

    use super::*;

    fn at(text: &str) -> Millis {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn words_for_times_are_whole_days_and_nights_in_utc() {
        let now = at("2026-11-23T03:50:00Z");
        let utc = Zone::from_offset(Offset::UTC);
        let ended = |when| span(when, now, &utc).map(|(from, to)| (from, to.unwrap())).unwrap();
        assert_eq!(span("hour", now, &utc), Some((now - 3_600_000, None)));
        assert_eq!(span("day", now, &utc), Some((at("2026-11-22T03:50:00Z"), None)));
        assert_eq!(ended("today"), (at("2026-11-23T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        assert_eq!(ended("last-night"), (at("2026-11-22T18:00:00Z"), at("2026-11-23T08:00:00Z")));
        assert_eq!(ended("yesterday"), (at("2026-11-22T00:00:00Z"), at("2026-11-23T00:00:00Z")));
        assert_eq!(ended("week"), (at("2026-11-17T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        assert_eq!(ended("month"), (at("2026-10-25T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        let days = days(now, &utc);
        assert_eq!((days.len(), days[0].name.as_str(), days[29].name.as_str()), (30, "25 Oct", "23 Nov"));
        assert_eq!(days[29].from_millis, at("2026-11-23T00:00:00Z"));
        assert_eq!(utc.stamp(now + 5_000, now), "23 Nov 03:50:05");
        let field = |at| utc.field(at);
        assert_eq!((field(now + 5_000).as_str(), millis_in(&field(now), &utc.zone)), ("2026-11-23 03:50", Some(now)));
        assert_eq!(utc.label(), "UTC");
    }

    #[test]
    fn in_a_zone_days_and_nights_are_those_of_the_zone() {
        let now = at("2026-11-23T03:50:00Z");
        let auckland = Zone::from_offset(offset("+13:00").unwrap());
        assert_eq!(span("today", now, &auckland).unwrap().0, at("2026-11-22T11:00:00Z"));
        let night = (at("2026-11-22T05:00:00Z"), Some(at("2026-11-22T19:00:00Z")));
        assert_eq!(span("last-night", now, &auckland).unwrap(), night);
        let days = days(now, &auckland);
        assert_eq!((days[29].name.as_str(), days[29].from_millis), ("23 Nov", at("2026-11-22T11:00:00Z")));
        let newfoundland = Zone::from_offset(offset("-03:30").unwrap());
        let stamp = newfoundland.stamp(now, now);
        assert_eq!((stamp.as_str(), newfoundland.label().as_str()), ("23 Nov 00:20:00", "UTC-03:30"));
        assert_eq!(millis_in("2026-11-23T00:20", &newfoundland.zone), Some(now));
        assert_eq!(millis_in("2026-11-23T03:50:00Z", &newfoundland.zone), Some(now), "who names a zone is understood");
        assert_eq!(offset(" 02:00"), offset("+02:00"), "a plus sign in an address is a space");
        for wrong in ["", "+2", "+02:60", "+19:00", "02:00", "Europe/Berlin", "+-1:00", "\u{20ac}"] {
            assert_eq!(offset(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_time_of_another_year_has_its_year() {
        let (utc, auckland) = (Zone::from_offset(Offset::UTC), Zone::from_offset(offset("+13:00").unwrap()));
        let (before, now) = (at("2025-12-31T23:50:00Z"), at("2026-01-01T00:10:00Z"));
        assert_eq!(utc.stamp(before, now), "31 Dec 2025 23:50:00");
        assert_eq!(auckland.stamp(before, now), "1 Jan 12:50:00");
    }

    #[test]
    fn places_survive_addresses() {
        let here = Cursor { started_millis: 17, uid: Uid::from_bits(5), number: 4, cluster: "prod-eu/1".to_owned() };
        assert_eq!(place(&place_parameter(here.clone())), Some(here));
        for wrong in [
            "",
            "17",
            "a-b",
            "1-2-3",
            "-",
            "17-4-00000000-0000-0000-0000-000000000005",
            "17-4-äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü-c",
        ] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
