//! Addresses of the server: pages, files, the API and streams.
//!
//! [`Route`] has every path, [`Address`] a path with its values and parameters. The server matches requests with them, and
//! [`links`] prints the addresses that pages lead to.

pub mod base;
pub mod links;
pub mod parameters;
pub mod route;

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

pub use self::base::{at, base, below_base, set_base};
pub use self::links::{
    below, cluster, compare, file, list, moment, namespace, permanent, pod, recording, revision, timeline, wall,
    whatever_bears_the_name, workload,
};
pub use self::parameters::Parameters;
pub use self::route::Route;
use crate::words::safe;
use crate::{Workload, WorkloadKind};

/// A path of the server with its values, and its query parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The path.
    pub route: Route,
    /// Decoded values of the path, in the order of the pattern.
    values: Vec<String>,
    /// The query parameters.
    pub parameters: Parameters,
}

/// A parameter with a value that its address does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={} is invalid: expected {expected}.", safe(.text))]
pub struct InvalidParameter {
    /// Name of the parameter.
    pub name: String,
    text: String,
    expected: &'static str,
}

impl Address {
    /// Creates an address without parameters. `values` are in the order of the pattern.
    pub fn new(route: Route, values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Self { route, values, parameters: Parameters::default() }
    }

    /// Returns the address of a workload's page or document; its path ends with the name.
    fn of_workload(route: Route, workload: &Workload) -> Self {
        let Workload { cluster, kind, namespace, name, uid, rollout } = workload;
        let address = Self::new(route, &[cluster.as_str(), namespace, kind.resource(), name]).with("uid", *uid);
        address.with("rollout", rollout.filter(|_| uid.is_some()))
    }

    /// Adds a parameter; no value or an empty one adds nothing.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        self.parameters.push(name, value.map(|value| value.to_string()).unwrap_or_default());
        self
    }

    /// Reads a path with its query; `None` for a path that the server does not answer.
    pub fn read(text: &str) -> Option<Self> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let path = below_base(path);
        let found = Route::ALL.iter().find_map(|route| Some((*route, values(route.pattern(), path)?)));
        let (route, encoded) = found?;
        let decoded = |value: &str| Some(percent_decode_str(value).decode_utf8().ok()?.into_owned());
        let values = encoded.into_iter().map(decoded).collect::<Option<_>>()?;
        Some(Self { route, values, parameters: Parameters::parse(query) })
    }

    /// Returns the value of that name in the path; empty if the path has none.
    pub fn value(&self, name: &str) -> &str {
        let names = self.route.pattern().split('/').filter_map(placeholder);
        names.zip(&self.values).find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Returns the workload of the path; `None` for an unknown resource, or a path without a workload.
    pub fn named_workload(&self) -> Option<Workload> {
        let kind = WorkloadKind::of_resource(self.value("resource"))?;
        let [cluster, namespace, name] = ["cluster", "namespace", "name"].map(|name| self.value(name));
        Some(Workload { kind, ..Workload::deployment(cluster, namespace, name) })
    }

    /// Like [`Self::named_workload`], with the UID and the rollout of the parameters.
    pub fn workload(&self) -> Result<Option<Workload>, InvalidParameter> {
        let (uid, rollout) = (self.parse("uid")?, self.parse("rollout")?);
        Ok(self.named_workload().map(|workload| Workload { uid, rollout, ..workload }))
    }

    /// Reads a parameter that must be valid unless it is empty.
    pub fn check<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, InvalidParameter> {
        let Some(text) = self.parameters.get(name) else { return Ok(None) };
        let invalid = || {
            let advice = self.route.parameters().iter().find(|(known, _)| *known == name);
            let expected = advice.map_or("another value", |(_, expected)| expected);
            InvalidParameter { name: name.to_owned(), text: text.to_owned(), expected }
        };
        read(text).map(Some).ok_or_else(invalid)
    }

    /// Parses a parameter, unless it is empty.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>, InvalidParameter> {
        self.check(name, |text| text.parse().ok())
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(base())?;
        let mut values = self.values.iter();
        for part in self.route.pattern().split('/').skip(1) {
            let value = placeholder(part).and_then(|_| values.next());
            write!(f, "/{}", value.map_or_else(|| part.to_owned(), |value| segment(value)))?;
        }
        for (index, (name, value)) in self.parameters.pairs().enumerate() {
            write!(f, "{}{name}={}", if index == 0 { '?' } else { '&' }, segment(value))?;
        }
        Ok(())
    }
}

/// Returns the values of a path that has this pattern, still encoded.
fn values<'p>(pattern: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (mut parts, mut values) = (path.split('/'), Vec::new());
    for expected in pattern.split('/') {
        match (placeholder(expected), parts.next()?) {
            (Some(_), "") => return None,
            (Some(_), value) => values.push(value),
            (None, part) if part == expected => {}
            (None, _) => return None,
        }
    }
    parts.next().is_none().then_some(values)
}

/// Returns `name` of `{name}`.
fn placeholder(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// Characters that a path and a query show as they are, besides letters and digits.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'@').remove(b':');

/// Encodes a value for a path or a query.
pub fn segment(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}
