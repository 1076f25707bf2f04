//! A client of a running Rollcast server.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use timeline::{Workload, address};

use super::plain;
use crate::access::fetch::{HttpClient, ResponseLimits};
use crate::kube::loopback::is_this_machine;
use crate::telemetry::print;

/// A server makes the file of a rollout within this time, and it is no larger.
const FILE_LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_mins(5), max_bytes: 256 << 20 };

/// A server that makes other files is asked again so often, after the time that it names, and not later than after this one.
const TRIES: u32 = 6;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Address and credentials of a server.
#[derive(Clone)]
pub(super) struct RemoteServer {
    /// Its address, without a slash at the end.
    pub address: String,
    /// The file with the token, and the Authorization header of its first content.
    token: Option<(PathBuf, HeaderValue)>,
}

impl RemoteServer {
    /// Creates a client of a server, with the token of a file. Warns if others can read the token on its way.
    pub(super) fn new(address: &str, token_file: Option<&Path>) -> anyhow::Result<Self> {
        // The address is part of what is said of it.
        anyhow::ensure!(
            !address.contains('@'),
            "the URL of a server must not have a user or a password: sign in with --token-file"
        );
        let read = |path: &Path| anyhow::Ok((path.to_owned(), read_bearer(path)?));
        let token = token_file.map(read).transpose()?;
        if token.is_some() && is_open_to_others(address) {
            print::error(&format!(
                "the token is sent to {} without TLS: others on the network can read it and sign in with it",
                plain(address)
            ));
        }
        Ok(Self { address: address.trim_end_matches('/').to_owned(), token })
    }

    /// Returns the Authorization header. The file is read again, as tokens of pods are replaced before they expire; a
    /// pipe can be read once.
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

/// Returns when a server that is busy wants to be asked again.
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
fn is_open_to_others(address: &str) -> bool {
    let Ok(uri) = address.parse::<Uri>() else { return false }; // it is asked nothing
    let host = uri.host().unwrap_or_default();
    uri.scheme_str() != Some("https") && !is_this_machine(host)
}

impl Display for RemoteServer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
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
    fn a_token_that_others_may_read_on_its_way_is_known() {
        for open in ["http://rollouts.example.com", "http://10.0.0.7:7440/", "http://[fe80::1]:80", "HTTP://other"] {
            assert!(is_open_to_others(open), "{open}");
        }
        for closed in
            ["https://rollouts.example.com", "http://127.0.0.1:7440", "http://localhost", "http://[::1]:7440/"]
        {
            assert!(!is_open_to_others(closed), "{closed}");
        }
    }
}
