//! Reads requests: the address, the client, times, and the origin of this server's links.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri, header};
use jiff::fmt::strtime;
use jiff::tz::{Offset, TimeZone};
use timeline::address::{Address, InvalidParameter, Route, at, below_base};
use timeline::{Millis, Workload};

use super::respond::Refusal;
use crate::access::clients::UsageGuard;

/// Longest address to which a viewer is redirected after signing in, in bytes.
const LONGEST: usize = 2_000;

/// The address of a request. A value of its path that is not UTF-8 is refused.
pub(super) struct RequestAddress(pub(super) Address);

impl<S: Send + Sync> FromRequestParts<S> for RequestAddress {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let refusal = || Refusal(StatusCode::BAD_REQUEST, "The path is not UTF-8.".to_owned());
        address(&parts.uri).map(Self).ok_or_else(refusal)
    }
}

/// Returns the address of a request; `None` for files and paths that do not exist.
pub(super) fn address(uri: &Uri) -> Option<Address> {
    Address::read(uri.path_and_query()?.as_str())
}

/// Returns whether a browser requests a page, as a person sees it.
pub(super) fn wants_page(request: &Request) -> bool {
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    request.method() == Method::GET && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// The workload of an address, with its UID and rollout, which must be valid. Another resource is not found.
pub(super) struct NamedWorkload(pub(super) Workload);

impl<S: Send + Sync> FromRequestParts<S> for NamedWorkload {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let RequestAddress(address) = RequestAddress::from_request_parts(parts, state).await?;
        let unknown = || Refusal(StatusCode::NOT_FOUND, "There is no such resource.".to_owned());
        address.workload()?.map(Self).ok_or_else(unknown)
    }
}

/// Returns the moment of an address; without a zone it is in UTC.
pub(super) fn moment(address: &Address) -> Result<Option<Millis>, InvalidParameter> {
    address.check("at", |text| millis_in(text, &TimeZone::UTC))
}

/// The client of a request, as the guard counts it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// The other end of its connection.
    pub(super) peer: Option<IpAddr>,
    /// Its address, as a trusted proxy reports it.
    pub(super) address: Option<IpAddr>,
    /// The client's turn ends when the last copy of this is dropped.
    pub(super) _turn: Option<Arc<UsageGuard<IpAddr>>>,
}

/// Reads a time; without a zone it is in `zone`.
pub(super) fn millis_in(text: &str, zone: &TimeZone) -> Option<Millis> {
    let time = || text.parse::<jiff::Timestamp>().ok();
    let in_zone = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone.clone()).ok();
    let told = || time().or_else(|| in_zone().map(|at| at.timestamp())).map(|at| at.as_millisecond());
    text.parse().ok().or_else(told)
}

/// Parses an offset from UTC: "+02:00", "-03:30", "utc". A plus sign that was not encoded arrives as a space.
pub(super) fn offset(text: &str) -> Option<Offset> {
    if text.eq_ignore_ascii_case("utc") {
        return Some(Offset::UTC);
    }
    let offset = strtime::parse("%:z", text.replacen(' ', "+", 1)).ok()?.offset()?;
    let has_seconds = text.len() > "+02:00".len();
    Some(offset).filter(|offset| !has_seconds && offset.seconds().abs() < 19 * 3_600)
}

/// The origin of this server's links, which the guard derives from the request.
#[derive(Clone)]
pub(super) struct OwnOrigin(pub(super) Arc<str>);

/// Returns the origin of this server's links. Previews need whole addresses.
pub(super) fn origin(request: &Request) -> Arc<str> {
    request.extensions().get::<OwnOrigin>().map(|OwnOrigin(origin)| origin.clone()).unwrap_or_default()
}

/// Replaces the characters of a name that file systems or headers may not take.
pub(super) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Returns an address of this server. An address of another server becomes that of the list.
pub(super) fn local(to: &str) -> String {
    let is_path = to.starts_with('/') && !to[1..].starts_with(['/', '\\']) && to.len() <= LONGEST;
    let is_plain = to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let path = below_base(to);
    let is_sign_in = [Route::SignIn, Route::SignOut].iter().any(|route| path.starts_with(route.pattern()));
    if is_path && is_plain && !is_sign_in { at(path) } else { at("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_are_led_back_to_addresses_of_this_server_only() {
        for to in ["/", "/wall?rotate=5", "/clusters/a/namespaces/b/deployments/c?at=5#x"] {
            assert_eq!(local(to), to);
        }
        for to in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/a\r\nb",
            "/ä",
            "/sign-in?to=/",
            "/sign-out",
        ] {
            assert_eq!(local(to), "/", "{to}");
        }
        assert_eq!(local(&format!("/{}", "x".repeat(3_000))), "/");
    }
}
