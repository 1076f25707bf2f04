//! A PostgreSQL server of this machine for pods of a real node.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::{process, setup};

const START_LIMIT: Duration = Duration::from_secs(30);
/// Accepts everyone who can connect: only pods of the test can.
const ALLOWED: &str = "host all all all trust\n";

/// A server that ends with its owner, and its folder with it.
pub struct Postgres {
    child: Child,
    folder: PathBuf,
    /// The address for pods.
    pub url: String,
}

impl Postgres {
    /// Starts a server that listens on an address of this machine.
    pub fn start(address: &str) -> Result<Self> {
        ensure!(setup::ensure_postgres(), "two pods need PostgreSQL, which is not here and cannot be installed");
        let versions = std::fs::read_dir(setup::POSTGRES)?.flatten().map(|version| version.path().join("bin"));
        let programs = versions.filter(|programs| programs.join("initdb").exists()).max().context("no initdb")?;
        let folder = PathBuf::from(process::output(unprivileged("mktemp").args(["-d", "/tmp/rollcast-pg.XXXXXX"]))?);
        let data = folder.join("data");
        let options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"];
        process::output(unprivileged(programs.join("initdb")).args(options).arg(&data))?;
        std::fs::write(data.join("pg_hba.conf"), ALLOWED)?;
        let port = TcpListener::bind((address, 0))?.local_addr()?.port();
        let mut server = unprivileged(programs.join("postgres"));
        server.args(["-c", "fsync=off", "-h", address, "-p", &port.to_string(), "-k"]).arg(&folder).arg("-D").arg(data);
        let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let started =
            Self { child, folder, url: format!("postgres://postgres@{address}:{port}/postgres?sslmode=disable") };
        process::poll(START_LIMIT, || {
            let mut ready = Command::new(programs.join("pg_isready"));
            let ready = ready.args(["-q", "-h", address, "-p", &port.to_string()]).status()?;
            ensure!(ready.success(), "PostgreSQL does not start");
            Ok(())
        })?;
        Ok(started)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = process::command("kill", &["-QUIT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns a command that does not run as root: PostgreSQL refuses root, which runs the real node.
fn unprivileged(program: impl AsRef<Path>) -> Command {
    let mut command =
        process::command("setpriv", &["--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"]);
    command.arg(program.as_ref());
    command
}
