//! `rollcast export`: one file of a rollout, made here from a recording, or by a running Rollcast.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use timeline::model::queries::last_of_name;
use timeline::{Uid, Workload};

use crate::cli::{self, terminal};
use crate::export::{ExportRequest, html};
use crate::feed::recording::Recording;
use crate::feed::replay;
use crate::history::rollout_cache;
use crate::hub::Handle;
use crate::telemetry::print;

/// Runs the command.
///
/// # Errors
/// When the recording cannot be read or the server does not respond, there is no such rollout, or the file cannot be written.
pub async fn export(arguments: cli::Export) -> anyhow::Result<()> {
    let file = PathBuf::from(&arguments.of);
    // The environment may name a server for other commands.
    let is_there = file.exists() && !file.is_dir(); // a pipe of the shell is not a regular file
    let is_recording = file.as_os_str() == "-" || is_there || arguments.deployment.is_some();
    if let Some(server) = arguments.server.as_ref().filter(|_| !is_recording) {
        let made = terminal::file(server, &arguments).await?;
        return Ok(print::file(made.as_bytes())?);
    }
    let recording = read(&file)?;
    let (_, end_millis) = recording.span().context("the recording contains no valid line")?;
    let cluster = cluster_name(&file, arguments.redact);
    let initial = rollout_cache::play_to_end(recording.observed, end_millis).context("cannot play the recording")?;
    let hub = Handle::start_frozen(&cluster, cluster.as_str(), initial);
    let workload = choose_deployment(&hub, &arguments).await?;
    let request = ExportRequest { workload, revision: arguments.revision, is_redacted: arguments.redact };
    let made = html(&hub, request).await?;
    Ok(print::file(made.html.as_bytes())?)
}

/// Names the cluster by the file. With redaction it has a neutral name from the start: redaction replaces the name
/// everywhere, and that of a file may be a word of the page, as "rollout".
fn cluster_name(file: &Path, is_redacted: bool) -> String {
    if is_redacted {
        return "cluster-1".to_owned();
    }
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    name.filter(|name| name != "-").unwrap_or_else(|| "recording".to_owned())
}

fn read(path: &Path) -> anyhow::Result<Recording> {
    if path.as_os_str() != "-" {
        return replay::read(path, Recording::read);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let recording = Recording::read(&String::from_utf8_lossy(&bytes));
    replay::ensure_observed(&recording, "standard input")?;
    Ok(recording)
}

/// Chooses a Deployment by its name, which several may have had.
async fn choose_deployment(hub: &Handle, arguments: &cli::Export) -> anyhow::Result<Workload> {
    let known: BTreeSet<(String, String)> = hub
        .read(|reader| {
            let known = reader.timeline.model().deployments.values();
            known.map(|known| (known.namespace.clone(), known.name.clone())).collect()
        })
        .await?;
    let is_meant = |(namespace, name): &&(String, String)| {
        arguments.deployment.as_ref().is_none_or(|meant| meant.0 == *name)
            && arguments.namespace.as_ref().is_none_or(|meant| meant == namespace)
    };
    match known.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
        [(namespace, name)] => {
            let workload = Workload::deployment(hub.name(), namespace, name);
            let uid = match arguments.revision {
                Some(revision) => last_with_revision(hub, &workload, revision).await?,
                None => None,
            };
            Ok(workload.with_uid(uid))
        }
        _ => {
            let names: Vec<String> = known.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
            let names = timeline::words::safe(&names.join(", "));
            anyhow::bail!("name one Deployment, and its namespace with -n; the recording contains: {names}")
        }
    }
}

/// Finds the last Deployment of this name that had a rollout of the revision: the current one may not have had it.
async fn last_with_revision(hub: &Handle, workload: &Workload, revision: u64) -> anyhow::Result<Option<Uid>> {
    let Workload { namespace, name, .. } = workload.clone();
    let uid = hub.read(move |reader| {
        let named = reader.timeline.model().find_all(&namespace, &name);
        let with_revision = named.filter(|known| known.rollouts.iter().any(|rollout| rollout.revision == revision));
        last_of_name(with_revision).map(|last| last.uid)
    });
    Ok(uid.await?)
}
