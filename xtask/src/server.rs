//! Rollcast as a server that this program starts, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;

/// Timeout for a response.
const READ_LIMIT: Duration = Duration::from_secs(30);

pub struct Server {
    child: Child,
    /// Its address, without the last slash.
    pub address: String,
}

pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Server {
    /// Starts it and waits for the line with its address.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).env("ROLLCAST_LOG", "error").spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address =
            line.split_whitespace().last().context("rollcast did not start")?.trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    /// Starts a server that plays recordings until so many seconds after their begin.
    pub fn replaying(rollcast: &Path, seconds: &str, files: impl IntoIterator<Item = PathBuf>) -> Result<Self> {
        let mut replay = process::command(rollcast, &["replay", "--listen", "127.0.0.1:0", "--hold-at", seconds]);
        Self::start(replay.args(files))
    }

    /// Starts the playground, with its kubeconfig in a file and more arguments.
    pub fn playground(rollcast: &Path, kubeconfig: &Path, arguments: &[&str]) -> Result<Self> {
        let mut demo = process::command(rollcast, &["demo", "--listen", "127.0.0.1:0", "--write-kubeconfig"]);
        Self::start(demo.arg(kubeconfig).args(arguments))
    }

    /// Requests a path; each header ends with a line break.
    pub fn get(&self, path: &str, headers: &str) -> Result<Response> {
        get(self.address.trim_start_matches("http://"), path, headers)
    }

    /// Returns the memory that it shares with no other process, in KiB.
    pub fn private_kib(&self) -> Result<u64> {
        let maps = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let figures = maps.lines().filter(|line| line.starts_with("Private_"));
        figures.map(|line| Ok(line.split_whitespace().nth(1).context("no figure")?.parse::<u64>()?)).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Requests a path of a host by HTTP/1.0: the body comes as it is, and ends with the connection.
pub fn get(host: &str, path: &str, headers: &str) -> Result<Response> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(READ_LIMIT))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    let head = response.windows(4).position(|window| window == b"\r\n\r\n").context("no response")?;
    let body = response.split_off(head + 4);
    let status = String::from_utf8_lossy(&response).split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Response { status: status.context("no status")?, body })
}
