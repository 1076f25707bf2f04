//! Installs the chart with the image of a release on a real node, in a namespace that enforces the Pod Security Standard "restricted", and
//! asks the pods for their pages: open to everyone; then with sign-in by token and a claim for the history; then as two pods that share a
//! PostgreSQL database.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::postgres::Postgres;
use super::{CHART, Helm, RELEASE};
use crate::cluster::{Cluster, Running};
use crate::release::{self, Platform};
use crate::{process, server, setup};

/// A page may take so long to be right.
const LIMIT: Duration = Duration::from_secs(60);
/// Labels and taints of the real node.
const NODE: &str = "rollcast.dev/real-node";
/// Where programs in pods look for their service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What the pod must answer: a path, and a text of the answer.
const PAGES: [(&str, &str); 6] = [
    ("/api/v1/deployments", "\"name\":\"rollcast\""),
    ("/", ">rollcast<"),
    ("/wall", "rollcast"),
    ("/history?kind=rollout", "rollcast"),
    ("/status", "in-cluster"),
    ("/clusters/in-cluster/namespaces/rollcast/deployments/rollcast", "Complete"),
];
/// Storage class of the volume of the test: there is nothing that makes volumes.
const CLASS: &str = "folder";

/// The chart on a cluster of its own.
struct Installation<'a> {
    helm: &'a Helm,
    cluster: &'a Cluster,
    gateway: String,
    /// Port of the gateway that leads to the API server.
    port: u16,
}

/// Installs the chart on a cluster of its own and asks for the pages.
pub fn run(helm: &Helm) -> Result<()> {
    let archive = release::image(Platform::here())?;
    let running = Running(Cluster::named("chart"));
    let cluster = &running.0;
    cluster.down()?; // of an earlier run
    cluster.up()?;
    ensure!(cluster.add_real_node_with(&[archive])?, "the chart is installed on a real node, which cannot run here");
    let gateway = cluster.gateway()?;
    let port = forward(&gateway, cluster.api_port()?)?;
    let installation = Installation { helm, cluster, gateway, port };
    installation.kubectl(&format!("create namespace {RELEASE}"))?;
    installation.kubectl(&format!("label namespace {RELEASE} pod-security.kubernetes.io/enforce=restricted"))?;
    installation.open_to_everyone()?;
    installation.with_tokens_and_a_claim()?;
    installation.as_two_pods()
}

impl Installation<'_> {
    fn kubectl(&self, arguments: &str) -> Result<String> {
        let mut kubectl = process::command(setup::ensure_binaries()?.kubernetes, &["kubectl", "--namespace", RELEASE]);
        process::output(kubectl.args(arguments.split(' ')).env("KUBECONFIG", self.cluster.kubeconfig()))
    }

    fn apply(&self, object: &Value) -> Result<String> {
        let file = self.cluster.folder().join("object.json");
        std::fs::write(&file, object.to_string())?;
        self.kubectl(&format!("apply --filename {}", file.display()))
    }

    /// Installs the chart, or changes its values, and returns the addresses of its pods once all are ready.
    fn install(&self, chosen: Value) -> Result<Vec<String>> {
        let file = self.cluster.folder().join("values.json");
        std::fs::write(&file, self.values(chosen).to_string())?;
        let started = Instant::now();
        let upgrade = ["upgrade", "--install", RELEASE, CHART, "--namespace", RELEASE, "--values"];
        let mut upgrade = process::command(&self.helm.0, &upgrade);
        process::run(upgrade.arg(file).env("KUBECONFIG", self.cluster.kubeconfig()))?;
        let hosts = self.ready()?;
        process::print_note(&format!("ready after {:.1} s: {}", started.elapsed().as_secs_f32(), hosts.join(", ")));
        Ok(hosts)
    }

    /// Waits for the Deployment and returns the addresses of its pods.
    fn ready(&self) -> Result<Vec<String>> {
        let ready = self.kubectl("rollout status deployment/rollcast --timeout=90s");
        let why = || {
            let told = ["describe pods", "logs deployment/rollcast"].map(|what| self.kubectl(what).unwrap_or_default());
            told.join("\n")
        };
        ready.with_context(why)?;
        let started = Instant::now();
        loop {
            // Pods that are deleted have the address for as long as they end.
            let pods = self.kubectl("get pods --selector=app.kubernetes.io/name=rollcast --output=json")?;
            let pods: Value = serde_json::from_str(&pods)?;
            let pods = pods.pointer("/items").and_then(Value::as_array).context("no pods")?;
            if pods.iter().all(|pod| pod.pointer("/metadata/deletionTimestamp").is_none()) {
                let addresses = pods.iter().map(|pod| pod.pointer("/status/podIP").and_then(Value::as_str));
                return addresses.map(|address| Ok(format!("{}:7440", address.context("no address")?))).collect();
            }
            ensure!(started.elapsed() < LIMIT, "old pods do not end");
            std::thread::sleep(Duration::from_millis(200)); // polling another program
        }
    }

    /// Asks a pod for a path until the answer has that status and text.
    fn until(&self, host: &str, path: &str, headers: &str, (status, text): (u16, &str)) -> Result<()> {
        let begun = Instant::now();
        let headers = format!("Accept: text/html\r\n{headers}");
        loop {
            let last = server::get(host, path, &headers).map(|response| (response.status, response.text()));
            if last.as_ref().is_ok_and(|(said, body)| *said == status && body.contains(text)) {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < LIMIT,
                "http://{host}{path} does not say {status} and {text:?}, but {last:?}; its log: {}",
                self.kubectl("logs --selector=app.kubernetes.io/name=rollcast --prefix --tail=100").unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(200)); // polling another program
        }
    }

    /// Rolls out a new image of a Deployment whose pods have no containers.
    fn roll_out(&self, deployment: &str) -> Result<()> {
        self.kubectl(&format!("--namespace default create deployment {deployment} --image={deployment}:v1"))?;
        let rolled_out = format!("--namespace default rollout status deployment/{deployment} --timeout=60s");
        self.kubectl(&rolled_out)?;
        self.kubectl(&format!("--namespace default set image deployment/{deployment} {deployment}={deployment}:v2"))?;
        self.kubectl(&rolled_out)?;
        Ok(())
    }

    fn open_to_everyone(&self) -> Result<()> {
        let hosts = self.install(json!({ "auth": { "mode": "none", "insecureNoAuth": true } }))?;
        let [host] = &hosts[..] else { bail!("not one pod: {hosts:?}") };
        for (path, text) in PAGES {
            self.until(host, path, "", (200, text))?;
        }
        process::print_note(&format!("the pod answers {} addresses as it should", PAGES.len()));
        Ok(())
    }

    /// Nobody sees anything without a token; the history is there after the pod was replaced.
    fn with_tokens_and_a_claim(&self) -> Result<()> {
        let folder = self.cluster.folder().join("volume");
        process::run(process::command("install", &["--directory", "--mode", "0777"]).arg(&folder))?;
        self.apply(&json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "rollcast" },
            "spec": {
                "capacity": { "storage": "4Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
                "hostPath": { "path": folder },
            },
        }))?;
        let history = json!({ "persistence": { "enabled": true, "storageClass": CLASS } });
        let hosts = self.install(json!({ "auth": { "mode": "token" }, "history": history }))?;
        let headers = format!("Authorization: Bearer {}\r\n", self.token()?);
        let [host] = &hosts[..] else { bail!("not one pod: {hosts:?}") };
        for path in ["/", "/api/v1/deployments"] {
            self.until(host, path, "", (303, ""))?; // to the page on which people sign in
        }
        self.until(host, "/api/v1/deployments", &headers, (200, "\"name\":\"rollcast\""))?;
        self.roll_out("kept")?;
        self.until(host, "/history?kind=rollout", &headers, (200, ">kept<"))?;
        self.kubectl("delete pods --selector=app.kubernetes.io/name=rollcast")?;
        let hosts = self.ready()?;
        let [host] = &hosts[..] else { bail!("not one pod: {hosts:?}") };
        self.until(host, "/history?kind=rollout", &headers, (200, ">kept<"))?;
        process::print_note("without a token nothing is shown; the history is there after the pod was replaced");
        Ok(())
    }

    /// Both pods show what one of them wrote.
    fn as_two_pods(&self) -> Result<()> {
        let postgres = Postgres::start(&self.gateway)?;
        self.kubectl(&format!("create secret generic database --from-literal=url={}", postgres.url))?;
        self.kubectl(&format!("create secret generic keys --from-literal=keys={}", "k".repeat(43)))?;
        let history = json!({ "storage": "postgres", "existingSecret": "database" });
        let keys = json!({ "existingSecret": "keys" });
        let values = json!({ "auth": { "mode": "token" }, "history": history, "replicaCount": 2, "sessionKeys": keys });
        let hosts = self.install(values)?;
        ensure!(hosts.len() == 2, "not two pods: {hosts:?}");
        let headers = format!("Authorization: Bearer {}\r\n", self.token()?);
        self.roll_out("shared")?;
        for host in &hosts {
            self.until(host, "/history?kind=rollout", &headers, (200, ">shared<"))?;
        }
        process::print_note("two pods show the history that they share");
        Ok(())
    }

    /// A token of somebody who may see everything.
    fn token(&self) -> Result<String> {
        if self.kubectl("get serviceaccount viewer").is_err() {
            self.kubectl("create serviceaccount viewer")?;
            self.kubectl("create clusterrolebinding viewer --clusterrole=view --serviceaccount=rollcast:viewer")?;
        }
        self.kubectl("create token viewer")
    }

    /// Values for the real node: its image, its taint, and the way to an API server that no Service leads to. The API server of tests adds no
    /// account to pods, so that the chart's own is mounted here.
    fn values(&self, chosen: Value) -> Value {
        let image = release::image_name(Platform::here());
        let (repository, tag) = image.rsplit_once(':').unwrap_or((&image, ""));
        let account = json!({ "name": "account", "projected": { "defaultMode": 0o444, "sources": [
            { "serviceAccountToken": { "path": "token" } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": { "fieldPath": "metadata.namespace" } }] } },
        ] } });
        let mut values = json!({
            "image": { "repository": repository, "tag": tag, "pullPolicy": "Never" },
            "nodeSelector": { NODE: "true" },
            "tolerations": [{ "key": NODE, "operator": "Exists" }],
            "extraEnv": [
                { "name": "KUBERNETES_SERVICE_HOST", "value": self.gateway },
                { "name": "KUBERNETES_SERVICE_PORT", "value": self.port.to_string() },
            ],
            "extraVolumes": [account],
            "extraVolumeMounts": [{ "name": "account", "mountPath": ACCOUNT, "readOnly": true }],
        });
        if let (Some(values), Value::Object(chosen)) = (values.as_object_mut(), chosen) {
            values.extend(chosen);
        }
        values
    }
}

/// Passes connections from the bridge on to the API server, which listens on loopback only. Ends with this program.
fn forward(gateway: &str, api: u16) -> Result<u16> {
    let listener = TcpListener::bind((gateway, 0)).with_context(|| format!("cannot listen on {gateway}"))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for from in listener.incoming().flatten() {
            let Ok(to) = TcpStream::connect(("127.0.0.1", api)) else { continue };
            for (from, to) in [(from.try_clone(), to.try_clone()), (Ok(to), Ok(from))] {
                let (Ok(mut from), Ok(mut to)) = (from, to) else { continue };
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to); // until one side ends
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    Ok(port)
}
