//! A client of a running Rollcast server.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use timeline::{Workload, address};
use url::{ParseError, Url};

use super::plain;
use crate::access::fetch::{HttpClient, ResponseLimits};
use crate::kube::loopback::is_this_machine;
use crate::telemetry::print;

/// Time limit and size limit of the file of a rollout.
const FILE_LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_mins(5), max_bytes: 256 << 20 };

/// Number of requests to a busy server, each after the time that it names, or after the time below if that is shorter.
const TRIES: u32 = 6;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Address and credentials of a server.
#[derive(Clone)]
pub(super) struct RemoteServer {
    pub url: Url,
    /// The file with the token, and the Authorization header of its first content.
    token: Option<(PathBuf, HeaderValue)>,
}

impl RemoteServer {
    /// Creates a client of a server, with the token of a file. Warns if others can read the token in transit.
    pub(super) fn new(address: &str, token_file: Option<&Path>) -> anyhow::Result<Self> {
        // Messages about the server contain its address.
        anyhow::ensure!(
            !address.contains('@'),
            "the URL of a server must not have a user or a password: sign in with --token-file"
        );
        let url = match address.parse::<Url>() {
            Ok(url) if matches!(url.scheme(), "http" | "https") => url,
            Ok(_) | Err(ParseError::RelativeUrlWithoutBase) => {
                anyhow::bail!("cannot use {address}: the address must begin with http:// or https://")
            }
            Err(why) => return Err(why).with_context(|| format!("{address} is not a valid server URL")),
        };
        anyhow::ensure!(
            url.query().is_none() && url.fragment().is_none(),
            "cannot use {address}: the address of a server has no query and no fragment"
        );
        let read = |path: &Path| anyhow::Ok((path.to_owned(), read_bearer(path)?));
        let token = token_file.map(read).transpose()?;
        if token.is_some() && is_open_to_others(&url) {
            print::error(&format!(
                "the token is sent to {} without TLS: others on the network can read it and sign in with it",
                plain(address)
            ));
        }
        Ok(Self { url, token })
    }

    /// Returns the Authorization header. The file is read again, because tokens of pods are replaced before they expire; a pipe
    /// can be read only once.
    pub(super) fn bearer(&self) -> Option<HeaderValue> {
        let (path, first) = self.token.as_ref()?;
        let now = if path.is_file() { read_bearer(path).ok() } else { None };
        Some(now.unwrap_or_else(|| first.clone()))
    }

    /// Sends a request; its URI is a path of the server.
    pub(super) async fn send(
        &self,
        mut request: Request<Bytes>,
        limits: ResponseLimits,
    ) -> anyhow::Result<Response<Bytes>> {
        let address = format!("{self}{}", request.uri());
        *request.uri_mut() = address.parse().with_context(|| format!("{self} is not a valid server URL"))?;
        if let Some(bearer) = self.bearer() {
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        Ok(HttpClient::new(true, limits)?.send(request).await?)
    }

    pub(super) async fn get(&self, path: &str, limits: ResponseLimits) -> anyhow::Result<String> {
        let answer = self.send(Request::get(path).body(Bytes::new())?, limits).await?;
        self.text(answer)
    }

    fn text(&self, answer: Response<Bytes>) -> anyhow::Result<String> {
        anyhow::ensure!(answer.status().is_success(), "{self} responded {}", answer.status());
        Ok(String::from_utf8(answer.into_body().into())?)
    }

    /// Fetches the file of a rollout, or of the last one without a revision.
    pub(super) async fn file(
        &self,
        workload: &Workload,
        revision: Option<u64>,
        is_redacted: bool,
    ) -> anyhow::Result<String> {
        let path = address::file(workload, revision);
        let mark = if path.contains('?') { '&' } else { '?' };
        let asked = if is_redacted { format!("{path}{mark}redact=yes") } else { path };
        let mut tries = 1;
        let answer = loop {
            let answer = self.send(Request::get(asked.as_str()).body(Bytes::new())?, FILE_LIMITS).await?;
            match busy_for(&answer).filter(|_| tries < TRIES) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => break answer,
            }
            tries += 1;
        };
        anyhow::ensure!(
            answer.status() != StatusCode::NOT_FOUND,
            "{self} has no such rollout, or does not show it to you; check the name, --namespace and --revision"
        );
        self.text(answer)
    }
}

/// Returns the time after which a busy server accepts another request.
fn busy_for(answer: &Response<Bytes>) -> Option<Duration> {
    let is_busy = matches!(answer.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
    let seconds = answer.headers().get(RETRY_AFTER).filter(|_| is_busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

fn read_bearer(path: &Path) -> anyhow::Result<HeaderValue> {
    let token = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let bearer = HeaderValue::try_from(format!("Bearer {}", token.trim())).ok().filter(|_| !token.trim().is_empty());
    let mut bearer = bearer.with_context(|| format!("{} contains no valid token", path.display()))?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

/// Returns whether requests leave this machine without TLS.
fn is_open_to_others(url: &Url) -> bool {
    url.scheme() == "http" && !is_this_machine(url.host_str().unwrap_or_default())
}

impl Display for RemoteServer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_written_anew_is_taken_up() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let server = || RemoteServer::new("http://127.0.0.1:7440", Some(file.path()));
        std::fs::write(file.path(), " \n").unwrap();
        assert!(server().is_err_and(|why| why.to_string().ends_with("contains no valid token")));
        std::fs::write(file.path(), "first\n").unwrap();
        let server = server().unwrap();
        for (text, bearer) in [("first", "Bearer first"), ("second\n", "Bearer second"), ("", "Bearer first")] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(server.bearer().unwrap(), bearer);
        }
        std::fs::remove_file(file.path()).unwrap();
        assert_eq!(server.bearer().unwrap(), "Bearer first");
    }

    #[test]
    fn a_server_is_shown_without_a_slash_at_the_end_and_its_origin_is_that_of_its_pages() {
        for (address, shown, origin) in [
            ("http://127.0.0.1:7440/", "http://127.0.0.1:7440", "http://127.0.0.1:7440"),
            ("https://Rollouts.example.com:443/a/", "https://rollouts.example.com/a", "https://rollouts.example.com"),
            ("HTTP://[::1]:7440/rollcast", "http://[::1]:7440/rollcast", "http://[::1]:7440"),
        ] {
            let server = RemoteServer::new(address, None).unwrap();
            assert_eq!((&*server.to_string(), &*server.url.origin().ascii_serialization()), (shown, origin));
        }
    }

    #[test]
    fn an_address_of_no_server_is_refused_before_it_is_asked() {
        let must_begin = "the address must begin with http:// or https://";
        let has_no_query = "the address of a server has no query and no fragment";
        for (address, why) in [
            ("rollouts", must_begin),
            ("localhost:7440", must_begin),
            ("http://host/?a=b", has_no_query),
            ("http://host/#a", has_no_query),
        ] {
            let says = format!("cannot use {address}: {why}");
            assert_eq!(RemoteServer::new(address, None).err().unwrap().to_string(), says);
        }
        let says = "http://a b is not a valid server URL";
        assert_eq!(RemoteServer::new("http://a b", None).err().unwrap().to_string(), says);
    }

    #[test]
    fn a_token_that_others_may_read_on_its_way_is_known() {
        for open in ["http://rollouts.example.com", "http://10.0.0.7:7440/", "http://[fe80::1]:80"] {
            assert!(is_open_to_others(&open.parse().unwrap()), "{open}");
        }
        for closed in
            ["https://rollouts.example.com", "http://127.0.0.1:7440", "http://localhost", "http://[::1]:7440/"]
        {
            assert!(!is_open_to_others(&closed.parse().unwrap()), "{closed}");
        }
    }
}
