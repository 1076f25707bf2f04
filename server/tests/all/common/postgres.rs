//! A PostgreSQL server of our own, from Debian's package: real, in a folder that goes with it, reached by a socket in that folder.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use server::database::address::DatabaseServer;

/// It is up after this long, or not at all.
const DEADLINE: Duration = Duration::from_secs(30);
/// Runs the server as long as standard input is open; takes the folder away at its end, unless a line says to keep it.
const RUN: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c max_connections=200 $3 >>"$2/log" 2>&1 &
if read -r _; then kill -QUIT $!; wait; else kill -QUIT $!; wait; rm -rf "$2"; fi"#;

pub struct Postgres {
    folder: PathBuf,
    options: String,
    port: u16,
    running: Option<Child>,
    databases: AtomicU32,
}

/// There is none here, and whoever runs the tests was told so.
pub fn is_left_out() -> bool {
    std::env::var_os("ROLLCAST_TEST_NO_POSTGRES").is_some()
}

/// The folder of the newest version's programs.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    found.retain(|programs| programs.join("initdb").exists());
    found.sort();
    found.pop().expect("PostgreSQL is not installed; on Debian: apt-get install postgresql (cargo xtask setup does it)")
}

/// A command as somebody whom PostgreSQL lets run it: not as root.
fn command(program: &str) -> Command {
    if std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).ok() != Some(0) {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", program]);
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Postgres {
    pub fn start() -> Self {
        let mut server = Self::prepared();
        server.run();
        server
    }

    /// Starts one that listens on a port of this machine and speaks TLS, with a certificate for "localhost" that nobody else signed.
    pub fn with_tls() -> (Self, u16, PathBuf) {
        let mut server = Self::prepared();
        let (key, certificate) = (server.folder.join("key.pem"), server.folder.join("certificate.pem"));
        let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
        let mut make = command("openssl");
        make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        make.args(names).args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"]).arg(&key);
        said(make.arg("-out").arg(&certificate));
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        server.options = format!(
            "-c listen_addresses=localhost -c port={port} -c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
            certificate.display(),
            key.display()
        );
        server.port = port;
        server.run();
        (server, port, certificate)
    }

    fn prepared() -> Self {
        let folder = PathBuf::from(said(command("mktemp").args(["-d", "/tmp/rollcast-pg.XXXXXX"])));
        let initdb = programs().join("initdb").display().to_string();
        let data = folder.join("data").display().to_string();
        said(command(&initdb).args(["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]));
        Self { folder, options: String::new(), port: 5432, running: None, databases: AtomicU32::new(0) }
    }

    fn run(&mut self) {
        let (programs, folder) = (programs().display().to_string(), self.folder.display().to_string());
        let run =
            command("sh").args(["-c", RUN, "sh", &programs, &folder, &self.options]).stdin(Stdio::piped()).spawn();
        self.running = Some(run.expect("runs"));
        let deadline = Instant::now() + DEADLINE;
        while !self.is_up() {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_up(&self) -> bool {
        let ready = programs().join("pg_isready").display().to_string();
        let port = self.port.to_string();
        Command::new(ready)
            .args(["-q", "-p", &port, "-h"])
            .arg(&self.folder)
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Stops it, as the power does; what it holds stays.
    pub fn stop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        running.stdin.take().expect("is piped").write_all(b"stop\n").expect("is read");
        running.wait().expect("ends");
    }

    pub fn start_again(&mut self) {
        self.run();
    }

    /// Runs statements in a database.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let psql = programs().join("psql").display().to_string();
        let mut command = Command::new(psql);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-c", sql]);
        said(command.args(["-p", &self.port.to_string(), "-h"]).arg(&self.folder))
    }

    /// A database that nobody used before, by its name.
    pub fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// The address of a database for a role.
    pub fn address(&self, database: &str, role: &str) -> String {
        format!("postgres://{role}@{}/{database}", self.folder.display().to_string().replace('/', "%2F"))
    }

    /// A database that nobody used before.
    pub fn server(&self) -> DatabaseServer {
        self.named_server().1
    }

    /// The same, and its name.
    pub fn named_server(&self) -> (String, DatabaseServer) {
        let database = self.database();
        let server = self.address(&database, "postgres").parse().expect("is an address");
        (database, server)
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.stdin.take());
            let _ = running.wait();
        } else {
            let _ = command("rm").arg("-rf").arg(&self.folder).status();
        }
    }
}

/// The one that tests share which do nothing to it; it ends with the program.
pub fn shared() -> &'static Postgres {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    SHARED.get_or_init(Postgres::start)
}
