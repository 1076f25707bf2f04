//! What requests ask for: parameters, the workload that a path names, how this server was addressed. Each is read here, and what
//! makes no sense is told here.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Query, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use jiff::tz::{Offset, TimeZone};
use timeline::words::safe;
use timeline::{Millis, Workload, WorkloadKind};

/// Parts of a path by their names.
pub(super) struct Segments(Vec<(String, String)>);

impl Segments {
    /// The part of that name; empty where the path has none.
    pub(super) fn get(&self, name: &str) -> String {
        let part = self.0.iter().find(|(known, _)| known == name);
        part.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// The workload that the path names; `None` where it names a resource that rolls out nothing, or nothing that is shown here.
    pub(super) fn workload(&self) -> Option<Workload> {
        let kind = WorkloadKind::of_resource(&self.get("resource"))?;
        let (cluster, namespace, name) = (self.get("cluster"), self.get("namespace"), self.get("name"));
        Some(Workload { cluster, kind, namespace, name, uid: None, rollout: None })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let all = RawPathParams::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self(all.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

/// The workload that a path names. Another resource is not found.
pub(super) struct NamedWorkload(pub(super) Workload);

impl<S: Send + Sync> FromRequestParts<S> for NamedWorkload {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let segments = Segments::from_request_parts(parts, state).await?;
        let Ok(parameters) = Parameters::from_request_parts(parts, state).await;
        segments
            .workload()
            .and_then(|workload| parameters.of(workload).ok())
            .map(Self)
            .ok_or_else(|| StatusCode::NOT_FOUND.into_response())
    }
}

/// The parameters of an address; of two with the same name the last one counts.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// The parameters of an address that is talked about.
    pub(super) const fn of_pairs(all: Vec<(String, String)>) -> Self {
        Self(all)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// These, and others that count where both have a name.
    pub(super) fn and(&self, others: impl Iterator<Item = (String, String)>) -> Self {
        Self(self.0.iter().cloned().chain(others).collect())
    }

    /// It is there, whatever it says.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// What is written, or nothing.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A value that must be understood where there is one.
    pub(super) fn read<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Malformed> {
        let said = self.get(name).filter(|text| !text.is_empty());
        let wrong = |text: &str| Malformed { name: name.to_owned(), text: text.to_owned() };
        said.map(|text| read(text).ok_or_else(|| wrong(text))).transpose()
    }

    /// The same, of what has one way to be written.
    pub(super) fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>, Malformed> {
        self.read(name, |text| text.parse().ok())
    }

    /// The one of those of that name, and the one of its rollouts, that is meant.
    pub(super) fn of(&self, workload: Workload) -> Result<Workload, Malformed> {
        Ok(Workload { uid: self.parse("uid")?, rollout: self.parse("rollout")?, ..workload })
    }

    /// The moment `at`.
    pub(super) fn moment(&self) -> Result<Option<Millis>, Malformed> {
        self.read("at", millis)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let query = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        Ok(Self(query.map(|Query(all)| all).unwrap_or_default()))
    }
}

/// A parameter that makes no sense.
#[derive(Debug)]
pub(super) struct Malformed {
    name: String,
    text: String,
}

impl Malformed {
    /// A sentence for people: what was written, and what it should be.
    pub(super) fn why(&self) -> String {
        let should = match self.name.as_str() {
            "at" | "since" | "until" => "a time such as 2026-11-21T14:02:05.250Z, or milliseconds since 1970",
            "uid" => "the UID of a Deployment",
            "revision" => "the number of a revision, 1 or more",
            "show" => "trouble, moving, finished or stable",
            "by" => "namespace or verdict",
            "sort" => "status, name, available or since",
            "order" => "asc or desc",
            "rotate" => "seconds, 2 to 3600",
            "columns" => "1 to 4",
            "sound" => "on or off",
            "theme" => "dark, light or auto",
            "tz" => "utc, or an offset from UTC such as +02:00",
            "kind" => "rollout, scaling, recovery, failure, deletion, or several with commas",
            "outcome" => "complete, failed (or deadline), superseded, deleted or in-progress",
            "when" => "hour, day, today, last-night, yesterday, week or month",
            "trouble" | "redact" => "yes",
            "format" => "html or jsonl",
            "q" => "at most eight words without a key, and 1,000 characters",
            "after" => "the value of the previous page",
            "longer" => "30s, 2m, 10m or 1h",
            "limit" => "a number from 1 to 500",
            "zone" => "utc, own, or the name of a time zone such as Europe/Berlin",
            _ => "a number",
        };
        format!("{}={} is invalid: expected {should}.", self.name, safe(&self.text))
    }
}

/// A moment as people and programs write it; without a zone, as the fields of forms do, it is in UTC.
pub(super) fn millis(text: &str) -> Option<Millis> {
    millis_in(text, &TimeZone::UTC)
}

/// The same; what names no zone is in this one.
pub(super) fn millis_in(text: &str, zone: &TimeZone) -> Option<Millis> {
    let time = || text.parse::<jiff::Timestamp>().ok();
    let in_zone = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone.clone()).ok();
    let told = || time().or_else(|| in_zone().map(|at| at.timestamp())).map(|at| at.as_millisecond());
    text.parse().ok().or_else(told)
}

/// An offset from UTC: "+02:00", "-03:30", "utc". A plus sign that nobody encoded comes as a space.
pub(super) fn offset(text: &str) -> Option<Offset> {
    if text.eq_ignore_ascii_case("utc") {
        return Some(Offset::UTC);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+" | " ", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let two =
        |part: &str| part.parse().ok().filter(|_| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let (hours, minutes): (i32, i32) = (two(hours)?, two(minutes)?);
    let is_one = hours <= 18 && minutes < 60;
    is_one.then(|| Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()).flatten()
}

/// What links to this server begin with, for whoever sent a request; the guard finds it out.
#[derive(Clone)]
pub(super) struct OwnOrigin(pub(super) Arc<str>);

/// What links to this server begin with: previews need whole addresses.
pub(super) fn origin(request: &Request) -> Arc<str> {
    request.extensions().get::<OwnOrigin>().map(|OwnOrigin(origin)| origin.clone()).unwrap_or_default()
}

/// A name that every file system and every header takes.
pub(super) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}
