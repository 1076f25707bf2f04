//! Every test program of the workspace, built once: whoever asks cargo for some of them by name gets other features of the
//! dependencies, and builds a quarter of everything once more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::sh;

/// Arguments of cargo that say which programs these are. Examples are none: clippy checks them, and whoever runs one builds it.
pub const ALL: [&str; 3] = ["test", "--workspace", "--tests"];

/// The test programs by the names of their files, each with the folder of its package, in which it runs.
pub struct Tests(BTreeMap<String, (PathBuf, PathBuf)>);

impl Tests {
    /// Builds them, and the program with them.
    pub fn build() -> Result<Self> {
        let mut command = sh::command("cargo", &ALL);
        command.args(["--no-run", "--message-format=json-render-diagnostics"]);
        let said = sh::said(&mut command)?;
        Ok(Self(said.lines().filter_map(built).collect()))
    }

    /// The tests of these programs that are left out unless asked for, with more arguments.
    pub fn run_ignored(&self, tests: &[&str], arguments: &[&str], environment: &[(&str, OsString)]) -> Result<()> {
        for test in tests {
            let (program, folder) = self.0.get(*test).ok_or_else(|| anyhow!("there are no tests named {test}"))?;
            let mut command = Command::new(program);
            command.arg("--ignored").args(arguments).current_dir(folder);
            command.envs(environment.iter().cloned());
            sh::run(&mut command)?;
        }
        Ok(())
    }
}

/// The name, program and folder of a test program, if this line of cargo's is about one.
fn built(line: &str) -> Option<(String, (PathBuf, PathBuf))> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_test = message.pointer("/target/kind/0")?.as_str()? == "test";
    let name = message.pointer("/target/name")?.as_str()?;
    let program = message.get("executable")?.as_str()?;
    let folder = PathBuf::from(message.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    is_test.then(|| (name.to_owned(), (program.into(), folder)))
}
