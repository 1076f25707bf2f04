//! Archives of programs, the same bytes for the same content: sorted, without times and owners.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::platform::{Platform, dist};
use crate::process;

/// Files beside the program in each archive.
const BESIDE: [&str; 2] = ["LICENSE", "README.md"];
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Packs the program of a platform with licence, manual pages and shell completions. `printer` is a rollcast that runs on this machine.
pub fn pack(platform: Platform, printer: &Path) -> Result<()> {
    let folder = dist("packed").join(platform.name());
    process::remove(&folder)?;
    std::fs::create_dir_all(folder.join("completions"))?;
    std::fs::copy(platform.program(), folder.join("rollcast"))?;
    for file in BESIDE {
        std::fs::copy(process::workspace_path(file), folder.join(file))?;
    }
    process::output(process::command(printer, &["manual"]).arg(folder.join("man")))?;
    for shell in SHELLS {
        let script = process::output(&mut process::command(printer, &["completion", shell]))?;
        std::fs::write(folder.join("completions").join(format!("rollcast.{shell}")), script + "\n")?;
    }
    let tar =
        ["--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"];
    let plain = platform.archive().with_extension("");
    let program = gnu_tar(process::is_installed("gtar"), Platform::here())?;
    process::run(process::command(program, &tar).arg("--file").arg(&plain).arg("--directory").arg(&folder).arg("."))?;
    process::run(process::command("gzip", &["--no-name", "--best", "--force"]).arg(&plain))
}

/// Returns the name of GNU tar. On macOS `tar` is another program, without the options for equal archives.
fn gnu_tar(has_gtar: bool, here: Platform) -> Result<&'static str> {
    ensure!(has_gtar || here.is_linux(), "the tar of this machine is not GNU tar: install gnu-tar");
    Ok(if has_gtar { "gtar" } else { "tar" })
}

/// Returns the SHA-256 checksum of a file, in hexadecimal digits.
pub fn sha256(file: &Path) -> Result<String> {
    let program =
        if process::is_installed("sha256sum") { ("sha256sum", &[][..]) } else { ("shasum", &["-a", "256"][..]) };
    let printed = process::output(process::command(program.0, program.1).arg(file))?;
    let sum = printed.split_whitespace().next().context("no checksum was printed")?;
    ensure!(sum.len() == 64, "{printed:?} is no checksum");
    Ok(sum.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_made_by_gnu_tar_or_not_at_all() {
        let found = |has_gtar, here| gnu_tar(has_gtar, here).map_err(|why| why.to_string());
        assert_eq!(found(false, Platform::LinuxAmd64), Ok("tar"));
        assert_eq!(found(true, Platform::LinuxAmd64), Ok("gtar"));
        assert_eq!(found(true, Platform::DarwinArm64), Ok("gtar"));
        let missing = "the tar of this machine is not GNU tar: install gnu-tar".to_owned();
        assert_eq!(found(false, Platform::DarwinArm64), Err(missing));
    }
}
