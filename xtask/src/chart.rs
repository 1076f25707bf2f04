//! The Helm chart in `deploy/chart`: checks it, and writes the files that are generated from it.
//!
//! `deploy/chart/ci` has the values of each case, the snapshots of what is rendered from them, and the values that the
//! chart must refuse.

mod install;
mod kinds;
mod postgres;
mod readme;
mod schemas;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::process;
use crate::release::VERSION;
use crate::setup::{ChartTools, KUBERNETES, ensure_chart_tools, ensure_helm};

const CHART: &str = "deploy/chart";
const README: &str = "deploy/chart/README.md";
const MANIFESTS: &str = "deploy/kubernetes.yaml";
/// The case that the manifests are rendered from: they are its snapshot.
const MANIFESTS_CASE: &str = "manifests";
/// Name and namespace of the release in all renderings.
const RELEASE: &str = "rollcast";
/// Beginnings of lines that only a release of Helm has.
const OF_HELM: [&str; 3] = ["# Source: ", "app.kubernetes.io/managed-by: ", "helm.sh/"];
/// The dashboard is in the chart once; snapshots name it in its place.
const DASHBOARD: &str = "files/grafana-dashboard.json";

const HEADER: &str = "\
# Rollcast in the cluster that it watches. People sign in with a Kubernetes token and see the namespaces in which they may list pods.
#
#   kubectl create namespace rollcast
#   head -c 32 /dev/urandom | base64 | kubectl --namespace rollcast create secret generic rollcast-keys --from-file=keys=/dev/stdin
#   kubectl apply --filename deploy/kubernetes.yaml
#
# Before that, change the image and ROLLCAST_PUBLIC_URL, and add ROLLCAST_TRUST_PROXY with the addresses of your ingress controller's pods:
# without these, all viewers share the limits of one client. docs/security.md, \"In a cluster\", says more.
#
# This file is made from deploy/chart by `cargo xtask chart --write`. The chart has more: Ingress, HTTPRoute, NetworkPolicy, a claim for the
# history, PostgreSQL, single namespaces, monitoring. Without Helm in the cluster: helm template rollcast deploy/chart --values FILE
";

#[derive(Deserialize)]
struct Refused {
    set: Vec<String>,
    says: String,
}

/// Checks the chart.
pub fn check() -> Result<()> {
    run(compare)
}

/// Writes the files that are generated from the chart, and checks it.
pub fn write() -> Result<()> {
    run(write_generated)
}

fn run(settle_generated: fn(&str, &str) -> Result<()>) -> Result<()> {
    let ChartTools { helm, kubeconform, kinds } = ensure_chart_tools()?;
    check_version(&std::fs::read_to_string(process::workspace_path(CHART).join("Chart.yaml"))?)?;
    let helm = Helm(helm);
    let cases = cases()?;
    let rendered: Vec<(String, String)> =
        cases.iter().map(|name| Ok((name.clone(), helm.render(name)?))).collect::<Result<_>>()?;
    for (path, content) in generated(&rendered)? {
        settle_generated(&path, &content)?;
    }
    let stale: Vec<String> = names("ci/snapshots", ".yaml")?.into_iter().filter(|name| !cases.contains(name)).collect();
    ensure!(stale.is_empty(), "{CHART}/ci/snapshots has files of no case; remove them: {}", stale.join(", "));
    for name in &cases {
        helm.lint(name)?;
    }
    check_refused(&helm)?;
    for (name, text) in &rendered {
        schemas::validate(&kubeconform, name, text)?;
    }
    kinds::validate(&kinds, &rendered)?;
    process::print_note(&format!("the chart passes all checks: {} renderings", rendered.len()));
    Ok(())
}

/// Installs the chart with the image of a release on the test cluster's real node.
pub fn install() -> Result<()> {
    install::run(&Helm(ensure_helm()?))
}

/// Returns the names of the cases: `ci/NAME-values.yaml`.
fn cases() -> Result<Vec<String>> {
    let names = names("ci", "-values.yaml")?;
    ensure!(!names.is_empty(), "{CHART}/ci has no case");
    Ok(names)
}

/// Lists the files in a folder of the chart whose names end so, without that end, in order.
fn names(folder: &str, end: &str) -> Result<Vec<String>> {
    let files = process::entries(&process::workspace_path(CHART).join(folder))?;
    let name = |file: &PathBuf| Some(file.file_name()?.to_str()?.strip_suffix(end)?.to_owned());
    Ok(files.iter().filter_map(name).collect())
}

fn values_file(case: &str) -> PathBuf {
    process::workspace_path(CHART).join(format!("ci/{case}-values.yaml"))
}

/// Returns the files that are generated from the chart: path below the workspace root, and content.
fn generated(rendered: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let dashboard = std::fs::read_to_string(process::workspace_path(CHART).join(DASHBOARD))?;
    for (name, text) in rendered.iter().filter(|(name, _)| name != MANIFESTS_CASE) {
        files.push((format!("{CHART}/ci/snapshots/{name}.yaml"), without_dashboard(text, &dashboard)));
    }
    let (_, manifests) = rendered
        .iter()
        .find(|(name, _)| name == MANIFESTS_CASE)
        .with_context(|| format!("there is no case {MANIFESTS_CASE}"))?;
    files.push((MANIFESTS.to_owned(), plain_manifests(manifests)));
    let values = std::fs::read_to_string(process::workspace_path(CHART).join("values.yaml"))?;
    let text = std::fs::read_to_string(process::workspace_path(README))?;
    files.push((README.to_owned(), readme::with_table(&text, &readme::table(&values)?)?));
    Ok(files)
}

/// Makes a file for kubectl from a rendering: without the lines that only a release of Helm has.
fn plain_manifests(rendered: &str) -> String {
    let is_of_helm = |line: &&str| OF_HELM.iter().any(|start| line.trim_start().starts_with(start));
    let lines: Vec<&str> = rendered.lines().filter(|line| !is_of_helm(line)).collect();
    let text = lines.join("\n").replace("\n\n---\n", "\n---\n");
    format!("{HEADER}{}\n", text.trim_start_matches("---").trim())
}

/// Replaces the content of the dashboard's file in a rendering by the name of the file.
fn without_dashboard(rendered: &str, dashboard: &str) -> String {
    let indented: Vec<String> = dashboard.trim_end().lines().map(|line| format!("    {line}")).collect();
    rendered.replace(&indented.join("\n"), &format!("    content of {DASHBOARD}"))
}

/// Writes a generated file, if it differs from the one in the repository.
fn write_generated(path: &str, content: &str) -> Result<()> {
    let file = process::workspace_path(path);
    if std::fs::read_to_string(&file).unwrap_or_default() == content {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    process::print_note(&format!("writing {path}"));
    std::fs::write(&file, content).with_context(|| format!("cannot write {path}"))
}

/// Compares a generated file with the one in the repository.
fn compare(path: &str, content: &str) -> Result<()> {
    let found = std::fs::read_to_string(process::workspace_path(path)).unwrap_or_default();
    if found == content {
        return Ok(());
    }
    let line = found.lines().zip(content.lines()).position(|(found, new)| found != new);
    let line = line.unwrap_or_else(|| found.lines().count().min(content.lines().count()));
    bail!(
        "{path} differs from what the chart generates, first in line {}: {:?} instead of {:?}. `cargo xtask chart --write` writes it",
        line + 1,
        found.lines().nth(line).unwrap_or_default(),
        content.lines().nth(line).unwrap_or_default()
    );
}

/// Checks that chart and program have the version of the workspace.
fn check_version(chart: &str) -> Result<()> {
    for line in ["version", "appVersion"].map(|key| format!("{key}: {VERSION}")) {
        ensure!(chart.lines().any(|found| found == line), "{CHART}/Chart.yaml lacks the line `{line}`");
    }
    Ok(())
}

/// Checks that each set of values in `refused.toml` is refused with its sentence.
fn check_refused(helm: &Helm) -> Result<()> {
    let path = process::workspace_path(CHART).join("ci/refused.toml");
    let mut file: BTreeMap<String, Vec<Refused>> = toml::from_str(&std::fs::read_to_string(&path)?)?;
    let refused = file.remove("refused").context("refused.toml has no [[refused]]")?;
    for Refused { set, says } in &refused {
        let arguments: Vec<&str> = set.iter().flat_map(|one| ["--set", one.as_str()]).collect();
        let output = helm.template(&values_file("default")).args(arguments).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success(), "the chart takes {set:?}, but it should say: {says}");
        ensure!(said.contains(says.as_str()), "the chart refuses {set:?} with {said:?}, but it should say: {says}");
    }
    process::print_note(&format!("{} sets of wrong values are refused, each with its sentence", refused.len()));
    Ok(())
}

struct Helm(PathBuf);

impl Helm {
    fn template(&self, values: &Path) -> std::process::Command {
        let mut command = process::command(&self.0, &["template", RELEASE, CHART, "--namespace", RELEASE]);
        command.args(["--kube-version", KUBERNETES, "--values"]).arg(values);
        command
    }

    fn render(&self, case: &str) -> Result<String> {
        let text = process::output(&mut self.template(&values_file(case)))?;
        Ok(format!("{text}\n"))
    }

    fn lint(&self, case: &str) -> Result<()> {
        let mut command = process::command(&self.0, &["lint", CHART, "--strict", "--quiet", "--namespace", RELEASE]);
        process::run(command.arg("--values").arg(values_file(case)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_has_the_version_of_the_workspace() {
        assert!(check_version(&format!("version: {VERSION}\nappVersion: {VERSION}\n")).is_ok());
        assert!(check_version(&format!("version: {VERSION}\nappVersion: 0.0.1\n")).is_err());
    }

    #[test]
    fn plain_manifests_have_no_line_of_helm() {
        let rendered = "---\n# Source: rollcast/templates/a.yaml\nmetadata:\n  labels:\n    app.kubernetes.io/managed-by: Helm\n    helm.sh/chart: rollcast-0.1.0\n    app: rollcast\n";
        assert_eq!(plain_manifests(rendered), format!("{HEADER}metadata:\n  labels:\n    app: rollcast\n"));
    }

    #[test]
    fn a_dashboard_that_is_not_that_of_the_file_stays_in_the_snapshot() {
        let of = |text: &str| without_dashboard(text, "{\n  \"a\": 1\n}\n");
        assert_eq!(of("x: |\n    {\n      \"a\": 1\n    }\n"), format!("x: |\n    content of {DASHBOARD}\n"));
        assert_eq!(of("x: |\n    {\n      \"a\": 2\n    }\n"), "x: |\n    {\n      \"a\": 2\n    }\n");
    }
}
