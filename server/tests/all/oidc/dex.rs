//! Dex, started for a test: it ends with its owner.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::browser::HOST;
use super::site::SECRET;

/// A provider.
pub struct Dex {
    child: Child,
    /// Its address.
    pub issuer: String,
}

impl Dex {
    /// One whose ID tokens are valid for so many seconds. Its refresh tokens are good once.
    pub fn start(valid_for: u64) -> Self {
        let program = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/oidc/provider"));
        assert!(program.exists(), "the provider of the tests is not built: `cargo xtask setup` builds it");
        let mut command = Command::new(program);
        command.args(["-redirect", &format!("http://{HOST}/sign-in/callback"), "-secret", SECRET]);
        command.args(["-valid-for", &format!("{valid_for}s")]);
        // It runs for as long as its standard input is open.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, issuer: line.trim().to_owned() }
    }

    pub fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Dex {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
