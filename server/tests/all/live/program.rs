//! The program itself, as scripts run it.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::SinkExt;
use serde_json::{Value, json};
use server::web::state::{Rollcast, Site};
use timeline::wire::{self, PROTOCOL, Scope, ViewerFrame};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::common::until::until_or;
use crate::live::support::{FakeApi, Watched};

/// What the log of `rollcast wait` says once what is known counts.
pub const FOLLOWED: &str = "its state is known";

/// A server that watches it, in this process.
pub async fn serve(watched: &Watched) -> std::net::SocketAddr {
    let rollcast = Rollcast::new(vec![watched.hub.clone()], "build", watched.viewers.clone(), Site::default());
    serve_router(server::web::http::router(rollcast)).await
}

/// A server with these routes, in this process.
pub async fn serve_router(router: axum::Router) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A websocket to a server.
pub type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// The stream of a server that follows these scopes, one after the other.
pub async fn follow(address: impl Display, scopes: impl IntoIterator<Item = Scope>) -> Socket {
    let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}/api/v1/stream")).await.unwrap();
    let hello = ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() };
    let subscriptions = scopes.into_iter().map(|scope| ViewerFrame::Subscribe { scope, since: None });
    for frame in std::iter::once(hello).chain(subscriptions) {
        socket.send(Message::Binary(wire::encode(&frame).unwrap().into())).await.unwrap();
    }
    socket
}

/// A kubeconfig with one context of that name, for an API server at that URL.
pub fn config_of(server: &str, context: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Config", "current-context": context,
        "contexts": [{ "name": context, "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": server } }], "users": [{ "name": "u", "user": {} }] })
}

/// A file with one context of that name.
pub fn kubeconfig(api: &FakeApi, context: &str) -> String {
    kubeconfig_of(api.address, context)
}

/// A file with one context of that name, for an API server at an address.
pub fn kubeconfig_of(address: std::net::SocketAddr, context: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{context}", address.port()));
    std::fs::write(&path, config_of(&format!("http://{address}"), context).to_string()).unwrap();
    path.display().to_string()
}

/// What a page answers, with its headers.
pub async fn get(address: &str, path: &str) -> String {
    let (address, path) = (address.to_owned(), path.to_owned());
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: text/html\r\n\r\n");
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    });
    asked.await.unwrap()
}

#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub error: String,
}

/// The last line of a text.
pub fn last(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default()
}

/// A program that runs.
pub struct Running {
    lines: Arc<Mutex<String>>,
    pub ended: tokio::task::JoinHandle<Ended>,
}

impl Running {
    pub fn wait(arguments: &[String]) -> Self {
        let lines = Arc::new(Mutex::new(String::new()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(["wait", "web", "--namespace", "shop"]).args(arguments);
        command
            .env_remove("KUBECONFIG")
            .env("ROLLCAST_LOG", "server::cli::terminal=debug")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let told = lines.clone();
        let ended = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let (out, error) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
            let also_told = told.clone();
            let error = std::thread::spawn(move || noted(error, &also_told));
            let out = noted(out, &told);
            Ended { code: child.wait().unwrap().code(), out, error: error.join().unwrap() }
        });
        Self { lines, ended }
    }

    /// Waits until a line says that.
    pub async fn until(&self, words: &str) {
        let missing = || format!("{words}; but:\n{}", self.lines.lock().unwrap());
        until_or(missing, async || self.lines.lock().unwrap().contains(words)).await;
    }
}

/// Reads to the end, and notes each line where others see it.
fn noted(from: impl Read, lines: &Mutex<String>) -> String {
    let mut all = String::new();
    for line in BufReader::new(from).lines() {
        let line = line.unwrap() + "\n";
        lines.lock().unwrap().push_str(&line);
        all.push_str(&line);
    }
    all
}

/// Where a rollcast serves, as its first line says.
fn address_of(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().trim_start_matches("Rollcast is at http://").trim_end_matches('/').to_owned()
}

/// A rollcast that serves and logs all that it can.
pub struct Traced {
    child: Child,
    log: std::thread::JoinHandle<String>,
    /// Where it is.
    pub address: String,
}

impl Traced {
    pub fn start(command: &mut Command) -> Self {
        let command = command.env("ROLLCAST_LOG", "trace").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            log.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let address = address_of(&mut child);
        Self { child, log, address }
    }

    /// Ends it, and returns its log.
    pub fn end(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log.join().unwrap()
    }
}

/// `rollcast record` of one context, killed when dropped.
pub struct Recorder {
    child: Child,
    lines: Arc<Mutex<String>>,
}

impl Recorder {
    pub fn start(kubeconfig: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(["record", "--kubeconfig", kubeconfig]).env("ROLLCAST_LOG", "off").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, lines) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let told = lines.clone();
        std::thread::spawn(move || noted(out, &told));
        Self { child, lines }
    }

    /// What it wrote so far.
    pub fn written(&self) -> String {
        self.lines.lock().unwrap().clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        self.child.wait().unwrap();
    }
}

/// `rollcast serve` of one context, killed when dropped.
pub struct Serving {
    child: Child,
    pub address: String,
}

impl Serving {
    /// Returns once it listens.
    pub fn start(kubeconfig: &str, listen: &str) -> Self {
        Self::run(kubeconfig, listen, &["--no-history"])
    }

    /// The same anywhere, and what it observes is kept in a folder.
    pub fn keeping(kubeconfig: &str, folder: &std::path::Path) -> Self {
        Self::with(kubeconfig, &["--data-dir", &folder.display().to_string()])
    }

    /// The same anywhere, with these options.
    pub fn with(kubeconfig: &str, options: &[&str]) -> Self {
        Self::run(kubeconfig, "127.0.0.1:0", options)
    }

    /// The same, and its history is on a disk of its own, with room for 4 MB, that nobody else sees.
    #[cfg(target_os = "linux")]
    pub fn on_a_small_disk(kubeconfig: &str, folder: &std::path::Path) -> Self {
        Self::on_a_disk(kubeconfig, folder, "mount -t tmpfs -o size=4m tmpfs \"$0\"")
    }

    /// The same on a disk that cannot be written.
    #[cfg(target_os = "linux")]
    pub fn on_a_read_only_disk(kubeconfig: &str, folder: &std::path::Path) -> Self {
        Self::on_a_disk(kubeconfig, folder, "mount -t tmpfs -o size=4m,ro tmpfs \"$0\"")
    }

    /// From now on the disk can be written.
    #[cfg(target_os = "linux")]
    pub fn make_writable(&self, folder: &std::path::Path) {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.child.id().to_string(), "--user", "--mount", "--preserve-credentials"]);
        assert!(command.args(["mount", "-o", "remount,rw"]).arg(folder).status().unwrap().success());
    }

    #[cfg(target_os = "linux")]
    fn on_a_disk(kubeconfig: &str, folder: &std::path::Path, mount: &str) -> Self {
        let mount = format!("{mount} && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", &mount]).arg(folder);
        command.args([env!("CARGO_BIN_EXE_rollcast"), "serve", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"]);
        Self::begin(command.arg("--data-dir").arg(folder))
    }

    /// Its memory that is no file's, in bytes.
    #[cfg(target_os = "linux")]
    pub fn private_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
    }

    /// A path as the program sees it.
    #[cfg(target_os = "linux")]
    pub fn seen(&self, path: &std::path::Path) -> std::path::PathBuf {
        let root = std::path::PathBuf::from(format!("/proc/{}/root", self.child.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// `rollcast serve` that may have so many files and connections open: at first, and when it asks for more.
    pub fn with_descriptors(kubeconfig: &str, first: usize, most: usize) -> Self {
        let limited = format!("ulimit -Sn {first} && ulimit -Hn {most} && exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_rollcast"), "serve", "--kubeconfig", kubeconfig]);
        Self::begin(command.args(["--listen", "127.0.0.1:0", "--no-history"]))
    }

    /// The playground, with these options.
    pub fn playground(options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        Self::begin(command.args(["demo", "--listen", "127.0.0.1:0"]).args(options))
    }

    /// Recordings, with these options; the environment names a folder of servers of real clusters.
    pub fn replay(options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.env("ROLLCAST_DATA_DIR", "/dev/null/nowhere");
        Self::begin(command.args(["replay", "--listen", "127.0.0.1:0"]).args(options))
    }

    /// It hangs: its connections stay open and nothing comes over them.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    /// It goes on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Ends it as people do, and waits until it has.
    pub fn end(mut self) {
        self.signal("-INT");
        assert!(self.child.wait().unwrap().success());
    }

    /// Interrupts it until it has ended; returns how long that took.
    pub fn interrupt(mut self) -> Duration {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            self.signal("-INT");
            std::thread::sleep(Duration::from_millis(5)); // polling: it may not have heard the one before
        }
        began.elapsed()
    }

    fn run(kubeconfig: &str, listen: &str, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        Self::begin(command.args(["serve", "--kubeconfig", kubeconfig, "--listen", listen]).args(options))
    }

    /// Starts a command that serves.
    pub fn begin(command: &mut Command) -> Self {
        command.env("ROLLCAST_LOG", "off");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let address = address_of(&mut child);
        Self { child, address }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
