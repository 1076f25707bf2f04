//! `rollcast wait`: ends when rollouts are complete, and explains why one is not. For scripts and CI.

use std::cmp::Reverse;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use timeline::model::PodState;
use timeline::view::View;
use timeline::words::duration_in_words;
use timeline::{Millis, Workload};

pub use super::decide::WaitOutcome;
use super::decide::{Decision, WaitDecider};
use super::follower::Follower;
use super::origin::{Origin, Source};
use super::settle::SettleTimer;
use super::trace::{PrintedLines, print_news};
use super::{feed, options, plain};
use crate::export;
use crate::telemetry::print;

/// Longest timeout: clocks cannot count longer times.
const LONGEST_WAIT: Duration = Duration::from_hours(365 * 24);

/// Time after the deadline in which the file of the rollout must arrive: a server may have stopped responding.
const EXPORT_GRACE: Duration = Duration::from_secs(30);

/// Largest number of names in a line.
const MOST_NAMES: usize = 5;

/// The result for one Deployment, as a line.
struct Outcome {
    ended: WaitOutcome,
    line: String,
    /// The Deployment of the wait: another one may have its name now.
    workload: Workload,
}

/// The worst outcome so far, which is printed last and decides the exit code: the first of equally bad ones, or the last one
/// while all are complete.
#[derive(Default)]
struct WorstOutcome(Option<Outcome>);

impl WorstOutcome {
    /// Adds an outcome. Returns the line of the better of the two, which can be printed now.
    fn add(&mut self, outcome: Outcome) -> Option<String> {
        let is_worse = outcome.ended > self.outcome() || self.outcome() == WaitOutcome::Complete;
        let other = if is_worse { self.0.replace(outcome) } else { Some(outcome) };
        other.map(|outcome| outcome.line)
    }

    fn outcome(&self) -> WaitOutcome {
        self.0.as_ref().map_or(WaitOutcome::Complete, |outcome| outcome.ended)
    }
}

/// Options of the wait, for all Deployments.
struct WaitSettings {
    fail_fast: bool,
    settle: Duration,
    is_json: bool,
    started: Instant,
    deadline: tokio::time::Instant,
}

/// Runs the command.
///
/// # Errors
/// If a Deployment cannot be followed, or does not exist.
pub async fn wait(arguments: options::Wait) -> anyhow::Result<WaitOutcome> {
    let started = Instant::now();
    let deadline = tokio::time::Instant::now() + arguments.timeout.min(LONGEST_WAIT);
    let is_json = arguments.output == options::Output::Json;
    let (fail_fast, settle) = (arguments.fail_fast, arguments.settle.unwrap_or_default().min(LONGEST_WAIT));
    let wait = WaitSettings { fail_fast, settle, is_json, started, deadline };
    let names: Vec<&str> = arguments.deployment.iter().map(|deployment| deployment.0.as_str()).collect();
    let from = &arguments.from;
    anyhow::ensure!(arguments.export.is_none() || names.len() == 1, "--export supports one Deployment only");
    // The first request counts towards the deadline, too: a server may not respond, and a credential plugin may not end.
    let Ok(origin) = tokio::time::timeout_at(deadline, Origin::open(from)).await else {
        if is_json {
            print_all(&vec!["null".to_owned(); names.len()])?;
        }
        let silent = match &from.server {
            Some(address) => format!("{} does not respond", plain(address)),
            None => "fetching the credentials of the cluster timed out".to_owned(),
        };
        let word = wait.word(WaitOutcome::TimedOut);
        writeln!(wait.printer(), "{word} {}: no data: {silent}.", plain(&names.join(", ")))?;
        return Ok(WaitOutcome::TimedOut);
    };
    let origin = origin?;
    writeln!(wait.printer(), "Times are UTC.")?;
    let mut waiting: FuturesUnordered<_> = names.iter().map(|name| wait_for(&origin, name, &wait)).collect();
    let mut worst = WorstOutcome::default();
    let mut workloads: Vec<Workload> = Vec::new();
    while let Some(outcome) = waiting.next().await {
        let outcome = outcome?;
        workloads.push(outcome.workload.clone());
        if let Some(line) = worst.add(outcome) {
            writeln!(wait.printer(), "{line}")?;
        }
        if worst.outcome() != WaitOutcome::Complete && arguments.fail_fast {
            break;
        }
    }
    drop(waiting);
    let workload = |name: &str| {
        let known = workloads.iter().find(|workload| workload.name == name);
        known.cloned().unwrap_or_else(|| origin.workload(name))
    };
    if is_json {
        print_all(&join_all(names.iter().map(|name| document(&origin, workload(name)))).await)?;
    }
    if let (Some(path), [name]) = (&arguments.export, names.as_slice())
        && let Err(why) = export_rollout(&origin, workload(name), path, arguments.redact, deadline).await
    {
        let line = format!("cannot export the rollout: {why:#}");
        let _ = writeln!(print::err(), "{}", plain(&line)); // the exit code reports the result even without the line
    }
    let ended = worst.outcome();
    writeln!(wait.printer(), "{}", worst.0.map(|outcome| outcome.line).unwrap_or_default())?; // the last line explains the result
    Ok(ended)
}

impl WaitSettings {
    /// Returns the printer of lines for people: standard output, or standard error if standard output contains JSON.
    fn printer(&self) -> Box<dyn Write> {
        if self.is_json { Box::new(print::err()) } else { Box::new(print::out()) }
    }

    /// Formats an outcome: "failed after 4.1 s:".
    fn word(&self, ended: WaitOutcome) -> String {
        let took = duration_in_words(i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX));
        let word = match ended {
            WaitOutcome::Complete => "complete",
            WaitOutcome::Failed => "failed",
            WaitOutcome::TimedOut => "timed out",
        };
        format!("{word} after {took}:")
    }
}

/// Returns the document; `null` if it cannot be fetched, because the outcome is printed in any case.
async fn document(origin: &Origin, workload: Workload) -> String {
    match origin.document(&workload).await {
        Ok(document) => document,
        Err(why) => {
            let line = format!("cannot fetch the document of {}/{}: {why:#}", workload.namespace, workload.name);
            let _ = writeln!(print::err(), "{}", plain(&line)); // standard error may be closed
            "null".to_owned()
        }
    }
}

/// Writes the rollout to a self-contained file. After the deadline there is little time for that.
async fn export_rollout(
    origin: &Origin,
    workload: Workload,
    path: &Path,
    is_redacted: bool,
    deadline: tokio::time::Instant,
) -> anyhow::Result<()> {
    let html = async {
        match &origin.source {
            Source::Hub(hub) => {
                let request = export::ExportRequest { workload, revision: None, is_redacted };
                anyhow::Ok(export::html(hub, request).await?.html)
            }
            Source::Server(server, _) => server.file(&workload, None, is_redacted).await,
        }
    };
    let until = deadline.max(tokio::time::Instant::now() + EXPORT_GRACE);
    let html = tokio::time::timeout_at(until, html).await.context("it was not there in time")??;
    std::fs::write(path, html).with_context(|| format!("cannot write {}", path.display()))
}

/// Prints documents: a single one unchanged, several as a list.
fn print_all(documents: &[String]) -> std::io::Result<()> {
    match documents {
        [one] => writeln!(print::json(), "{one}"),
        several => writeln!(print::json(), "[\n{}\n]", several.join(",\n")),
    }
}

/// Waits until the rollout of one Deployment ends or fails.
async fn wait_for(origin: &Origin, name: &str, wait: &WaitSettings) -> anyhow::Result<Outcome> {
    let place = plain(&format!("{}/{name}", origin.namespace));
    let mut feed = feed::open(origin, name);
    let mut follower = Follower::new(origin.is_server());
    let mut waiting = WaitDecider::new(&origin.namespace, wait.fail_fast, !origin.is_server());
    let mut settling = SettleTimer::new(wait.settle, wait.fail_fast);
    let mut told = PrintedLines::default();
    let mut was_settled = false;
    loop {
        let wake_at = [follower.settled_at(), settling.ends_at(), waiting.gives_up_at()].into_iter().flatten();
        let wake_at = wake_at.filter(|at| *at > Instant::now()).min();
        let mut is_deadline = false;
        tokio::select! {
            heard = feed.recv() => {
                let Some(heard) = heard else { anyhow::bail!("{place}: the feed ended") };
                if !follower.handle(heard?, Instant::now()) {
                    feed = feed::open(origin, name);
                    continue;
                }
            }
            () = sleep_until(wake_at) => {}
            () = tokio::time::sleep_until(wait.deadline) => is_deadline = true,
        }
        print_news(&mut told, &follower, &mut wait.printer())?;
        if follower.settled_at().is_some_and(|at| at <= Instant::now()) && !was_settled {
            was_settled = true;
            tracing::debug!(k8s.namespace = origin.namespace.as_str(), k8s.name = name, "its state is known");
        }
        let mut decision = waiting.decide(&follower, Instant::now(), is_deadline);
        match decision {
            Some(Decision::Ended(WaitOutcome::Complete)) => {
                decision = settling.complete(&follower, Instant::now()).map(Decision::Ended);
            }
            _ => settling.reset(),
        }
        let ended = match decision {
            Some(Decision::Ended(ended)) => ended,
            Some(Decision::CannotWatch(why)) => {
                anyhow::bail!("cannot watch {place} in {}: {why}", plain(&origin.cluster));
            }
            Some(Decision::Missing) => anyhow::bail!(
                "there is no Deployment {} in namespace {}.{}",
                plain(name),
                plain(&origin.namespace),
                similar_names(origin, name).await
            ),
            None if is_deadline => WaitOutcome::TimedOut,
            None => continue,
        };
        let line = format!(
            "{} {place}: {}{}{}",
            wait.word(ended),
            explanation(ended, &waiting, &follower),
            if is_deadline { settling.unsettled_words() } else { String::new() },
            follower.unread_words(&origin.namespace)
        );
        return Ok(Outcome { ended, line, workload: origin.workload(name).with_uid(waiting.uid) });
    }
}

/// Sleeps until a time; forever without one.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns existing names that are similar to a mistyped one.
async fn similar_names(origin: &Origin, name: &str) -> String {
    let names = match &origin.source {
        Source::Hub(hub) => {
            let namespace = origin.namespace.clone();
            let names = hub.read(move |reader| {
                let there = reader.timeline.model().deployments.values();
                let there = there.filter(|d| d.namespace == namespace && d.deleted_millis.is_none());
                there.map(|d| d.name.clone()).collect::<Vec<_>>()
            });
            names.await.unwrap_or_default()
        }
        Source::Server(_, known) => {
            known.iter().filter(|(other, _)| *other == origin.namespace).map(|(_, name)| name.clone()).collect()
        }
    };
    let names = nearest_of(names, name);
    if names.is_empty() { String::new() } else { format!(" Existing Deployments: {}.", plain(&names.join(", "))) }
}

/// Returns some of these names: those with the longest common prefix first, equal ones in alphabetical order.
fn nearest_of(mut names: Vec<String>, name: &str) -> Vec<String> {
    let common = |other: &str| other.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    names.sort();
    names.sort_by_key(|other| Reverse(common(other)));
    names.truncate(MOST_NAMES);
    names
}

/// Explains the result: verdict, cause and evidence.
fn explanation(ended: WaitOutcome, waiting: &WaitDecider, follower: &Follower) -> String {
    let view = follower.copy.said.view.as_ref();
    match (ended, view) {
        (WaitOutcome::TimedOut, _) if !follower.is_live() => {
            let seen = match view {
                Some(view) => format!("Last seen: {}", plain(&view.verdict.sentence)),
                None if follower.copy.position().is_some() => "The Deployment was not seen.".to_owned(),
                None => "No data was received.".to_owned(),
            };
            format!("{}. {seen}", follower.connection_words().trim_end_matches('.'))
        }
        (WaitOutcome::Failed, None) => "it was deleted.".to_owned(),
        (WaitOutcome::Failed, Some(_)) if waiting.is_other(follower) => {
            "it was deleted; another Deployment has its name now.".to_owned()
        }
        (_, None) => follower.connection_words(),
        (WaitOutcome::Complete, Some(view)) => format!("{}{}", complete(view), draining(follower)),
        (_, Some(view)) => {
            format!("{}{}", plain(&view.verdict.sentence), evidence(view, follower.now_millis(Instant::now())))
        }
    }
}

/// Returns the sentence about a complete rollout. If fewer pods are observed than the status counts, the status decides.
fn complete(view: &View) -> String {
    if view.counts.available < view.desired {
        let desired = view.desired;
        return format!("According to the Deployment's status, all {desired} pods are updated and available.");
    }
    plain(&view.verdict.sentence)
}

/// Returns the names of the pods that are still terminating.
fn draining(follower: &Follower) -> String {
    let Some(deployment) = follower.copy.deployment else { return String::new() };
    let pods = follower.copy.model.pods_of_deployment(deployment).into_iter();
    let names: Vec<String> =
        pods.filter(|pod| pod.state() == PodState::Terminating).map(|pod| plain(&pod.name)).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.is_empty() { named } else { format!(" Still draining: {named}{more}.") }
}

/// Returns why the rollout is not complete, with the evidence.
fn evidence(view: &View, now_millis: Millis) -> String {
    let mut words = format!(" {}", plain(&view.explanation()));
    if let Some(remedy) = &view.remedy {
        words.push_str(&format!(" {}: `{}`.", plain(&remedy.what), plain(&remedy.command)));
    }
    if let Some(evidence) = view.reasons.first().map(|reason| &reason.evidence) {
        let since = since_words(evidence.since_millis, evidence.is_least, now_millis);
        let reason = if evidence.reason.is_empty() { String::new() } else { format!(" {}", plain(&evidence.reason)) };
        let message: String = timeline::words::safe(&evidence.message);
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        words.push_str(&format!(" Evidence: {}{reason}{since}{message}", plain(&evidence.object)));
    }
    words
}

/// Formats a time: " since 14:02:07 UTC"; empty if unknown.
fn since_words(since_millis: Option<Millis>, is_least: bool, now_millis: Millis) -> String {
    let least = if is_least { "at least " } else { "" };
    let words = |since| format!(" since {least}{} UTC", super::moment(since, now_millis));
    since_millis.map(words).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal::server::RemoteServer;

    use WaitOutcome::{Complete, Failed, TimedOut};

    /// Returns the final result, its line, and the lines printed before it.
    fn worst(outcomes: &[(WaitOutcome, &str)]) -> (WaitOutcome, String, Vec<String>) {
        let mut worst = WorstOutcome::default();
        let outcome = |(ended, line): &(WaitOutcome, &str)| Outcome {
            ended: *ended,
            line: (*line).to_owned(),
            workload: Workload::deployment("prod", "shop", "web"),
        };
        let told = outcomes.iter().filter_map(|ended| worst.add(outcome(ended))).collect();
        (worst.outcome(), worst.0.unwrap().line, told)
    }

    #[test]
    fn the_worst_of_several_outcomes_is_told_last_and_decides() {
        for (outcomes, ended, last, before) in [
            (&[(Complete, "a")][..], Complete, "a", &[][..]),
            (&[(Complete, "a"), (Complete, "b"), (Complete, "c")], Complete, "c", &["a", "b"]),
            (&[(Failed, "a"), (Complete, "b")], Failed, "a", &["b"]),
            (&[(Complete, "a"), (Failed, "b"), (Complete, "c")], Failed, "b", &["a", "c"]),
            (&[(Failed, "a"), (Failed, "b")], Failed, "a", &["b"]),
            (&[(Failed, "a"), (TimedOut, "b"), (Failed, "c")], TimedOut, "b", &["a", "c"]),
            (&[(TimedOut, "a"), (Failed, "b"), (TimedOut, "c")], TimedOut, "a", &["b", "c"]),
        ] {
            let before = before.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(worst(outcomes), (ended, last.to_owned(), before), "{outcomes:?}");
        }
        assert_eq!([Complete, Failed, TimedOut].map(|ended| ended as u8), [0, 1, 124]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stopped_to_respond_holds_up_the_end_by_half_a_minute() {
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default(); // another test may have installed it
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = RemoteServer::new(&format!("http://{}", silent.local_addr().unwrap()), None).unwrap();
        let (cluster, namespace) = ("prod".to_owned(), "shop".to_owned());
        let origin = Origin { cluster, namespace, source: Source::Server(server, Vec::new()) };
        for (timeout_secs, took_secs) in [(0, 30), (20, 30), (90, 90)] {
            let began = tokio::time::Instant::now();
            let deadline = began + Duration::from_secs(timeout_secs);
            let ended = export_rollout(&origin, origin.workload("web"), Path::new("/nowhere"), false, deadline).await;
            let why = format!("{:#}", ended.unwrap_err());
            assert_eq!(why, "it was not there in time: deadline has elapsed");
            assert_eq!(began.elapsed().as_secs(), took_secs);
        }
    }

    #[test]
    fn a_state_whose_begin_nobody_saw_lasts_at_least_since_then() {
        assert_eq!(since_words(Some(3_600_000), false, 3_700_000), " since 01:00:00 UTC");
        assert_eq!(since_words(Some(3_600_000), true, 3_700_000), " since at least 01:00:00 UTC");
        assert_eq!(since_words(None, true, 3_700_000), "");
    }

    #[test]
    fn five_names_that_begin_most_alike_are_offered() {
        let names = ["web", "chart", "checkout-b", "api", "checkout-a", "check", "db"].map(str::to_owned).to_vec();
        assert_eq!(nearest_of(names, "chekout"), ["check", "checkout-a", "checkout-b", "chart", "api"]);
    }
}
