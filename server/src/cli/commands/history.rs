//! `rollcast history`: commands for operators on the stored history.

use std::io::Write;

use anyhow::{anyhow, ensure};
use timeline::EpisodeKind;
use timeline::episodes::{EpisodeRow, Search};
use timeline::words::count;

use crate::access::permissions::Permissions;
use crate::cli::RolloutSelector;
use crate::export::redact::Names;
use crate::history::options::Options;
use crate::history::sql::Reader;
use crate::telemetry::clock;

/// Rollouts of a Deployment that are searched for the requested one.
const MOST_SEARCHED: u32 = 10_000;

fn reader(options: &Options) -> anyhow::Result<Reader> {
    ensure!(options.location.has_store()?, "no history in {}", options.location);
    Ok(Reader::new(&options.location))
}

/// Reads the whole stored history and describes it; also while a Rollcast writes to it.
///
/// # Errors
/// When something is damaged or cannot be read.
pub fn check(options: &Options) -> anyhow::Result<String> {
    let found = reader(options)?.verify()?;
    ensure!(found.damaged.is_empty(), "{}", found.damaged.join("\nrollcast: "));
    let (clusters, rollouts) = (count(found.clusters, "cluster"), count(found.rollouts, "rollout"));
    let others = Some(found.others).filter(|others| *others > 0);
    let others = others.map(|others| format!(", {}", count(others, "other episode"))).unwrap_or_default();
    Ok(format!("{clusters}, {rollouts}{others}, {}: no damage found", count(found.lines, "observation")))
}

/// Merges and evicts now what a server would merge and evict over time.
///
/// # Errors
/// When a Rollcast writes to the history, or something cannot be read or written.
pub fn compact(options: &Options) -> anyhow::Result<String> {
    reader(options)?;
    let mut store = options.location.open_alone(options.limits)?;
    let before = store.bytes()?;
    while store.tidy(clock::now_millis())? {}
    let size = |bytes: u64| bytesize::ByteSize(bytes).display().si().to_string();
    Ok(format!("compacted from {} to {}", size(before), size(store.bytes()?)))
}

/// Writes a rollout as a recording.
///
/// # Errors
/// When it is not stored, or cannot be read or written.
pub fn export(options: &Options, selector: &RolloutSelector, out: &mut impl Write) -> anyhow::Result<()> {
    let reader = reader(options)?;
    let search = Search {
        name: selector.deployment.0.clone(),
        cluster: selector.cluster.clone().unwrap_or_default(),
        namespace: selector.namespace.clone().unwrap_or_default(),
        kinds: vec![EpisodeKind::Rollout],
        ..Search::default()
    };
    let of_name = reader.search(&search, &Permissions::All, None, MOST_SEARCHED)?.rollouts;
    let is_meant = |rollout: &&EpisodeRow| selector.revision.is_none_or(|revision| rollout.revision == revision);
    let unknown = || {
        let known = of_name.iter().filter(|rollout| rollout.is_kept).take(10).map(|rollout| {
            format!("{}/{} revision {} in {}", rollout.namespace, rollout.name, rollout.revision, rollout.cluster)
        });
        let known: Vec<String> = known.collect();
        let known = match known.as_slice() {
            [] if of_name.is_empty() => "none of that name".to_owned(),
            [] => "none of that name with pods".to_owned(),
            known => known.join(", "),
        };
        anyhow!(
            "no single rollout matches; choose one with --namespace, --cluster or --revision. The history has: {known}"
        )
    };
    let meant = of_name.iter().find(is_meant).ok_or_else(unknown)?;
    let is_another = |other: &EpisodeRow| other.uid != meant.uid && is_meant(&other) && other.place() != meant.place();
    if of_name.iter().any(is_another) {
        return Err(unknown());
    }
    let cut = reader.recording(&meant.cluster, meant.uid, meant.number, None)?.ok_or_else(unknown)?;
    let text = if selector.redact { Names::of_lines(&cut.text)?.redact_lines(&cut.text) } else { cut.text };
    out.write_all(text.as_bytes())?;
    Ok(())
}
