//! The page of rollouts that are kept, and the same as JSON.

use std::collections::BTreeSet;

use app::history::{Day, HistoryPayload, LENGTHS, OUTCOMES, PastRollout, PastWorkload, Search, TIMES, UTC};
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan, Zoned};
use serde_json::json;
use timeline::wire::{Connection, Unwritten};
use timeline::words::safe;
use timeline::{Millis, Uid};

use super::api;
use super::extract::{Malformed, Parameters, millis_in, offset};
use super::pages;
use crate::clock;
use crate::history::Keeping;
use crate::history::past::Lost;
use crate::history::sql::Reader;
use crate::history::store::{Found, Place, StoreError};
use crate::sight::UNWRITTEN;
use crate::view::View;

/// Rollouts on a page.
const LINES: u32 = 50;
/// Most rollouts of one answer.
const MOST: u32 = 500;
/// Workloads of a page whose last rollouts are drawn, and how many of each. They are read one after the other, each by the key of its
/// rows, where the store is opened once for all of them.
const WORKLOADS: usize = LINES as usize;
const BARS: u32 = 24;
/// Days of the strip.
const DAYS: i64 = 30;
/// Length of a UID in addresses.
const UID: usize = 36;
/// Most words that are looked for.
const WORDS: usize = 8;

/// In which zone times are told and asked for.
pub(super) struct Zone {
    /// "+02:00"; empty for UTC.
    name: String,
    zone: TimeZone,
}

/// The zone that an address names: UTC where it names none.
pub(super) fn zone(parameters: &Parameters) -> Result<Zone, Malformed> {
    let offset = parameters.read("tz", offset)?.unwrap_or(Offset::UTC);
    Ok(Zone::of(offset))
}

impl Zone {
    fn of(offset: Offset) -> Self {
        let (sign, minutes) = (if offset.is_negative() { '-' } else { '+' }, offset.seconds().abs() / 60);
        let name = if minutes == 0 { String::new() } else { format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60) };
        Self { name, zone: offset.to_time_zone() }
    }

    /// As links name it. UTC is named, too, so that a browser does not ask for its own zone.
    fn in_address(&self) -> String {
        if self.name.is_empty() { UTC.to_owned() } else { self.name.clone() }
    }

    /// As pages say it: "UTC+02:00".
    pub(super) fn said(&self) -> String {
        format!("UTC{}", self.name)
    }

    fn at(&self, at_millis: Millis) -> Option<Zoned> {
        Timestamp::from_millisecond(at_millis).ok().map(|at| at.to_zoned(self.zone.clone()))
    }

    /// "2026-11-21T14:02", as a form's field has it.
    fn field(&self, at_millis: Millis) -> String {
        self.at(at_millis).map(|at| at.strftime("%Y-%m-%dT%H:%M").to_string()).unwrap_or_default()
    }

    /// "21 Nov 14:02:05".
    pub(super) fn stamp(&self, at_millis: Millis) -> String {
        self.at(at_millis).map(|at| at.strftime("%-d %b %H:%M:%S").to_string()).unwrap_or_default()
    }
}

/// What an address asks for.
struct Asked {
    search: Search,
    zone: Zone,
    after: Option<Place>,
}

fn asked(parameters: &Parameters, now_millis: Millis) -> Result<Asked, Malformed> {
    let outcome = |text: &str| OUTCOMES.iter().find(|(name, ..)| *name == text).map(|(_, outcome, _)| *outcome);
    let named = |text: &str| TIMES.iter().find(|(name, _)| *name == text).map(|(name, _)| (*name).to_owned());
    let length = |text: &str| LENGTHS.iter().find(|(name, ..)| *name == text).map(|(_, millis, _)| *millis);
    let words = |text: &str| (text.split_whitespace().count() <= WORDS).then(|| text.to_owned());
    let zone = zone(parameters)?;
    let time = |text: &str| millis_in(text, &zone.zone);
    let (since, until) = (parameters.read("since", time)?, parameters.read("until", time)?);
    // Two times say it better than a word.
    let when = parameters.read("when", named)?.filter(|_| since.or(until).is_none()).unwrap_or_default();
    let (from, to) = span(&when, now_millis, &zone).unzip();
    Ok(Asked {
        search: Search {
            text: parameters.read("q", words)?.unwrap_or_default(),
            cluster: parameters.text("cluster"),
            namespace: parameters.text("namespace"),
            name: parameters.text("name"),
            image: parameters.text("image"),
            outcome: parameters.read("outcome", outcome)?,
            had_trouble: parameters.read("trouble", |text| (text == "yes").then_some(()))?.is_some(),
            longer_millis: parameters.read("longer", length)?,
            from_millis: since.or(from),
            to_millis: until.or(to),
            when,
            zone: if parameters.has("tz") { zone.in_address() } else { String::new() },
        },
        zone,
        after: parameters.read("after", place)?,
    })
}

/// A place as addresses carry it: "1795236839971-12-2f1c…-prod", with a UID whole.
fn place(text: &str) -> Option<Place> {
    let mut parts = text.splitn(3, '-');
    let (started, number, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (uid, cluster) = rest.split_at_checked(UID)?;
    Some(Place {
        started_millis: started.parse().ok()?,
        number: number.parse().ok()?,
        uid: uid.parse().ok()?,
        cluster: cluster.strip_prefix('-')?.to_owned(),
    })
}

fn in_address(Place { started_millis, uid, number, cluster }: Place) -> String {
    format!("{started_millis}-{number}-{uid}-{cluster}")
}

/// What a word for a time means.
fn span(when: &str, now_millis: Millis, zone: &Zone) -> Option<(Millis, Millis)> {
    let now = zone.at(now_millis)?;
    let today = now.start_of_day().ok()?;
    let day = |days: i64| today.checked_add(days.days()).ok();
    let at = |days: i64, hours: i64| Some(day(days)?.checked_add(hours.hours()).ok()?.timestamp().as_millisecond());
    let (from, to) = match when {
        "today" => (at(0, 0)?, at(1, 0)?),
        "last-night" => (at(-1, 18)?, at(0, 8)?),
        "yesterday" => (at(-1, 0)?, at(0, 0)?),
        "week" => (at(-6, 0)?, at(1, 0)?),
        "month" => (at(-29, 0)?, at(1, 0)?),
        _ => return None,
    };
    Some((from, to))
}

/// Why a rollout cannot be shown; `unknown` where it is not known.
pub(super) fn lost(view: &View, lost: &Lost, unknown: impl Into<String>) -> (StatusCode, String) {
    match lost {
        Lost::Unknown => (StatusCode::NOT_FOUND, unknown.into()),
        Lost::Unreadable(why) => unreadable(view, why),
        Lost::Full => {
            let why = "Too many single rollouts and moments are open now. Try again in a moment.";
            (StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
        }
    }
}

/// That what is kept cannot be read: with the reason for those who may see everything, because it may name a database or a folder.
pub(super) fn unreadable(view: &View, why: &StoreError) -> (StatusCode, String) {
    match why {
        StoreError::TooMuch => {
            let why = "Too much was observed in the cluster during this rollout to show it here. \
                 Whoever runs this Rollcast can write its recording with `rollcast history export`.";
            (StatusCode::UNPROCESSABLE_ENTITY, why.to_owned())
        }
        why if view.sees_all() => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("History cannot be read: {}.", safe(&why.to_string())))
        }
        why => {
            tracing::debug!("history cannot be read: {why}");
            (StatusCode::SERVICE_UNAVAILABLE, "History cannot be read now.".to_owned())
        }
    }
}

/// Since when what is observed is not written, and why, as the other pages say it.
fn unwritten(view: &View, keeping: &Keeping, zone: &Zone) -> String {
    let Keeping::Failing { since_millis, why } = keeping else { return String::new() };
    let why = if view.sees_all() { why.clone() } else { UNWRITTEN.to_owned() };
    let unwritten = Some(Unwritten { since_millis: *since_millis, why });
    let stamp = |at: Millis| format!("{} {}", zone.stamp(at), zone.said());
    app::connection::unwritten(&Connection { unwritten, ..Connection::default() }, stamp).unwrap_or_default()
}

/// The last days, nothing counted yet.
fn days(now_millis: Millis, zone: &Zone) -> Vec<Day> {
    let today = zone.at(now_millis).and_then(|now| now.start_of_day().ok()).map(|today| today.datetime());
    let day = |day: DateTime| {
        let from_millis = day.to_zoned(zone.zone.clone()).ok()?.timestamp().as_millisecond();
        Some(Day { from_millis, name: day.strftime("%-d %b").to_string(), rollouts: 0, troubled: 0 })
    };
    let back = |days: i64| today.and_then(|today| today.checked_sub(days.days()).ok()).and_then(day);
    (0..DAYS).rev().filter_map(back).collect()
}

/// The page.
pub(super) async fn page(view: View, parameters: Parameters, request: Request) -> Response {
    let view = &view;
    let now_millis = clock::now_millis();
    let Asked { search, zone, after } = match asked(&parameters, now_millis) {
        Ok(asked) => asked,
        Err(wrong) => {
            let instead = vec![("/history".to_owned(), "All rollouts that are kept".to_owned())];
            return pages::refuse(view, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await;
        }
    };
    let Some(archive) = view.archive() else {
        let why = "No history is kept here: this is a recording or the playground without --data-dir, or a Rollcast that was started with --no-history.";
        return pages::missing(view, why.to_owned(), request).await;
    };
    let (asked, sight, days) = (search.clone(), view.sight().clone(), days(now_millis, &zone));
    let unwritten = unwritten(view, &archive.keeping().borrow(), &zone);
    let read = archive.read(move |reader| {
        // The strip tells of all days, whichever was asked for.
        let days = reader.days(&asked, &sight, days)?;
        let found = reader.rollouts(&asked, &sight, after, LINES)?;
        let workloads = workloads(reader, &found.rollouts)?;
        Ok((days, found, workloads))
    });
    let (payload, status) = match read.await {
        Ok((days, found, workloads)) => {
            let rollouts = found.rollouts.into_iter();
            let rollouts = rollouts.map(|rollout| (zone.stamp(rollout.started_millis), rollout)).collect();
            let after = found.after.map(in_address);
            let kept = if view.sees_all() { archive.said() } else { archive.limits_said() };
            let written =
                |at: Option<Millis>| at.filter(|_| search.when.is_empty()).map(|at| zone.field(at)).unwrap_or_default();
            let (since, until) = (written(search.from_millis), written(search.to_millis));
            let trouble = String::new();
            let payload =
                HistoryPayload { search, since, until, rollouts, workloads, after, days, kept, trouble, unwritten };
            (payload, StatusCode::OK)
        }
        Err(why) => {
            let (status, trouble) = unreadable(view, &why);
            (HistoryPayload { search, trouble, unwritten, ..HistoryPayload::default() }, status)
        }
    };
    pages::still(view, status, request, move |build| app::shell::history(payload.clone(), build)).await
}

/// The workloads of some rollouts, the first ones of them, with their last rollouts.
fn workloads(reader: &Reader, found: &[PastRollout]) -> Result<Vec<PastWorkload>, StoreError> {
    let mut seen = BTreeSet::new();
    let firsts = found.iter().filter(|rollout| seen.insert((&rollout.cluster, rollout.uid)));
    let firsts: Vec<&PastRollout> = firsts.take(WORKLOADS).collect();
    let asked: Vec<(&str, Uid)> = firsts.iter().map(|rollout| (rollout.cluster.as_str(), rollout.uid)).collect();
    let told = firsts.iter().zip(reader.of_workloads(&asked, BARS)?).map(|(rollout, mut rollouts)| {
        rollouts.reverse();
        let place = (rollout.cluster.clone(), rollout.namespace.clone());
        PastWorkload { place, name: rollout.name.clone(), rollouts }
    });
    Ok(told.collect())
}

/// The same as JSON.
pub(super) async fn json(view: View, parameters: Parameters) -> Response {
    let limit = |text: &str| text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
    let read = asked(&parameters, clock::now_millis()).and_then(|asked| Ok((asked, parameters.read("limit", limit)?)));
    let (Asked { search, after, .. }, limit) = match read {
        Ok(read) => read,
        Err(wrong) => return api::error(StatusCode::BAD_REQUEST, wrong.why()),
    };
    let Some(archive) = view.archive() else {
        return api::error(StatusCode::NOT_FOUND, "No history is kept here.".to_owned());
    };
    let sight = view.sight().clone();
    let found: Result<Found, StoreError> =
        archive.read(move |reader| reader.rollouts(&search, &sight, after, limit.unwrap_or(LINES))).await;
    match found {
        Ok(found) => {
            let after = found.after.map(in_address);
            Json(json!({ "rollouts": found.rollouts, "after": after })).into_response()
        }
        Err(why) => {
            let (status, why) = unreadable(&view, &why);
            api::error(status, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn words_for_times_are_whole_days_and_nights_in_utc() {
        let now = at("2026-11-23T03:50:00Z");
        let utc = Zone::of(Offset::UTC);
        let span = |when| span(when, now, &utc).unwrap();
        assert_eq!(span("today"), (at("2026-11-23T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        assert_eq!(span("last-night"), (at("2026-11-22T18:00:00Z"), at("2026-11-23T08:00:00Z")));
        assert_eq!(span("yesterday"), (at("2026-11-22T00:00:00Z"), at("2026-11-23T00:00:00Z")));
        assert_eq!(span("week"), (at("2026-11-17T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        assert_eq!(span("month"), (at("2026-10-25T00:00:00Z"), at("2026-11-24T00:00:00Z")));
        let days = days(now, &utc);
        assert_eq!((days.len(), days[0].name.as_str(), days[29].name.as_str()), (30, "25 Oct", "23 Nov"));
        assert_eq!(days[29].from_millis, at("2026-11-23T00:00:00Z"));
        assert_eq!(utc.stamp(now + 5_000), "23 Nov 03:50:05");
        let field = |at| utc.field(at);
        assert_eq!((field(now + 5_000).as_str(), millis_in(&field(now), &utc.zone)), ("2026-11-23T03:50", Some(now)));
        assert_eq!(utc.said(), "UTC");
    }

    #[test]
    fn in_a_zone_days_and_nights_are_those_of_the_zone() {
        let now = at("2026-11-23T03:50:00Z");
        let auckland = Zone::of(offset("+13:00").unwrap());
        assert_eq!(span("today", now, &auckland).unwrap().0, at("2026-11-22T11:00:00Z"));
        let night = (at("2026-11-22T05:00:00Z"), at("2026-11-22T19:00:00Z"));
        assert_eq!(span("last-night", now, &auckland).unwrap(), night);
        let days = days(now, &auckland);
        assert_eq!((days[29].name.as_str(), days[29].from_millis), ("23 Nov", at("2026-11-22T11:00:00Z")));
        let newfoundland = Zone::of(offset("-03:30").unwrap());
        assert_eq!((newfoundland.stamp(now).as_str(), newfoundland.said().as_str()), ("23 Nov 00:20:00", "UTC-03:30"));
        assert_eq!(millis_in("2026-11-23T00:20", &newfoundland.zone), Some(now));
        assert_eq!(millis_in("2026-11-23T03:50:00Z", &newfoundland.zone), Some(now), "who names a zone is understood");
        assert_eq!(offset(" 02:00"), offset("+02:00"), "a plus sign in an address is a space");
        for wrong in ["", "+2", "+02:60", "+19:00", "02:00", "Europe/Berlin", "+-1:00", "\u{20ac}"] {
            assert_eq!(offset(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn places_survive_addresses() {
        let here = Place { started_millis: 17, uid: Uid::from_bits(5), number: 4, cluster: "prod-eu/1".to_owned() };
        assert_eq!(place(&in_address(here.clone())), Some(here));
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
