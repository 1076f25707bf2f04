//! `rollcast wait`: ends when rollouts are complete, and says why they are not. For scripts and CI.

use std::io::Write;
use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use timeline::frame::ConnectionState;
use timeline::verdict::KubectlVerdict;
use timeline::view::View;
use timeline::words::duration;

use super::feed;
use super::follower::Follower;
use super::trace::{Told, tell};
use super::{Origin, document, plain};
use crate::cli;

/// How waiting ended. The numbers are the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// Everything is complete.
    Complete = 0,
    /// A rollout failed.
    Failed = 1,
    /// It took too long.
    TimedOut = 124,
}

/// How one Deployment ended, in a line.
struct Outcome {
    ended: Ended,
    line: String,
}

/// Runs the command.
///
/// # Errors
/// When a Deployment cannot be followed, or there is none of that name.
pub async fn wait(arguments: cli::Wait) -> anyhow::Result<Ended> {
    let origin = Origin::open(&arguments.from).await?;
    let is_json = arguments.output == cli::Output::Json;
    let started = Instant::now();
    let deadline = tokio::time::Instant::now() + arguments.timeout;
    let names: Vec<&str> = arguments.deployment.iter().map(|deployment| deployment.0.as_str()).collect();
    let mut waiting: FuturesUnordered<_> =
        names.iter().map(|name| one(&origin, name, arguments.fail_fast, is_json, started, deadline)).collect();
    let mut worst = Outcome { ended: Ended::Complete, line: String::new() };
    while let Some(outcome) = waiting.next().await {
        let outcome = outcome?;
        if !worst.line.is_empty() {
            progress(is_json, &worst.line)?;
        }
        let is_worse = outcome.ended > worst.ended || worst.ended == Ended::Complete;
        worst = if is_worse { outcome } else { worst };
        if worst.ended != Ended::Complete && arguments.fail_fast {
            break;
        }
    }
    drop(waiting);
    if is_json {
        let mut documents = Vec::new();
        for name in &names {
            documents.push(document::fetch(&origin, name).await?);
        }
        match documents.as_slice() {
            [one] => println!("{one}"),
            several => println!("[\n{}\n]", several.join(",\n")),
        }
    }
    progress(is_json, &worst.line)?; // the last line says why
    Ok(worst.ended)
}

/// Lines for people: on standard output, or beside it when that carries JSON.
fn progress(is_json: bool, line: &str) -> std::io::Result<()> {
    if is_json { writeln!(std::io::stderr(), "{line}") } else { writeln!(std::io::stdout(), "{line}") }
}

async fn one(
    origin: &Origin,
    name: &str,
    fail_fast: bool,
    is_json: bool,
    started: Instant,
    deadline: tokio::time::Instant,
) -> anyhow::Result<Outcome> {
    let place = plain(&format!("{}/{name}", origin.namespace()));
    let mut feed = feed::open(origin, name);
    let mut follower = Follower::default();
    let mut told = Told::default();
    loop {
        tokio::select! {
            heard = feed.recv() => {
                let Some(heard) = heard else { anyhow::bail!("{place}: the feed ended") };
                if !follower.hear(heard?, Instant::now()) {
                    feed = feed::open(origin, name);
                    continue;
                }
            }
            () = tokio::time::sleep_until(deadline) => {
                return Ok(outcome(Ended::TimedOut, &place, &follower, started));
            }
        }
        if is_json {
            tell(&mut told, &follower, &mut std::io::stderr())?;
        } else {
            tell(&mut told, &follower, &mut std::io::stdout())?;
        }
        if let Some(why) = blind(&follower) {
            anyhow::bail!("cannot watch {place} in {}: {why}", plain(origin.cluster()));
        }
        if is_missing(&follower) {
            anyhow::bail!(
                "there is no Deployment {} in namespace {}.{}",
                plain(name),
                plain(origin.namespace()),
                nearest(origin, name).await
            );
        }
        let view = follower.said.view.as_ref().filter(|_| follower.is_listed());
        if let Some(ended) = view.and_then(|view| decide(view, fail_fast)) {
            return Ok(outcome(ended, &place, &follower, started));
        }
    }
}

/// Whether it is over.
fn decide(view: &View, fail_fast: bool) -> Option<Ended> {
    match view.verdict.kubectl {
        KubectlVerdict::Complete => Some(Ended::Complete),
        KubectlVerdict::DeadlineExceeded | KubectlVerdict::Gone => Some(Ended::Failed),
        _ => (fail_fast && view.reasons.iter().any(|reason| reason.is_fatal)).then_some(Ended::Failed),
    }
}

/// Nothing can be seen: the cluster never answered, or Deployments may not be read.
fn blind(follower: &Follower) -> Option<String> {
    let connection = follower.connection.as_ref()?;
    let forbidden = connection.forbidden.iter().find(|forbidden| forbidden.resource.starts_with("deployments"));
    if let Some(forbidden) = forbidden {
        return Some(format!("may not {} {}", forbidden.verb, forbidden.resource));
    }
    match &connection.state {
        ConnectionState::Stale { why, .. } if follower.deployment.is_none() => Some(plain(why)),
        _ => None,
    }
}

/// Everything was listed and it is not there.
fn is_missing(follower: &Follower) -> bool {
    follower.is_listed() && follower.deployment.is_none()
}

/// Names that are there, for somebody who mistyped.
async fn nearest(origin: &Origin, name: &str) -> String {
    let mut names = match origin {
        Origin::Cluster { hub, namespace } => {
            let namespace = namespace.clone();
            let names = hub.read(move |reader| {
                let there = reader.timeline.model().deployments.values();
                let there = there.filter(|d| d.namespace == namespace && d.deleted_millis.is_none());
                there.map(|d| d.name.clone()).collect::<Vec<_>>()
            });
            names.await.unwrap_or_default()
        }
        Origin::Server { namespace, known, .. } => {
            known.iter().filter(|(other, _)| other == namespace).map(|(_, name)| name.clone()).collect()
        }
    };
    names.sort_by_key(|other| std::cmp::Reverse(common(other, name)));
    names.truncate(5);
    if names.is_empty() { String::new() } else { format!(" There is: {}.", plain(&names.join(", "))) }
}

/// Characters that two names begin with in common.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

fn outcome(ended: Ended, place: &str, follower: &Follower, started: Instant) -> Outcome {
    let took = duration(i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX));
    let word = match ended {
        Ended::Complete => "complete",
        Ended::Failed => "failed",
        Ended::TimedOut => "timed out",
    };
    let Some(view) = &follower.said.view else {
        let seen = if follower.has_snapshot { "the Deployment was not seen" } else { "nothing was seen" };
        return Outcome {
            ended,
            line: format!("{word} after {took}: {place}: {seen}. {}", follower.connection_words()),
        };
    };
    let mut line = format!("{word} after {took}: {place}: {}", plain(&view.verdict.sentence));
    if ended != Ended::Complete {
        if !view.verdict.why.is_empty() {
            line.push(' ');
            line.push_str(&plain(&view.verdict.why));
        }
        if let Some(evidence) = view.reasons.first().map(|reason| &reason.evidence) {
            let since =
                evidence.since_millis.map(|since| format!(" since {}", super::clock(since))).unwrap_or_default();
            let reason =
                if evidence.reason.is_empty() { String::new() } else { format!(" {}", plain(&evidence.reason)) };
            let message: String = timeline::words::safe(&evidence.message);
            let message = if message.is_empty() { String::new() } else { format!(": {message}") };
            line.push_str(&format!(" Evidence: {}{reason}{since}{message}", plain(&evidence.object)));
        }
    }
    Outcome { ended, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_outcome_decides() {
        assert!(Ended::TimedOut > Ended::Failed && Ended::Failed > Ended::Complete);
        assert_eq!(Ended::TimedOut as u8, 124);
    }

    #[test]
    fn the_nearest_name_begins_alike() {
        assert!(common("checkout", "chekout") > common("web", "chekout"));
    }
}
