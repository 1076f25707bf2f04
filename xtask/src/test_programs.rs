//! Every test program of the workspace but that of xtask, built once: a build of some of them by name selects other
//! features of the dependencies, and builds a quarter of everything once more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::process;

/// Arguments of cargo that select these programs. Not the examples: clippy checks them, and running one builds it. Not
/// xtask: built together with the others, its tools for WebAssembly get other features and are compiled once more.
pub const ALL: [&str; 5] = ["test", "--workspace", "--exclude", "xtask", "--tests"];
/// Arguments that select the test program of xtask itself.
pub const XTASK: [&str; 3] = ["test", "--package", "xtask"];

/// Tells the tests to leave nothing out of their long sets.
pub const WHOLE: &str = "ROLLCAST_TEST_WHOLE";

/// Part of the long sets that runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A sample, for every change.
    Sample,
    /// Everything, by night.
    Whole,
}

impl Extent {
    pub fn is_whole(self) -> bool {
        self == Self::Whole
    }

    /// Returns the environment variable that tells the tests; `None` for a sample.
    pub fn variable(self) -> Option<(&'static str, OsString)> {
        self.is_whole().then(|| (WHOLE, "yes".into()))
    }
}

/// The test program of each package, by the folder of the package, in which it runs.
pub struct Tests(BTreeMap<PathBuf, PathBuf>);

impl Tests {
    /// Builds them, and the program with them.
    pub fn build() -> Result<Self> {
        let mut command = process::command("cargo", &ALL);
        command.args(["--no-run", "--message-format=json-render-diagnostics"]);
        let said = process::stdout_of(&mut command)?;
        Ok(Self(said.lines().filter_map(built).collect()))
    }

    /// Runs the ignored tests of modules of a package, one module after the other, with more arguments.
    pub fn run_ignored(
        &self,
        package: &str,
        modules: &[&str],
        arguments: &[&str],
        environment: &[(&str, OsString)],
    ) -> Result<()> {
        let folder = process::workspace_path(package);
        let program = self.0.get(&folder).ok_or_else(|| anyhow!("{package} has no test program"))?;
        for module in modules {
            let mut command = Command::new(program);
            command.arg("--ignored").arg(module).args(arguments).current_dir(&folder);
            command.envs(environment.iter().cloned());
            process::run(&mut command)?;
        }
        Ok(())
    }
}

/// Returns the package's folder and the test program, if this line of cargo is about one.
fn built(line: &str) -> Option<(PathBuf, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_test = message.pointer("/target/kind/0")?.as_str()? == "test";
    let program = message.get("executable")?.as_str()?;
    let folder = PathBuf::from(message.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    is_test.then(|| (folder, program.into()))
}
