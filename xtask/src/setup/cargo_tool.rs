//! Programs from crates.io in a pinned version, which the machine has or which are installed below `target`.

use std::path::{Path, PathBuf};

use crate::process;

/// Folder in which a program is installed when the machine has none of its version.
const ROOT: &str = "target/tools";

/// A program of crates.io, in the version that the project uses.
pub struct CargoTool {
    name: &'static str,
    version: &'static str,
}

/// Checks licences, sources and advisories of dependencies.
pub const DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2" };
/// Writes bills of materials.
pub const CYCLONEDX: CargoTool = CargoTool { name: "cargo-cyclonedx", version: "0.5.9" };
/// Makes mistakes in the sources. Figures in docs/mutants.md are of this version; another one makes other mutants.
pub const MUTANTS: CargoTool = CargoTool { name: "cargo-mutants", version: "27.1.0" };
/// Builds the book from `docs`.
pub const MDBOOK: CargoTool = CargoTool { name: "mdbook", version: "0.5.4" };

impl CargoTool {
    /// Finds it, or installs it. `None` if crates.io cannot be reached.
    pub fn ensure(&self) -> Option<PathBuf> {
        let ours = process::workspace_path(ROOT).join("bin").join(self.name);
        let candidates = [process::find(self.name), Some(ours.clone())];
        if let Some(program) = candidates.into_iter().flatten().find(|program| self.is_pinned_version(program)) {
            return Some(program);
        }
        process::print_note(&format!("installing {} {} into {ROOT} (several minutes, once)", self.name, self.version));
        // As a debug build: an optimised build takes a quarter of an hour, and then saves a second.
        let install = ["install", self.name, "--version", self.version, "--locked", "--debug", "--root", ROOT];
        process::run(&mut process::command("cargo", &install)).ok().map(|()| ours)
    }

    fn is_pinned_version(&self, program: &Path) -> bool {
        // Cargo calls its subcommands with their name first. They print `cargo-deny 0.20.2`, mdBook `mdbook v0.5.4`.
        let subcommand = self.name.strip_prefix("cargo-");
        let printed = process::output(process::command(program, &[]).args(subcommand).arg("--version"));
        printed.is_ok_and(|line| {
            line.split_whitespace().nth(1).map(|version| version.trim_start_matches('v')) == Some(self.version)
        })
    }
}
