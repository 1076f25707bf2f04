//! The wiring: from the command line to running tasks. An error ends the program with exit code 2 and one sentence.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::CommandFactory;
use timeline::address::{self, below_base};
use timeline::fact::Kind;
use timeline::wire::Unwritten;
use timeline::{Retention, document};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::access::{Auth, AuthMode};
use crate::cli::clusters::NO_CONTEXT;
use crate::cli::config::Config;
use crate::cli::terminal;
use crate::cli::{
    Check, Cli, Clusters, Command, Demo, HistoryArguments, HistoryCommand, Listen, Open, Record, Replay, Serve,
    ServerOptions,
};
use crate::cli::{clusters, commands};
use crate::database::private;
use crate::export::assets;
use crate::feed::playground::Playground;
use crate::feed::recording::{self, Recording};
use crate::feed::replay;
use crate::history::options::{Limits, Location, Options, UNLIMITED_AGE};
use crate::history::{Archive, tap};
use crate::hub::Handle;
use crate::kube::{self, Health, SourceEvent};
use crate::telemetry::audit::Audit;
use crate::telemetry::clock::Clock;
use crate::telemetry::viewers::Viewers;
use crate::telemetry::{print, signals};
use crate::web::connections::serve as accept;
use crate::web::server_address::ServerAddress;
use crate::web::state::{Rollcast, Site};
use crate::web::tls::TlsFiles;
use crate::web::{connections, http};

/// Exit code of a command that SIGINT or SIGTERM ended. Shells use it for SIGINT alone.
const INTERRUPTED: u8 = 130;
/// Exit code of a command whose output has no reader any more, as with `head`. Shells use it for SIGPIPE.
pub const OUTPUT_CLOSED: u8 = 141;

/// Runs a command to its end and returns the exit code.
///
/// # Errors
/// When it cannot start; the error's text is the sentence for people.
pub async fn run(cli: Cli) -> anyhow::Result<u8> {
    let Some(command) = cli.command else {
        commands::start::start()?;
        return Ok(0);
    };
    // These run until they are interrupted: that is no failure.
    let interrupted = match command {
        Command::Serve(_) | Command::Replay(_) | Command::Demo(_) | Command::Open(_) | Command::Trace(_) => 0,
        _ => INTERRUPTED,
    };
    tokio::select! {
        ended = execute(command) => ended,
        () = signals::wait_for_interrupt_as_first_process() => Ok(interrupted),
    }
}

/// Returns whether a command ended because the reader of its output closed the pipe. Network errors are inside other errors.
pub fn is_output_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|why| why.kind() == std::io::ErrorKind::BrokenPipe)
}

async fn execute(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Wait(arguments) => return Ok(terminal::wait(arguments).await? as u8),
        Command::Trace(arguments) => terminal::trace(arguments).await,
        Command::Serve(arguments) => serve(*arguments).await,
        Command::Replay(arguments) => self::replay(arguments).await,
        Command::Demo(arguments) => demo(arguments).await,
        Command::Record(arguments) => record(arguments).await,
        Command::Report { file } => report(&file),
        Command::Share(arguments) => terminal::share(arguments).await,
        Command::Export(arguments) => commands::export::export(arguments).await,
        Command::Open(arguments) => open(arguments).await,
        Command::Completion { shell } => Ok(commands::completion::completion(Cli::command(), shell)?),
        Command::Manual { folder } => commands::completion::manual(Cli::command(), &folder),
        Command::Check(arguments) => check(arguments).await,
        Command::History(arguments) => tokio::task::spawn_blocking(|| history_of(arguments)).await?,
    }?;
    Ok(0)
}

async fn serve(arguments: Serve) -> anyhow::Result<()> {
    let file = Config::read(arguments.config.as_deref())?;
    let mut wanted = clusters::cluster_configs(&arguments.clusters, &arguments.namespace, &file)?;
    anyhow::ensure!(!wanted.is_empty(), NO_CONTEXT);
    let every_context = clusters::every_context(&arguments.clusters, &file)?;
    let sign_in = arguments.sign_in;
    let served = arguments.listen.merge(&file)?;
    let mode = sign_in.mode(&file);
    let allows_exec_plugins = arguments.allow_exec_plugins.unwrap_or(file.allow_exec_plugins);
    if (mode != AuthMode::None || served.is_for_others()) && !allows_exec_plugins {
        wanted = wanted.into_iter().map(clusters::ClusterConfig::without_commands).collect();
    }
    for secret in sign_in.secrets(&file) {
        private::check_served(&secret, served.is_for_others())?;
    }
    let listener = listen(&served, mode).await?;
    if let [only] = wanted.as_slice() {
        only.target().await?; // with one cluster, errors are reported at the start
    }
    let retention = arguments.history.retention(&file);
    let kept = arguments.history.storage(&file)?;
    let viewers = Viewers::default();
    let place = kept.as_ref().map(|kept| kept.location.clone());
    let archive = kept.map(Archive::start);
    if let Some(archive) = &archive {
        tracing::info!("history is stored {}", archive.options);
    }
    let watch = |cluster: clusters::ClusterConfig| cluster.watch(retention, archive.as_ref()).0;
    let hubs: Vec<Handle> = wanted.into_iter().map(watch).collect();
    let open_audit =
        |path: &PathBuf| Audit::open(path).with_context(|| format!("cannot write the audit log {}", path.display()));
    let audit = sign_in.audit_log.as_ref().or(file.auth.audit_log.as_ref()).map(open_audit).transpose()?;
    let (auth, shares) = sign_in.auth(&file, &hubs, place.as_ref())?;
    let is_public = !served.listen.ip().is_loopback() && !served.site.server_address.is_secure();
    if is_public && matches!(auth, Auth::Token(_) | Auth::Oidc(_)) {
        tracing::warn!(
            "sign-in at {} works without TLS: others on the network can read the tokens, and browsers do not keep the session. Set --tls-cert and --tls-key, or --public-url with https behind a TLS proxy",
            served.listen
        );
    }
    let auth = if matches!(auth, Auth::None) { served.site.auth } else { auth };
    let restart_notice = every_context.map(clusters::watch_contexts);
    let site = Site { auth, shares, audit, archive, restart_notice, ..served.site };
    publish(ServerOptions { site, ..served }, listener, hubs, viewers, "/", false).await
}

/// Serves one namespace on loopback, and opens a page of it in the browser.
async fn open(arguments: Open) -> anyhow::Result<()> {
    let Open { deployment, from, all_namespaces, listen: address, no_browser } = arguments;
    let deployment = deployment.as_ref().map(|deployment| deployment.0.as_str());
    if from.server.is_some() {
        let page = terminal::page(&from, deployment, all_namespaces).await?;
        writeln!(print::out(), "{page}")?;
        if !no_browser {
            open_browser(page).await?;
        }
        return Ok(());
    }
    anyhow::ensure!(
        address.ip().is_loopback(),
        "open listens on loopback only: {address} is not a loopback address; use rollcast serve to let others in"
    );
    let mut cluster = terminal::cluster(&from)?;
    let target = cluster.target().await?;
    let namespace = from.namespace.unwrap_or(target.namespace);
    if !all_namespaces {
        cluster.namespaces = vec![namespace.clone()];
    }
    let served = Listen { listen: Some(address), ..Listen::default() }.merge(&Config::default())?;
    let listener = listen(&served, AuthMode::None).await?;
    let path = match (deployment, all_namespaces) {
        (None, true) => "/".to_owned(),
        _ => terminal::path(&target.name, &namespace, deployment),
    };
    let (hub, _) = cluster.watch(Retention::default(), None);
    publish(served, listener, vec![hub], Viewers::default(), &path, !no_browser).await
}

/// Opens a page in the browser on this machine. Errors are ignored: people can open the printed address.
fn open_browser(address: String) -> JoinHandle<()> {
    // Some programs that open browsers return only when the browser ends.
    tokio::task::spawn_blocking(move || {
        if let Err(why) = webbrowser::open(&address) {
            print::error(&format!("cannot open a browser: {why}; open {address} yourself"));
        }
    })
}

/// Serves the playground, whose cluster is watched like any other.
async fn demo(arguments: Demo) -> anyhow::Result<()> {
    if let Some(address) = arguments.listen.listen.filter(|address| !address.ip().is_loopback()) {
        anyhow::bail!(
            "the playground listens on loopback only, because everyone who can connect may change it: {address} is not a loopback address"
        );
    }
    let served = arguments.listen.clone().merge(&Config::default())?;
    let listener = listen(&served, AuthMode::None).await?;
    let viewers = Viewers::default();
    let playground = Playground::start(&arguments.playground, arguments.data_dir.is_some(), viewers.clone()).await?;
    let kubeconfig = playground.kubeconfig.clone();
    let clusters = Clusters { kubeconfig: Some(kubeconfig.clone()), ..Clusters::default() };
    let wanted = clusters::cluster_configs(&clusters, &[], &Config::default())?;
    let location = arguments.data_dir.map(Location::Folder);
    let archive = location.map(|location| Archive::start(Options { location, limits: Limits::default() }));
    let watch = |cluster: clusters::ClusterConfig| {
        let (hub, events) = cluster.watch(Retention::default(), archive.as_ref());
        tokio::spawn(playground.clone().send_clock(events));
        hub
    };
    let hubs: Vec<Handle> = wanted.into_iter().map(watch).collect();
    let site = Site { playground: Some(playground), archive, ..served.site };
    let ended = publish(ServerOptions { site, ..served }, listener, hubs, viewers, "/", false).await;
    let _ = std::fs::remove_file(kubeconfig); // its cluster is gone, too
    ended
}

async fn replay(arguments: Replay) -> anyhow::Result<()> {
    let parse = if arguments.data_dir.is_some() { Recording::read_to_store } else { Recording::read };
    let mut recordings = Vec::new();
    for file in &arguments.files {
        let name = file.file_stem().map_or_else(|| "recording".to_owned(), |stem| stem.to_string_lossy().into_owned());
        recordings.push((name, replay::read(file, parse)?));
    }
    let served = arguments.listen.merge(&Config::default())?;
    let listener = listen(&served, AuthMode::None).await?;
    let options = arguments.playback;
    let location = arguments.data_dir.map(Location::Folder);
    // The data of recordings is old from the start.
    let limits = Limits { age_millis: UNLIMITED_AGE, ..Limits::default() };
    let archive = location.map(|location| Archive::start(Options { location, limits }));
    let mut taken = match &archive {
        Some(archive) => kept_clusters(archive).await?,
        None => BTreeSet::new(),
    };
    let viewers = Viewers::default();
    let mut hubs = Vec::new();
    for (name, recording) in recordings {
        let name = replay::free_name(&name, &taken);
        taken.insert(name.clone());
        let (hub, events) = tap::start(archive.as_ref(), &name, &[], Arc::default(), Retention::default());
        let first = options.when_watched.then(|| viewers.clone());
        let played = tokio::spawn(replay::play(events, name, recording, options, first));
        if options.hold_at.is_some() {
            // The first viewer sees the moment of `--hold-at`, not the events before it.
            played.await?;
            if let Some(archive) = &archive {
                archive.checkpoint().await; // waits until the hub has received everything
            }
        }
        hubs.push(hub);
    }
    let site = Site { archive, ..served.site };
    publish(ServerOptions { site, ..served }, listener, hubs, viewers, "/", false).await
}

/// Returns the names of stored clusters. Errors end the command at once: the recording can be replayed later.
async fn kept_clusters(archive: &Archive) -> anyhow::Result<BTreeSet<String>> {
    let clusters = archive.read(|reader| reader.clusters()).await;
    if let Some(Unwritten { why, .. }) = &*archive.unwritten.borrow() {
        anyhow::bail!("cannot store the history of the replay: {why}");
    }
    clusters.context("cannot store the history of the replay")
}

async fn record(arguments: Record) -> anyhow::Result<()> {
    let mut wanted = clusters::cluster_configs(&arguments.clusters, &[], &Config::default())?;
    anyhow::ensure!(wanted.len() == 1, "a recording contains one cluster: choose one with --context");
    let Some(wanted) = wanted.pop() else { return Ok(()) };
    let target = wanted.target().await?;
    target.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let (events, mut inbox) = mpsc::channel(kube::QUEUE);
    let name = target.name.clone();
    let clock = watch::channel(Clock::Real).1;
    let source = clusters::source(target, events, Arc::default(), clock);
    let cluster = kube::Cluster { hides_messages: wanted.hides_messages, ..source };
    kube::start(&cluster, &Kind::ALL, &arguments.namespace.into_iter().collect::<Vec<_>>());
    let mut out = print::json();
    let mut is_begun = false;
    // Reason why there are no objects yet, and the time at which it ends the command.
    let mut failure: Option<(String, Instant)> = None;
    let ends_at = |failure: &Option<(String, Instant)>| {
        failure.as_ref().map_or_else(|| Instant::now() + terminal::UNREACHABLE_AFTER, |(_, ends_at)| *ends_at)
    };
    loop {
        let event = match &failure {
            Some((why, ends_at)) if !is_begun => {
                timeout_at(*ends_at, inbox.recv()).await.map_err(|_| anyhow::anyhow!("{why}"))?
            }
            _ => inbox.recv().await,
        };
        let Some(event) = event else { return Ok(()) };
        match event {
            // A cluster that cannot be watched at all is reported soon. Later the watches retry, and a list after an
            // outage records a gap.
            SourceEvent::Health { kind, health: Health::Stale { why, .. }, .. } if !is_begun => {
                let why = format!("cannot watch {} in {name}: {why}", kind.resource());
                failure = Some((why, ends_at(&failure)));
            }
            SourceEvent::Answers { silent: Some((_, why)) } if !is_begun => {
                let why = format!("cluster {name} does not respond: {why}");
                failure = Some((why, ends_at(&failure)));
            }
            SourceEvent::Answers { silent: Some((_, why)) } => {
                tracing::warn!(
                    "cluster {name} does not respond: {why}; the recording continues when it responds again"
                );
            }
            SourceEvent::Health { kind, health: Health::Forbidden { verb }, .. } => {
                tracing::warn!("no permission to {verb} {}; the recording does not contain them", kind.resource());
            }
            other => {
                if matches!(
                    other,
                    SourceEvent::Health { health: Health::Connecting { .. }, .. } | SourceEvent::Answers { .. }
                ) {
                    failure = None; // it responds
                }
                is_begun |= matches!(other, SourceEvent::Page { .. } | SourceEvent::Reset { .. });
                for line in recording::lines(&other) {
                    writeln!(out, "{line}")?;
                }
                out.flush()?;
            }
        }
    }
}

async fn check(arguments: Check) -> anyhow::Result<()> {
    let file = Config::read(arguments.config.as_deref())?;
    let wanted = clusters::cluster_configs(&arguments.clusters, &arguments.namespace, &file)?;
    anyhow::ensure!(!wanted.is_empty(), NO_CONTEXT);
    let mut bad = Vec::new();
    let kept = arguments.history.storage(&file)?;
    let history = tokio::task::spawn_blocking(move || kept.map(|options| crate::history::check(&options))).await?;
    match history {
        None => writeln!(print::out(), "history: not stored")?,
        Some(Ok(line)) => writeln!(print::out(), "history: {line}")?,
        Some(Err(why)) => bad.push(format!("history: {why}")),
    }
    for cluster in &wanted {
        let lines = match cluster.target().await {
            Ok(target) => {
                target.warnings.iter().for_each(|warning| print::error(warning));
                kube::check::check(&target, &cluster.namespaces).await
            }
            Err(why) => vec![Err(why.to_string())],
        };
        for line in lines {
            match line {
                Ok(line) => writeln!(print::out(), "{line}")?,
                Err(why) => bad.push(why),
            }
        }
    }
    anyhow::ensure!(bad.is_empty(), "{}", bad.join("\nrollcast: "));
    Ok(())
}

fn history_of(arguments: HistoryArguments) -> anyhow::Result<()> {
    let options = arguments.options()?;
    match arguments.what {
        HistoryCommand::Check => writeln!(print::out(), "{}", commands::history::check(&options)?)?,
        HistoryCommand::Compact(_) => writeln!(print::out(), "{}", commands::history::compact(&options)?)?,
        HistoryCommand::Export(selector) => commands::history::export(&options, &selector, &mut print::json())?,
    }
    Ok(())
}

fn report(file: &Path) -> anyhow::Result<()> {
    let recording = replay::read(file, Recording::read)?;
    let (from, to) = recording.span().unzip();
    let timeline = recording.play();
    let document = serde_json::to_string_pretty(&document::document(timeline.model(), from, to))?;
    Ok(writeln!(print::json(), "{document}")?)
}

/// Listens. Others may reach the address only with sign-in, or if the operator confirms that it is off.
async fn listen(served: &ServerOptions, sign_in: AuthMode) -> anyhow::Result<TcpListener> {
    let address = served.listen;
    let is_reached = if address.ip().is_loopback() {
        "can be reached by others (--public-url, --trust-proxy, --allow-host)"
    } else {
        "can be reached from other machines"
    };
    anyhow::ensure!(
        sign_in != AuthMode::None || served.is_insecure || !served.is_for_others(),
        "{address} {is_reached}, but sign-in is off: turn it on with --auth, or confirm with --insecure-no-auth that everyone who can connect may see everything"
    );
    if let Some(tls) = &served.tls {
        private::check_served(&tls.key, served.is_for_others())?;
    }
    connections::listen(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{address} is already in use: choose another port with --listen, for example --listen 127.0.0.1:0"
        ),
        _ => anyhow::anyhow!("cannot listen on {address}: {error}"),
    })
}

/// Serves until the program is interrupted. `path` is that of the first page, which the browser of the person at this
/// machine opens if `opens_browser`.
async fn publish(
    served: ServerOptions,
    listener: TcpListener,
    hubs: Vec<Handle>,
    viewers: Viewers,
    path: &str,
    opens_browser: bool,
) -> anyhow::Result<()> {
    let ServerOptions { tls, site, .. } = served;
    connections::raise_descriptor_limit();
    let archive = site.archive.clone();
    let address = listener.local_addr()?;
    let tls = tls.map(TlsFiles::open).transpose()?;
    address::set_base(site.server_address.base.as_str());
    let rollcast = Rollcast::new(hubs, assets::build(), viewers, site);
    // A reader of the line below may end the program at once.
    let interrupted = signals::wait_for_interrupt();
    // The one line for people and scripts alike; logs go to standard error.
    let here =
        ServerAddress { public: None, ..rollcast.site.server_address.clone() }.origin(&address.to_string(), false);
    let page = format!("{here}{}", address::at(below_base(path)));
    writeln!(print::out(), "Rollcast is at {page}")?;
    if opens_browser {
        drop(open_browser(page)); // the browser runs beside the server
    }
    if let Some(playground) = &rollcast.site.playground {
        // A script that reads the line above may have closed the pipe since.
        let _ = write!(print::out(), "{}", playground.welcome(&here));
    }
    if matches!(rollcast.site.auth, Auth::Open) {
        tracing::warn!(
            "no sign-in: everyone who can connect to {address}, or to a proxy in front of it, sees all rollouts"
        );
    }
    let (connections, trusted) = (rollcast.connections.clone(), rollcast.clone());
    let is_trusted = move |address| trusted.is_proxy(address);
    let server = accept(listener, http::router(rollcast.clone()), connections, is_trusted, tls);
    // Not a graceful shutdown: open websockets would keep it waiting for ever, and pages reconnect by themselves.
    tokio::select! {
        () = server => {}
        () = interrupted => {}
    }
    if let Some(archive) = archive {
        // Reading the history of a cluster may take a while, and so may a store that does not respond.
        let again = signals::wait_for_interrupt();
        tracing::info!("storing the last observations; interrupt again to end at once");
        let stored = async {
            archive.checkpoint().await;
            archive.close().await;
        };
        tokio::select! {
            () = stored => {}
            () = again => {}
        }
    }
    if let Some(audit) = &rollcast.site.audit {
        audit.flush().await;
    }
    Ok(())
}
