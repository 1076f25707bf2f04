//! Files that are published beside the programs: checksums, krew manifest, Homebrew formula, SBOM, packed chart and notes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::platform::{Platform, VERSION, dist};
use super::{archive, program};
use crate::{process, setup};

/// Packs the programs that were built, and writes everything beside them.
pub fn pack() -> Result<()> {
    let changelog = std::fs::read_to_string(process::workspace_path("CHANGELOG.md"))?;
    check_tag(std::env::var("GITHUB_REF_TYPE").ok(), std::env::var("GITHUB_REF_NAME").ok(), &changelog)?;
    let platforms: Vec<Platform> = Platform::ALL.into_iter().filter(|platform| platform.program().exists()).collect();
    // Jobs that pass programs on lose their permission to execute.
    for platform in &platforms {
        process::run(process::command("chmod", &["0755"]).arg(platform.program()))?;
    }
    let printer = Platform::here().program();
    ensure!(printer.exists(), "the program of this machine is missing: build it with `cargo xtask release program`");
    let mut sums = Vec::new();
    for platform in &platforms {
        archive::pack(*platform, &printer)?;
        sums.push((*platform, archive::sha256(&platform.archive())?));
    }
    // The release workflow knows which repository it runs in. Names of images have no capitals.
    let repository = std::env::var("GITHUB_REPOSITORY").ok().map(|name| name.to_lowercase());
    let page = format!("https://github.com/{}", repository.as_deref().unwrap_or("example/rollcast"));
    std::fs::write(dist("rollcast.yaml"), krew(&sums, &page))?;
    std::fs::write(dist("rollcast.rb"), formula(&sums, &page))?;
    std::fs::write(dist("notes.md"), format!("{}\n{}\n", notes(&changelog)?, tools(&platforms)?))?;
    sbom()?;
    chart(repository.as_deref())?;
    std::fs::write(dist("SHA256SUMS"), checksums()?)?;
    for path in process::entries(&dist(""))?.iter().filter(|path| path.is_file()) {
        println!("{}", path.display());
    }
    Ok(())
}

fn address(platform: Platform, repository: &str) -> String {
    format!("{repository}/releases/download/v{VERSION}/{}", file_name(&platform.archive()))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the checksums of everything that is published, as `sha256sum --check` reads them.
fn checksums() -> Result<String> {
    let ends = [".tar.gz", ".tgz", ".cdx.json", ".yaml", ".rb"];
    let is_published = |path: &PathBuf| path.is_file() && ends.iter().any(|end| file_name(path).ends_with(end));
    let mut text = String::new();
    for path in process::entries(&dist(""))?.into_iter().filter(is_published) {
        writeln!(text, "{}  {}", archive::sha256(&path)?, file_name(&path))?;
    }
    Ok(text)
}

/// Returns the manifest with which krew installs `kubectl rollcast`.
fn krew(sums: &[(Platform, String)], repository: &str) -> String {
    let mut text = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: rollcast
spec:
  version: v{VERSION}
  homepage: {repository}
  shortDescription: Watch a rollout live, or wait for it
  description: |
    Shows which ReplicaSet replaces which, pod by pod, and why a rollout does
    not continue: `kubectl rollcast open deployment/NAME` in the browser,
    `trace` in the terminal. `wait` ends with an exit code, for CI.
    Rollcast lists and watches; it changes nothing.
  platforms:
"
    );
    for (platform, sum) in sums {
        let [system, architecture] = platform.names();
        let address = address(*platform, repository);
        text += &format!(
            "  - selector:
      matchLabels:
        os: {system}
        arch: {architecture}
    uri: {address}
    sha256: {sum}
    bin: rollcast
    files:
      - from: rollcast
        to: .
      - from: LICENSE
        to: .
"
        );
    }
    text
}

/// Returns the formula with which Homebrew installs `rollcast`.
fn formula(sums: &[(Platform, String)], repository: &str) -> String {
    let mut text = format!(
        "class Rollcast < Formula
  desc \"Watch Kubernetes rollouts live in a browser\"
  homepage \"{repository}\"
  version \"{VERSION}\"
  license \"Apache-2.0\"

"
    );
    for (system, block) in [("darwin", "on_macos"), ("linux", "on_linux")] {
        let of_system: Vec<_> = sums.iter().filter(|(platform, _)| platform.names().contains(&system)).collect();
        if of_system.is_empty() {
            continue;
        }
        text += &format!("  {block} do\n");
        for (platform, sum) in of_system {
            let block = if platform.names().contains(&"arm64") { "on_arm" } else { "on_intel" };
            let address = address(*platform, repository);
            text += &format!("    {block} do\n      url \"{address}\"\n      sha256 \"{sum}\"\n    end\n");
        }
        text += "  end\n\n";
    }
    text + "  def install
    bin.install \"rollcast\"
    bin.install_symlink \"rollcast\" => \"kubectl-rollcast\"
    bin.install_symlink \"rollcast\" => \"kubectl_complete-rollcast\"
    man1.install Dir[\"man/*.1\"]
    bash_completion.install \"completions/rollcast.bash\" => \"rollcast\"
    zsh_completion.install \"completions/rollcast.zsh\" => \"_rollcast\"
    fish_completion.install \"completions/rollcast.fish\"
  end

  test do
    assert_match version.to_s, shell_output(\"#{bin}/rollcast --version\")
  end
end
"
}

/// Lists the tools that are needed to build the same programs again.
fn tools(platforms: &[Platform]) -> Result<String> {
    let compilers = platforms.iter().map(|platform| std::fs::read_to_string(platform.compiler()));
    let compilers: BTreeSet<String> = compilers.collect::<std::io::Result<_>>().context("the compiler is not named")?;
    let compilers = compilers.into_iter().collect::<Vec<_>>().join(", ");
    Ok(format!(
        "Built from commit {} with {compilers}; for Linux with {}.",
        program::commit()?,
        setup::STATIC_TOOLS.join(", ")
    ))
}

/// Checks that a tag names the version, and that the CHANGELOG has its date.
fn check_tag(kind: Option<String>, name: Option<String>, changelog: &str) -> Result<()> {
    let Some(tag) = name.filter(|_| kind.as_deref() == Some("tag")) else { return Ok(()) };
    ensure!(tag == format!("v{VERSION}"), "the tag is {tag}, but the version in Cargo.toml is {VERSION}");
    let title = changelog.lines().find(|line| line.starts_with(&format!("## {VERSION} "))).unwrap_or_default();
    ensure!(!title.contains("unreleased"), "CHANGELOG.md calls {VERSION} unreleased: write its date");
    Ok(())
}

/// Returns the section of this version in the CHANGELOG.
fn notes(changelog: &str) -> Result<String> {
    let section = || {
        let (_, rest) = changelog.split_once(&format!("\n## {VERSION} "))?;
        let (_, body) = rest.split_once('\n')?;
        Some(body.split("\n## ").next().unwrap_or(body).trim().to_owned() + "\n")
    };
    section().filter(|text| text.len() > 1).with_context(|| format!("CHANGELOG.md says nothing of {VERSION}"))
}

/// Packs the chart.
fn chart(repository: Option<&str>) -> Result<()> {
    let folder = dist("chart");
    process::remove(&folder)?;
    process::run(process::command("cp", &["-R", "deploy/chart"]).arg(&folder))?;
    let values = folder.join("values.yaml");
    let filled = chart_values(std::fs::read_to_string(&values)?, repository)?;
    std::fs::write(values, filled)?;
    let helm = setup::ensure_helm()?;
    let package = ["package", "--version", VERSION, "--app-version", VERSION, "--destination"];
    process::run(process::command(helm, &package).arg(dist("")).arg(folder))
}

/// Sets the image of a release in the chart's values. Without a release the chart has no default image and requires one.
fn chart_values(values: String, repository: Option<&str>) -> Result<String> {
    let Some(repository) = repository else { return Ok(values) };
    let filled = values.replacen("  repository: \"\"\n", &format!("  repository: ghcr.io/{repository}\n"), 1);
    ensure!(filled != values, "deploy/chart/values.yaml has no empty repository to fill");
    Ok(filled)
}

/// Writes the bill of materials of the program: every crate with version, licence and checksum, those of the page in it too, as
/// CycloneDX.
fn sbom() -> Result<PathBuf> {
    let tool = setup::CYCLONEDX.ensure().context("no bill of materials without cargo-cyclonedx")?;
    let target = Platform::LinuxAmd64.target();
    let mut command = process::command(tool, &["cyclonedx", "--format", "json", "--target", target]);
    command.args(["--override-filename", "rollcast.cdx", "--manifest-path"]);
    process::run(command.arg(process::workspace_path("server/Cargo.toml")))?;
    let made = dist("rollcast.cdx.json");
    for member in ["app", "selector", "simcluster", "timeline", "xtask", "server"] {
        let written = process::workspace_path(member).join("rollcast.cdx.json");
        if member == "server" {
            let text = std::fs::read_to_string(&written).context("no SBOM of the server was written")?;
            std::fs::write(&made, text.replace(&format!("file://{}/", process::root().display()), "file:///"))?;
        }
        process::remove(&written)?;
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_section_of_the_version() {
        let all = format!(
            "# Changelog\n\n## 9.0.0 — unreleased\n\n- b\n\n## {VERSION} — 2026-12-01\n\n### Added\n\n- a\n\n## 0.0.1\n"
        );
        assert_eq!(notes(&all).ok().as_deref(), Some("### Added\n\n- a\n"));
        assert!(notes("# Changelog\n").is_err());
    }

    #[test]
    fn a_tag_is_that_of_the_version_and_dated() {
        let (dated, undated) =
            (format!("# C\n\n## {VERSION} — 2026-12-01\n"), format!("# C\n\n## {VERSION} — unreleased\n"));
        let tag = |kind: &str, name: &str, text: &str| check_tag(Some(kind.into()), Some(name.into()), text).is_ok();
        let right = format!("v{VERSION}");
        assert!(tag("tag", &right, &dated) && tag("branch", "main", &undated));
        assert!(!tag("tag", &right, &undated) && !tag("tag", "v9.9.9", &dated));
    }

    #[test]
    fn only_the_chart_of_a_release_names_an_image() {
        let empty = "image:\n  # Repository\n  repository: \"\"\n".to_owned();
        let filled = "image:\n  # Repository\n  repository: ghcr.io/owner/rollcast\n";
        assert_eq!(chart_values(empty.clone(), None).unwrap(), empty);
        assert_eq!(chart_values(empty, Some("owner/rollcast")).unwrap(), filled);
        assert!(chart_values(filled.to_owned(), Some("owner/rollcast")).is_err());
    }

    #[test]
    fn manifests_name_each_archive_with_its_checksum() {
        let sums = [(Platform::LinuxArm64, "a".repeat(64)), (Platform::DarwinAmd64, "b".repeat(64))];
        let (krew, formula) = (krew(&sums, "https://example.com/r"), formula(&sums, "https://example.com/r"));
        for (platform, sum) in &sums {
            let address = format!(
                "https://example.com/r/releases/download/v{VERSION}/rollcast-{VERSION}-{}.tar.gz",
                platform.name()
            );
            assert!(krew.contains(&format!("uri: {address}\n    sha256: {sum}\n")), "{krew}");
            assert!(formula.contains(&format!("url \"{address}\"\n      sha256 \"{sum}\"\n")), "{formula}");
        }
    }
}
