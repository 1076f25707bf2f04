//! The container image: one static program and certificate authorities, nothing else. Built without a daemon.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::platform::{Platform, VERSION, dist};
use super::program;
use crate::{process, setup};

/// Most bytes of an image, compressed.
const MOST: u64 = 30_000_000;

pub fn name(platform: Platform) -> String {
    let [_, architecture] = platform.names();
    format!("localhost/rollcast:{VERSION}-{architecture}")
}

/// Returns the path of the OCI archive of a platform.
pub fn archive(platform: Platform) -> PathBuf {
    dist(&format!("rollcast-{VERSION}-{}.oci.tar", platform.name()))
}

/// Builds the image of a Linux platform and returns the path of an OCI archive.
pub fn build(platform: Platform) -> Result<PathBuf> {
    ensure!(platform.is_linux(), "there are images for Linux only");
    let program = if platform.program().exists() { platform.program() } else { program::build(platform)? };
    let context = dist("image").join(platform.name());
    for folder in ["data", "tmp"] {
        std::fs::create_dir_all(context.join(folder))?;
    }
    std::fs::copy(&program, context.join("rollcast"))?;
    std::fs::write(context.join("ca-certificates.crt"), authorities())?;
    // buildah runs on Linux only. The folder is complete, so that Docker can build from it elsewhere.
    setup::ensure_buildah().map_err(|why| anyhow!("{why}, or run `{}`", docker_command(platform)))?;
    let archive = archive(platform);
    let [system, architecture] = platform.names();
    let mut build = buildah(&["build", "--isolation", "chroot"]);
    build.args(["--platform", &format!("{system}/{architecture}"), "--timestamp", "0"]);
    build.args(["--label", &format!("org.opencontainers.image.version={VERSION}"), "--tag", &name(platform)]);
    process::run(build.arg("--file").arg(process::workspace_path("deploy/Containerfile")).arg(&context))?;
    process::remove(&archive)?; // buildah would add to it
    let to = format!("oci-archive:{}:{}", archive.display(), name(platform));
    process::run(&mut buildah(&["push", "--compression-format", "gzip", &name(platform), &to]))?;
    let bytes = archive.metadata().context("no archive")?.len();
    ensure!(bytes <= MOST, "the image has {bytes} bytes compressed; at most {MOST} are allowed");
    process::print_note(&format!("the image of {} has {:.1} MB compressed", platform.name(), bytes as f64 / 1e6));
    Ok(archive)
}

/// Returns the command that builds the image of a platform with Docker, in the root of the workspace.
fn docker_command(platform: Platform) -> String {
    let (system_and_architecture, folder) = (platform.names().join("/"), platform.name());
    format!(
        "docker build --platform {system_and_architecture} --file deploy/Containerfile \
         --tag registry.example.com/rollcast:{VERSION} target/dist/image/{folder}"
    )
}

/// Returns Mozilla's certificate authorities in PEM, in the version of Cargo.lock. The build machine may have others.
fn authorities() -> String {
    let pem = |certificate: &[u8]| {
        let text = BASE64_STANDARD.encode(certificate);
        let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    };
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|certificate| pem(certificate)).collect()
}

/// Returns a command of buildah, with a storage driver that needs nothing from the kernel.
fn buildah(arguments: &[&str]) -> Command {
    let mut command = process::command("buildah", &["--storage-driver", "vfs"]);
    command.args(arguments);
    command
}

/// Starts the program of an image from its archive and returns what it prints of its version.
pub fn started_version(platform: Platform) -> Result<String> {
    setup::ensure_buildah()?;
    let output = |arguments: &[&str]| process::output(&mut buildah(arguments));
    let container = output(&["from", &format!("oci-archive:{}:{}", archive(platform).display(), name(platform))])?;
    let version = output(&["run", "--isolation", "chroot", &container, "--", "/rollcast", "--version"]);
    output(&["rm", &container])?;
    version
}

/// Pushes the images of all platforms that were built under one name and returns the digest of their index.
pub fn push(destination: &str) -> Result<String> {
    setup::ensure_buildah()?;
    let output = |arguments: &[&str]| process::output(&mut buildah(arguments));
    let (index, digest) = (format!("localhost/rollcast-index:{VERSION}"), dist("digest"));
    let _ = output(&["manifest", "rm", &index]); // of an earlier run
    output(&["manifest", "create", &index])?;
    for platform in Platform::ALL {
        let archive = archive(platform);
        if archive.exists() {
            output(&["manifest", "add", &index, &format!("oci-archive:{}", archive.display())])?;
        }
    }
    let digests = digest.display().to_string();
    let to = format!("{destination}:{VERSION}");
    output(&["manifest", "push", "--all", "--digestfile", &digests, &index, &to])?;
    Ok(std::fs::read_to_string(digest)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_builds_from_the_folder_of_the_image() {
        assert_eq!(
            docker_command(Platform::LinuxArm64),
            format!(
                "docker build --platform linux/arm64 --file deploy/Containerfile \
                 --tag registry.example.com/rollcast:{VERSION} target/dist/image/linux-arm64"
            )
        );
    }
}
