//! `rollcast export`: one file of a rollout, made here of a recording, or by a running Rollcast.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
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
/// When the recording cannot be read or the server does not answer, there is no such rollout, or the file cannot be written.
pub async fn export(arguments: cli::Export) -> anyhow::Result<()> {
    let file = PathBuf::from(&arguments.of);
    // A server may be named by the environment, for other commands.
    let is_recording = file.as_os_str() == "-" || file.is_file() || arguments.deployment.is_some();
    if let Some(server) = arguments.server.as_ref().filter(|_| !is_recording) {
        let made = terminal::file(server, &arguments).await?;
        return Ok(print::file(made.as_bytes())?);
    }
    let recording = read(&file)?;
    let (_, end_millis) = recording.span().context("the recording contains no valid line")?;
    let cluster = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let cluster = cluster.filter(|name| name != "-").unwrap_or_else(|| "recording".to_owned());
    let initial = rollout_cache::play_to_end(recording.observed, end_millis).context("cannot play the recording")?;
    let hub = Handle::start_frozen(&cluster, cluster.as_str(), initial);
    let workload = choose_deployment(&hub, &arguments).await?;
    let request = ExportRequest { workload, revision: arguments.revision, is_redacted: arguments.redact };
    let made = html(&hub, request).await?;
    Ok(print::file(made.html.as_bytes())?)
}

fn read(path: &Path) -> anyhow::Result<Recording> {
    if path.as_os_str() != "-" {
        return replay::read(path, Recording::read);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(Recording::read(&String::from_utf8_lossy(&bytes)))
}

async fn choose_deployment(hub: &Handle, arguments: &cli::Export) -> anyhow::Result<Workload> {
    let known: Vec<(String, String, Uid)> = hub
        .read(|reader| {
            let known = reader.timeline.model().deployments.values();
            known.map(|known| (known.namespace.clone(), known.name.clone(), known.uid)).collect()
        })
        .await?;
    let is_meant = |(namespace, name, _): &&(String, String, Uid)| {
        arguments.deployment.as_ref().is_none_or(|meant| meant.0 == *name)
            && arguments.namespace.as_ref().is_none_or(|meant| meant == namespace)
    };
    match known.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
        [(namespace, name, uid)] => Ok(Workload::deployment(hub.name(), namespace, name).with_uid(Some(*uid))),
        _ => {
            let mut names: Vec<String> =
                known.iter().map(|(namespace, name, _)| format!("{namespace}/{name}")).collect();
            names.sort();
            names.dedup();
            let names = timeline::words::safe(&names.join(", "));
            anyhow::bail!("name one Deployment, and its namespace with -n; the recording contains: {names}")
        }
    }
}
