//! `rollcast export`: one file of a recorded rollout.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use timeline::{Uid, Workload};

use crate::cli;
use crate::export::{ExportRequest, html};
use crate::history::past;
use crate::hub::Handle;
use crate::recording::Recording;

/// Runs the command.
///
/// # Errors
/// When the recording cannot be read, holds no such rollout, or the file cannot be written.
pub async fn export(arguments: cli::Export) -> anyhow::Result<()> {
    let recording = read(&arguments.file)?;
    let (_, end_millis) = recording.span().context("the recording holds no line that can be played")?;
    let cluster = arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let cluster = cluster.filter(|name| name != "-").unwrap_or_else(|| "recording".to_owned());
    let hub = past::play(&cluster, cluster.clone(), recording, end_millis).await.context("it cannot be played")?;
    let workload = meant(&hub, &arguments).await?;
    let request = ExportRequest { workload, revision: arguments.revision, is_redacted: arguments.redact };
    let made = html(&hub, request).await?;
    Ok(std::io::stdout().lock().write_all(made.html.as_bytes())?)
}

fn read(path: &Path) -> anyhow::Result<Recording> {
    if path.as_os_str() != "-" {
        return Ok(crate::replay::read(path)?);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(Recording::read(&String::from_utf8_lossy(&bytes)))
}

/// The one Deployment that is meant.
async fn meant(hub: &Handle, arguments: &cli::Export) -> anyhow::Result<Workload> {
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
            anyhow::bail!("name one Deployment, and its namespace with -n; the recording holds: {names}")
        }
    }
}
