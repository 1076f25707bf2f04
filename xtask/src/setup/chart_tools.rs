//! The programs that check the Helm chart: helm and kubeconform, and one of ours for kinds that Kubernetes does not have.

use std::path::PathBuf;

use anyhow::Result;

use super::go_tools::{SOURCES, ensure_go_tool, go_build};
use crate::process;

const HELM: &str = "helm.sh/helm/v4/cmd/helm@v4.3.1";
const KUBECONFORM: &str = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0";

pub struct ChartTools {
    pub helm: PathBuf,
    /// Checks objects against JSON schemas.
    pub kubeconform: PathBuf,
    /// Decodes objects into the Go types of the projects that define them.
    pub kinds: PathBuf,
}

/// Installs or builds what is missing or of another version.
pub fn ensure_chart_tools() -> Result<ChartTools> {
    let (helm, kubeconform) = (ensure_helm()?, ensure_go_tool(KUBECONFORM)?);
    let kinds = process::workspace_path("target/tools/bin/kinds");
    let what = "the check of the chart's kinds (about a minute the first time)";
    go_build(&kinds, what, "end2end/chart", &SOURCES, &["."], "-s -w")?;
    Ok(ChartTools { helm, kubeconform, kinds })
}

pub fn ensure_helm() -> Result<PathBuf> {
    ensure_go_tool(HELM)
}
