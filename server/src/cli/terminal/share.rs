//! `rollcast share`: creates, lists and revokes links on a running Rollcast for people without an account.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, Request, Uri, header};
use serde_json::Value;

use super::options::{ShareArguments, ShareCommand};
use super::plain;
use super::server::RemoteServer;
use crate::access::fetch::ResponseLimits;
use crate::telemetry::clock::stamp;
use crate::telemetry::print;

/// Time limit and size limit of a response.
const LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_secs(20), max_bytes: 4 << 20 };

/// Runs the command and prints its result.
pub async fn share(arguments: ShareArguments) -> anyhow::Result<()> {
    let address = arguments.server.context("name the running server with --server")?;
    let server = RemoteServer::new(&address, arguments.token_file.as_deref())?;
    match arguments.what {
        ShareCommand::Make { address, lasts, allow_preview } => {
            let to = path_and_query(&address)?;
            let preview = if allow_preview { "yes" } else { "no" };
            let made = send_request(&server, Method::POST, "", &[("to", &to), ("lasts", &lasts), ("preview", preview)])
                .await?;
            writeln!(print::out(), "{}", text(&made, "link"))?;
            writeln!(print::err(), "It opens {} until {}.", text(&made, "opens"), expiry(&made))?;
        }
        ShareCommand::Ls => {
            let told = send_request(&server, Method::GET, "", &[]).await?;
            for share in told.get("shares").and_then(Value::as_array).into_iter().flatten() {
                let has_preview = share.get("allowsPreview").and_then(Value::as_bool).unwrap_or_default();
                writeln!(
                    print::out(),
                    "{}  until {}  by {}  {}{}",
                    text(share, "id"),
                    expiry(share),
                    text(share, "maker"),
                    text(share, "opens"),
                    if has_preview { ", with a preview" } else { "" }
                )?;
            }
        }
        ShareCommand::Revoke { id } => {
            send_request(&server, Method::POST, "/revoke", &[("id", &id)]).await?;
            writeln!(print::out(), "Revoked {}.", plain(&id))?;
        }
    }
    Ok(())
}

/// Returns path and query of an address, with or without the server.
fn path_and_query(address: &str) -> anyhow::Result<String> {
    let uri: Uri = address.parse().with_context(|| format!("{address:?} is not a valid page address"))?;
    Ok(uri.path_and_query().map(ToString::to_string).unwrap_or_default())
}

fn text(of: &Value, name: &str) -> String {
    plain(of.get(name).and_then(Value::as_str).unwrap_or_default())
}

fn expiry(share: &Value) -> String {
    stamp(share.get("untilMillis").and_then(Value::as_i64).unwrap_or_default())
}

async fn send_request(
    server: &RemoteServer,
    method: Method,
    path: &str,
    form: &[(&str, &str)],
) -> anyhow::Result<Value> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1/shares{path}"))
        // As the server's pages send it: without a default port, and without the base path of the server.
        .header(header::ORIGIN, server.url.origin().ascii_serialization())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Bytes::from(body))?;
    let answer = server.send(request, LIMITS).await.with_context(|| format!("cannot reach {server}"))?;
    let told: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if answer.status().is_success() {
        return Ok(told);
    }
    let why = match told.get("error").and_then(Value::as_str) {
        Some(why) => plain(why),
        None => plain(String::from_utf8_lossy(answer.body()).lines().next().unwrap_or_default()),
    };
    anyhow::bail!("{server} responded {}: {why}", answer.status())
}
