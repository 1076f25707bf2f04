//! The program that decodes objects of the chart into Go types, built from `end2end/chart`.

use std::path::PathBuf;

use anyhow::Result;

use super::control_plane::go_build;
use crate::process;

/// Builds it where it is missing or older than its sources.
pub fn ensure_chart_kinds() -> Result<PathBuf> {
    let (made, sources) = (process::workspace_path("target/tools/bin/kinds"), process::workspace_path("end2end/chart"));
    if process::is_outdated(&made, &["main.go", "go.mod", "go.sum"].map(|file| sources.join(file))) {
        process::print_note("building the check of the chart's kinds (about a minute the first time)");
        std::fs::create_dir_all(process::workspace_path("target/tools/bin"))?;
        go_build(&made, ".", "-s -w", &sources)?;
    }
    Ok(made)
}
