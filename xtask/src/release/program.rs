//! The program of a platform, built so that the same commit gives the same bytes in every folder.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::platform::Platform;
use crate::{page, process, setup};

/// The profile of `Cargo.toml` for programs that are released.
const PROFILE: &str = "release-lto";

/// Flags of C compilers for the same bytes at all times.
const WITHOUT_TIME: [&str; 3] = ["-Wno-builtin-macro-redefined", "-D__DATE__=\"\"", "-D__TIME__=\"\""];

/// Builds page and program of a platform and returns the program's path below `target/dist`.
pub fn build(platform: Platform) -> Result<PathBuf> {
    page::build(page::Optimization::Full)?;
    let (target, mut cargo) = (platform.target(), process::command("cargo", &[]));
    if platform.is_linux() {
        let tools = setup::ensure_static_linux(target)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(tools).chain(std::env::split_paths(&path));
        cargo.arg("zigbuild").env("PATH", std::env::join_paths(paths)?);
    } else {
        ensure!(cfg!(target_os = "macos"), "programs for macOS are built on macOS");
        process::run(&mut process::command("rustup", &["target", "add", target]))?;
        cargo.arg("build");
    }
    cargo.args(["--profile", PROFILE, "--locked", "--package", "server", "--bin", "rollcast", "--target", target]);
    // Removes the build machine's paths from Rust and C code, and the time of building, which mimalloc has.
    let flags = setup::flags_without_paths();
    let paths = setup::paths_of_sources();
    let paths = paths.iter().map(|path| format!("-ffile-prefix-map={path}/="));
    let of_c: Vec<String> = paths.chain(WITHOUT_TIME.map(str::to_owned)).collect();
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cargo.env(format!("CFLAGS_{}", target.replace('-', "_")), of_c.join(" "));
    process::run(cargo.env("ROLLCAST_COMMIT", commit()?))?;
    let built = process::workspace_path("target").join(target).join(PROFILE).join("rollcast");
    let program = platform.program();
    std::fs::create_dir_all(program.parent().context("no folder")?)?;
    std::fs::copy(&built, &program).with_context(|| format!("cannot copy {}", built.display()))?;
    let version = |program: &str| process::output(&mut process::command(program, &["--version"]));
    // Node.js compresses the page.
    std::fs::write(platform.compiler(), format!("{} and Node.js {}", version("rustc")?, version("node")?))?;
    Ok(program)
}

/// Returns the commit that is built, with a mark if files differ from it.
pub fn commit() -> Result<String> {
    let git = |arguments: &[&str]| process::output(&mut process::command("git", arguments));
    let id = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Ok(if is_changed { format!("{id}-changed") } else { id })
}
