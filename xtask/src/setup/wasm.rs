//! A compiler for the page: the installed toolchain with the wasm32 target, or Debian's rustc with a std built here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::apt::apt_install;
use crate::process;

const TARGET: &str = "wasm32-unknown-unknown";
/// `rustup target add` hangs where the release server cannot be reached.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

pub enum Toolchain {
    /// The installed toolchain has the target.
    Installed,
    /// Debian's rustc with the std in this sysroot and this linker.
    Debian { sysroot: PathBuf, linker: PathBuf },
}

impl Toolchain {
    /// Lets a cargo command compile for wasm32. Paths of this machine are cut out of what is built.
    pub fn configure(&self, command: &mut std::process::Command) {
        let mut flags = flags_without_paths();
        if let Self::Debian { sysroot, linker } = self {
            flags.push(format!("--sysroot={}", sysroot.display()));
            flags.push(format!("-Clinker={}", linker.display()));
            flags.push("-Clinker-flavor=wasm-ld".to_owned());
            command.env("RUSTC", DEBIAN_RUSTC).env_remove("RUSTUP_TOOLCHAIN");
        }
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    }
}

/// Flags of the compiler that keep the paths of this machine out of programs. They replace those of .cargo/config.toml.
pub fn flags_without_paths() -> Vec<String> {
    let remapped = paths_of_sources().into_iter().map(|path| format!("--remap-path-prefix={path}/="));
    std::iter::once("--cfg=erase_components".to_owned()).chain(remapped).collect()
}

/// Returns the folders of the sources that programs are built from: those of each registry, and the workspace.
pub fn paths_of_sources() -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    let registries = std::fs::read_dir(format!("{cargo_home}/registry/src")).into_iter().flatten().flatten();
    let all = registries.map(|registry| registry.path()).chain([process::root()]);
    all.map(|path| path.display().to_string()).collect()
}

pub fn ensure_wasm() -> Result<Toolchain> {
    if installed() {
        return Ok(Toolchain::Installed);
    }
    let built = process::workspace_path("target/tools/wasm-sysroot");
    if built.join("complete").exists() {
        return debian(built);
    }
    if process::is_installed("rustup") {
        process::print_note("adding the wasm32-unknown-unknown target to the Rust toolchain (at most 60 s)");
        if process::succeeds_within(&mut process::command("rustup", &["target", "add", TARGET]), RUSTUP_LIMIT)
            && installed()
        {
            return Ok(Toolchain::Installed);
        }
    }
    process::print_note(
        "that target cannot be downloaded here; building its standard library from Debian's Rust sources",
    );
    if !sources().is_ok_and(|sources| sources.exists()) {
        ensure!(
            apt_install(&["rustc-web", "cargo-web", "rust-web-src"]),
            "no wasm32 target: `rustup target add {TARGET}` failed, and apt-get, which needs root, cannot install Debian's \
             sources instead"
        );
    }
    build_std(&built)?;
    debian(built)
}

fn installed() -> bool {
    process::output(&mut process::command("rustc", &["--print", "sysroot"]))
        .is_ok_and(|sysroot| Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib").exists())
}

fn sources() -> Result<PathBuf> {
    let sysroot = process::output(&mut process::command(DEBIAN_RUSTC, &["--print", "sysroot"]))?;
    Ok(Path::new(&sysroot).join("lib/rustlib/src/rust/library"))
}

fn debian(sysroot: PathBuf) -> Result<Toolchain> {
    let ours = process::output(&mut process::command("rustc", &["--print", "sysroot"]))?;
    let host = process::output(&mut process::command("rustc", &["--print", "host-tuple"]))?;
    let linker = Path::new(&ours).join("lib/rustlib").join(host).join("bin/rust-lld");
    if linker.exists() {
        return Ok(Toolchain::Debian { sysroot, linker });
    }
    if !process::is_installed("wasm-ld-14") {
        apt_install(&["lld-14"]);
    }
    Ok(Toolchain::Debian { sysroot, linker: PathBuf::from("wasm-ld-14") })
}

/// Builds std for wasm32 into `sysroot`, about a minute.
fn build_std(sysroot: &Path) -> Result<()> {
    let work = process::workspace_path("target/tools/wasm-std");
    process::remove(&work)?;
    std::fs::create_dir_all(&work)?;
    let library = work.join("library");
    process::run(process::command("cp", &["-rL"]).arg(sources()?).arg(&library))?;
    process::run(
        process::command(
            DEBIAN_CARGO,
            &["build", "--release", "--target", TARGET, "--features", "compiler-builtins-mem", "--manifest-path"],
        )
        .arg(library.join("sysroot/Cargo.toml"))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTFLAGS", "-Cembed-bitcode=yes -Zforce-unstable-if-unmarked")
        .env("CARGO_TARGET_DIR", work.join("target"))
        .env_remove("RUSTUP_TOOLCHAIN"),
    )?;
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::create_dir_all(&libraries)?;
    let built = work.join("target").join(TARGET).join("release/deps");
    for path in process::entries(&built)? {
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "rlib")) {
            std::fs::copy(&path, libraries.join(name))?;
        }
    }
    std::fs::remove_dir_all(&work)?;
    std::fs::write(sysroot.join("complete"), "")?;
    Ok(())
}
