//! A real Kubernetes control plane on this machine, on loopback only: etcd, API server, controller manager, scheduler, and
//! KWOK in the place of kubelets; on request a real node besides. State and logs are in `target/cluster/NAME`.

mod node;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Subcommand;

use crate::setup::{self, Binaries};
use crate::test_programs::{Extent, Tests};
use crate::{process, story};

const NODES: [&str; 4] = ["node-1", "node-2", "node-3", "node-4"];
/// The parts, in the order in which they are stopped.
const PARTS: [&str; 7] = [node::PART, "registry", "kwok", "scheduler", "controller-manager", "apiserver", "etcd"];
const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// `cargo xtask cluster …`.
#[derive(Subcommand)]
pub enum Command {
    /// Start the cluster and print its kubeconfig
    Up {
        /// With a node that runs containers, real-1, for pods that select and tolerate `rollcast.dev/real-node=true` (Linux, as root)
        #[arg(long)]
        real_node: bool,
    },
    /// Stop it and remove its state
    Down,
    /// Play a story on it, or list the stories
    Story {
        /// Name of the story; without it, the stories are listed
        name: Option<String>,
        /// Wait for a line on standard input before each step
        #[arg(long)]
        step_by_step: bool,
        /// Namespace to play it in; without it, a new one
        #[arg(long)]
        namespace: Option<String>,
    },
    /// Play situations of pods on a real node, all at once, on a cluster of their own (end2end/cluster/kubelet.toml); 4 minutes
    Kubelet {
        /// Names of situations; without any, all are played
        situations: Vec<String>,
    },
    /// Run kubectl against it
    Kubectl {
        /// Arguments for kubectl
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Runs a cluster command on the cluster for people to play with.
pub fn run(command: Command) -> Result<()> {
    let cluster = Cluster::named("default");
    match command {
        Command::Up { real_node } => {
            cluster.up()?;
            ensure!(!real_node || cluster.add_real_node(&[])?, "the cluster is up, without a real node");
            println!("The cluster is up. Use it with:\n  export KUBECONFIG={}", cluster.kubeconfig().display());
            Ok(())
        }
        Command::Down => cluster.down(),
        Command::Story { name: None, .. } => story::list(),
        Command::Story { name: Some(name), step_by_step, namespace } => {
            let story = story::Story::named(&name)?;
            let kubeconfig = match std::env::var_os("ROLLCAST_TEST_KUBECONFIG") {
                Some(path) => PathBuf::from(path),
                None => {
                    cluster.up()?;
                    cluster.kubeconfig()
                }
            };
            let kubectl = story::Kubectl::find()?;
            story.play(&kubectl.with("--kubeconfig", &kubeconfig), namespace, step_by_step)
        }
        Command::Kubelet { situations } => test_real_node(&Tests::build()?, Extent::Whole, &situations.join(",")),
        Command::Kubectl { arguments } => {
            let kubernetes = setup::ensure_binaries()?.kubernetes;
            let status = std::process::Command::new(kubernetes)
                .arg("kubectl")
                .args(arguments)
                .env("KUBECONFIG", cluster.kubeconfig())
                .status()?;
            ensure!(status.success(), "kubectl failed");
            Ok(())
        }
    }
}

/// Tests the sentences about pods on a real node: the named situations, else all or a sample, on a cluster of their own.
pub fn test_real_node(tests: &Tests, extent: Extent, situations: &str) -> Result<()> {
    if setup::ensure_node()?.is_none() {
        Cluster::named("real-node").down()?; // of a run that was killed
        process::print_note("LEFT OUT: what is said of pods on a real node (it cannot run here, as said above)");
        return Ok(());
    }
    let running = Running::start("real-node")?;
    let cluster = &running.0;
    cluster.add_real_node(&[])?;
    let mut environment: Vec<(&str, OsString)> = vec![
        ("ROLLCAST_TEST_KUBECONFIG", cluster.kubeconfig().into()),
        ("ROLLCAST_RECORDED", process::workspace_path("target/kubelet").into()),
        ("ROLLCAST_TEST_SITUATIONS", situations.into()),
    ];
    environment.extend(extent.variable());
    tests.run_ignored("server", &["kubelet::"], &["--nocapture"], &environment)
}

pub struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    /// Returns the cluster of that name, whether it runs or not.
    pub fn named(name: &str) -> Self {
        Self { folder: process::workspace_path("target/cluster").join(name) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the address of this machine for the pods of its real node.
    pub fn gateway(&self) -> Result<String> {
        node::gateway(&self.folder)
    }

    /// Returns the port of its API server on loopback.
    pub fn api_port(&self) -> Result<u16> {
        let config: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(self.kubeconfig())?)?;
        let server = config.pointer("/clusters/0/cluster/server").and_then(serde_json::Value::as_str);
        let port = server.and_then(|server| server.rsplit(':').next()).context("the kubeconfig has no port")?;
        Ok(port.parse()?)
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Starts it unless it responds already.
    pub fn up(&self) -> Result<()> {
        let binaries = setup::ensure_binaries()?;
        if self.answers(&binaries) {
            return Ok(());
        }
        self.down()?;
        std::fs::create_dir_all(&self.folder)?;
        process::print_note("starting the control plane");
        let started = Instant::now();
        let [etcd, etcd_peers, apiserver, controller_manager, scheduler] = free_ports()?;
        process::run(process::command(&binaries.kubernetes, &["certificates"]).arg(self.folder.join("pki")))?;
        self.write_kubeconfig(apiserver)?;
        self.start_control_plane(&binaries, [etcd, etcd_peers, apiserver])?;
        let log = self.folder.join("apiserver.log");
        process::poll(START_LIMIT, || {
            ensure!(self.answers(&binaries), "the API server did not start; see {}", log.display());
            Ok(())
        })?;
        self.start_rest(&binaries, [controller_manager, scheduler])?;
        process::print_note(&format!("the control plane answers after {:.1} s", started.elapsed().as_secs_f32()));
        Ok(())
    }

    /// Adds a real node, with more images in OCI archives, unless there is one or none can run here; returns whether there is one.
    pub fn add_real_node(&self, archives: &[PathBuf]) -> Result<bool> {
        if self.folder.join("node.pid").exists() {
            return Ok(true);
        }
        let Some(programs) = setup::ensure_node()? else { return Ok(false) };
        let (kubernetes, started) = (setup::ensure_binaries()?.kubernetes, Instant::now());
        process::print_note("starting a real node: kubelet, containerd, runc");
        let [port, registry, secure] = free_ports()?;
        let [address, secured] = [registry, secure].map(|port| format!("127.0.0.1:{port}"));
        // Beside the kubeconfig, where tests look for it: one registry without TLS, and one with an untrusted certificate.
        std::fs::write(self.folder.join("registry"), format!("{address} registry.secure:{secure}"))?;
        // Its program ignores the last argument, by which `has_part` knows it.
        self.start("registry", &programs.join("app"), &["registry", &address, &secured, &self.text("registry")])?;
        let (program, arguments) = node::command(&self.folder, &programs, &kubernetes, port, archives)?;
        self.start(node::PART, &program, &arguments)?;
        for condition in ["create", "condition=Ready"] {
            let wait = format!("wait node/{} --for {condition} --timeout=60s", node::NAME);
            self.kubectl(&kubernetes)
                .run(&wait)
                .with_context(|| format!("the real node does not become ready; see {}", self.text("node.log")))?;
        }
        process::print_note(&format!("the real node is ready after {:.1} s", started.elapsed().as_secs_f32()));
        Ok(true)
    }

    /// Stops every part, waits until it is gone, and removes the state.
    pub fn down(&self) -> Result<()> {
        for part in PARTS {
            let Ok(pid) = std::fs::read_to_string(self.folder.join(format!("{part}.pid"))) else {
                continue;
            };
            let pid = pid.trim();
            let is_there = || self.has_part(pid);
            if !is_there() {
                continue;
            }
            let signal = if part == node::PART { "-KILL" } else { "-TERM" };
            let _ = process::command("kill", &[signal, pid]).stderr(Stdio::null()).status();
            let ended = process::poll(STOP_LIMIT, || {
                ensure!(!is_there(), "{part} does not end");
                Ok(())
            });
            if ended.is_err() {
                let _ = process::command("kill", &["-9", pid]).status();
            }
        }
        node::remove(&self.folder)?;
        process::remove(&self.folder)
    }

    fn answers(&self, binaries: &Binaries) -> bool {
        let ready = || self.kubectl(&binaries.kubernetes).run("get --raw=/readyz --request-timeout=2s");
        self.kubeconfig().exists() && ready().is_ok_and(|text| text == "ok")
    }

    fn start_control_plane(&self, binaries: &Binaries, [etcd, peers, apiserver]: [u16; 3]) -> Result<()> {
        let [etcd, peers] = [etcd, peers].map(|port| format!("http://127.0.0.1:{port}"));
        let arguments = [
            format!("--data-dir={}", self.text("etcd")),
            format!("--listen-client-urls={etcd}"),
            format!("--advertise-client-urls={etcd}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        self.start("etcd", &binaries.etcd, &arguments)?;
        let audit = process::workspace_path("end2end/cluster/audit.yaml");
        let arguments = [
            "kube-apiserver".to_owned(),
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={apiserver}"),
            format!("--tls-cert-file={}", self.text("pki/server.crt")),
            format!("--tls-private-key-file={}", self.text("pki/server.key")),
            format!("--client-ca-file={}", self.text("pki/ca.crt")),
            format!("--service-account-key-file={}", self.text("pki/service-account.pub")),
            format!("--service-account-signing-key-file={}", self.text("pki/service-account.key")),
            format!("--audit-policy-file={}", audit.display()),
            format!("--audit-log-path={}", self.text("audit.log")), // beside the kubeconfig, where tests look for it
            "--bind-address=127.0.0.1".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--feature-gates=ImageVolume=true".to_owned(), // off in 1.34
        ];
        self.start("apiserver", &binaries.kubernetes, &arguments)
    }

    fn start_rest(&self, binaries: &Binaries, [manager_port, scheduler_port]: [u16; 2]) -> Result<()> {
        let kubeconfig = self.text("kubeconfig");
        let common = |port: u16| {
            let credentials = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
            let credentials = credentials.map(|flag| format!("--{flag}={kubeconfig}"));
            let address = ["--leader-elect=false".to_owned(), "--bind-address=127.0.0.1".to_owned()];
            credentials.into_iter().chain(address).chain([format!("--secure-port={port}")])
        };
        let mut manager = vec![
            "kube-controller-manager".to_owned(),
            "--controllers=*,-nodeipam,-route".to_owned(),
            "--use-service-account-credentials=true".to_owned(), // each controller has a name in the audit log
            format!("--service-account-private-key-file={}", self.text("pki/service-account.key")),
            format!("--root-ca-file={}", self.text("pki/ca.crt")),
            "--kube-api-qps=200".to_owned(),
            "--kube-api-burst=400".to_owned(),
        ];
        manager.extend(common(manager_port));
        self.start("controller-manager", &binaries.kubernetes, &manager)?;
        let mut scheduler = vec!["kube-scheduler".to_owned()];
        scheduler.extend(common(scheduler_port));
        self.start("scheduler", &binaries.kubernetes, &scheduler)?;
        let kubectl = self.kubectl(&binaries.kubernetes);
        NODES.iter().try_for_each(|node| kubectl.apply(&story::node(node)))?;
        let stages = process::workspace_path("end2end/cluster/stages.yaml").display().to_string();
        let others = format!("--manage-nodes-with-label-selector=!{}", node::KEY);
        self.start(
            "kwok",
            &binaries.kwok,
            &["--kubeconfig", &kubeconfig, "--manage-all-nodes=false", &others, "--config", &stages],
        )?;
        kubectl
            .run("wait --for=condition=Ready nodes --all --timeout=60s")
            .with_context(|| format!("the nodes do not become ready; see {}", self.text("kwok.log")))?;
        Ok(())
    }

    fn kubectl(&self, kubernetes: &Path) -> story::Kubectl {
        story::Kubectl::new(kubernetes.to_path_buf()).with("--kubeconfig", self.kubeconfig())
    }

    fn start(&self, part: &str, program: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<()> {
        let log = File::create(self.folder.join(format!("{part}.log")))?;
        let child = std::process::Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0) // lives on when this program ends
            .spawn()
            .with_context(|| format!("cannot start {part}"))?;
        std::fs::write(self.folder.join(format!("{part}.pid")), child.id().to_string())?;
        Ok(())
    }

    /// Returns whether the process has a path below the cluster's folder in its command line, as every part has. The id
    /// of a process that has ended is reused sooner or later; one that has ended and is not yet reaped has no command
    /// line.
    fn has_part(&self, pid: &str) -> bool {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .or_else(|_| process::output(&mut process::command("ps", &["-o", "args=", "-p", pid])));
        line.is_ok_and(|line| line.contains(&self.text("")))
    }

    fn text(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }

    fn write_kubeconfig(&self, port: u16) -> Result<()> {
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "rollcast-test",
            "contexts": [{ "name": "rollcast-test", "context": { "cluster": "rollcast-test", "user": "admin" } }],
            "clusters": [{ "name": "rollcast-test", "cluster": { "server": format!("https://127.0.0.1:{port}"), "certificate-authority": self.text("pki/ca.crt") } }],
            "users": [{ "name": "admin", "user": { "client-certificate": self.text("pki/admin.crt"), "client-key": self.text("pki/admin.key") } }],
        });
        std::fs::write(self.kubeconfig(), serde_json::to_string_pretty(&kubeconfig)?)?;
        Ok(())
    }
}

/// A cluster that goes down with its owner.
pub struct Running(pub Cluster);

impl Running {
    /// Starts the cluster of that name without what an earlier run left in it.
    pub fn start(name: &str) -> Result<Self> {
        let running = Self(Cluster::named(name));
        running.0.down()?;
        running.0.up()?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.0.down() {
            eprintln!("xtask: cannot stop the control plane: {error:#}");
        }
    }
}

/// Returns ports that were free a moment ago; all are held until the last is found, so that they differ.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let held: Vec<TcpListener> = (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let ports: Vec<u16> =
        held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<std::io::Result<_>>()?;
    <[u16; N]>::try_from(ports).map_err(|_| anyhow!("not enough ports"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_part_names_a_path_below_the_folder_of_its_cluster() {
        let cluster = Cluster::named("a");
        let is_part = |argument: &str| {
            let mut shell = process::command("sh", &["-c", "echo; read line", "part", argument]);
            let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            // Its command line is there once it runs.
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let is_part = cluster.has_part(&child.id().to_string());
            drop(child.stdin.take());
            child.wait().unwrap();
            is_part
        };
        assert!(is_part(&format!("--data-dir={}", cluster.text("etcd"))));
        assert!(!is_part(&Cluster::named("ab").text("etcd")), "of another cluster");
        assert!(!is_part(&process::workspace_path("Cargo.toml").display().to_string()), "of the workspace");
    }
}
