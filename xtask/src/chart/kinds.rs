//! Objects of kinds that Kubernetes does not have: a program of ours decodes them strictly into the Go types of the projects that
//! define them (`end2end/chart`). Their schemas are on the internet only, and one that we wrote would repeat our own mistakes.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::process;

/// Kinds of other projects, which kubeconform skips.
pub const KINDS: [&str; 3] = ["HTTPRoute", "PrometheusRule", "ServiceMonitor"];

/// Checks all renderings, in which each of the kinds must occur.
pub fn validate(program: &Path, rendered: &[(String, String)]) -> Result<()> {
    let all: Vec<&str> = rendered.iter().map(|(_, text)| text.as_str()).collect();
    let checked = process::output_with_input(&mut process::command(program, &[]), &all.concat())
        .context("objects of the chart are not of their types")?;
    for kind in KINDS {
        ensure!(checked.lines().any(|line| line.ends_with(kind)), "no case of the chart has a {kind}");
    }
    process::print_note(&format!("{} objects of {} are of their types", checked.lines().count(), KINDS.join(", ")));
    Ok(())
}
