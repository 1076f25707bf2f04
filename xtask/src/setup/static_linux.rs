//! Cross-compilation of static Linux programs: the musl targets of Rust, and zig as compiler and linker of C, which has musl's headers for
//! all architectures.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process;

/// In a virtual environment of Python's, so that nothing else of the machine changes.
const FOLDER: &str = "target/tools/zig";
/// cargo-zigbuild and zig; the notes of a release name their versions.
pub const STATIC_TOOLS: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.15.2"];
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// Installs what is missing for a musl target and returns the folder of programs that belongs on the PATH.
pub fn ensure_static_linux(target: &str) -> Result<PathBuf> {
    let installed = process::output(&mut process::command("rustup", &["target", "list", "--installed"]))?;
    if !installed.lines().any(|line| line == target) {
        process::print_note(&format!("adding the {target} target to the Rust toolchain"));
        let is_added =
            process::succeeds_within(&mut process::command("rustup", &["target", "add", target]), RUSTUP_LIMIT);
        ensure!(is_added, "`rustup target add {target}` failed: static programs cannot be built here");
    }
    let (folder, complete) = (process::workspace_path(FOLDER), STATIC_TOOLS.join(" "));
    let stamp = folder.join("complete");
    if !std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == complete) {
        process::print_note(&format!("installing {complete} into {FOLDER} (100 MB, once)"));
        process::run(process::command("python3", &["-m", "venv"]).arg(&folder))?;
        let pip = ["install", "--quiet", "--disable-pip-version-check"];
        process::run(process::command(folder.join("bin/pip"), &pip).args(STATIC_TOOLS))?;
        std::fs::write(stamp, complete)?;
    }
    Ok(folder.join("bin"))
}
