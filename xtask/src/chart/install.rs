//! Installs the chart with the image of a release on a real node, in a namespace that enforces the Pod Security Standard "restricted", and
//! asks the pods for their pages: open to everyone; then with sign-in by token and a claim for the history; then as two pods that share a
//! PostgreSQL database.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::postgres::Postgres;
use super::{CHART, Helm, RELEASE};
use crate::cluster::{Cluster, Running};
use crate::release::{self, Platform};
use crate::story::Kubectl;
use crate::{process, server};

/// Timeout for a page to be right.
const LIMIT: Duration = Duration::from_secs(60);
/// Labels and taints of the real node.
const NODE: &str = "rollcast.dev/real-node";
/// Folder in which programs in pods look for their service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Expected responses of the pod: a path, and a text of the response.
const PAGES: [(&str, &str); 6] = [
    ("/api/v1/deployments", "\"name\":\"rollcast\""),
    ("/", ">rollcast<"),
    ("/wall", "rollcast"),
    ("/history?kind=rollout", "rollcast"),
    ("/status", "in-cluster"),
    ("/clusters/in-cluster/namespaces/rollcast/deployments/rollcast", "Complete"),
];
/// Storage class of the test's volume: no provisioner creates volumes.
const CLASS: &str = "folder";

const SELECTOR: &str = "--selector=app.kubernetes.io/name=rollcast";

/// The chart on a cluster of its own.
struct Installation<'a> {
    helm: &'a Helm,
    cluster: &'a Cluster,
    kubectl: Kubectl,
    gateway: String,
    /// Port of the gateway that leads to the API server.
    port: u16,
}

/// Installs the chart on a cluster of its own and requests the pages.
pub fn run(helm: &Helm) -> Result<()> {
    let archive = release::image(Platform::here())?;
    let running = Running::start("chart")?;
    let cluster = &running.0;
    ensure!(cluster.add_real_node(&[archive])?, "the chart is installed on a real node, which cannot run here");
    let gateway = cluster.gateway()?;
    let port = forward(&gateway, cluster.api_port()?)?;
    let kubectl = Kubectl::find()?.with("--kubeconfig", cluster.kubeconfig()).with("--namespace", RELEASE);
    kubectl.run(&format!("create namespace {RELEASE}"))?;
    kubectl.run(&format!("label namespace {RELEASE} pod-security.kubernetes.io/enforce=restricted"))?;
    // A service account that may see everything.
    kubectl.run("create serviceaccount viewer")?;
    kubectl.run(&format!("create clusterrolebinding viewer --clusterrole=view --serviceaccount={RELEASE}:viewer"))?;
    let installation = Installation { helm, cluster, kubectl, gateway, port };
    installation.open_to_everyone()?;
    installation.with_tokens_and_a_claim()?;
    installation.as_two_pods()
}

impl Installation<'_> {
    /// Installs the chart, or changes its values, and returns the addresses of its pods once all are ready.
    fn install<const PODS: usize>(&self, chosen: Value) -> Result<[String; PODS]> {
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
    fn ready<const PODS: usize>(&self) -> Result<[String; PODS]> {
        let ready = self.kubectl.run("rollout status deployment/rollcast --timeout=90s");
        let why = || {
            let told =
                ["describe pods", "logs deployment/rollcast"].map(|what| self.kubectl.run(what).unwrap_or_default());
            told.join("\n")
        };
        ready.with_context(why)?;
        // Terminating pods keep their addresses.
        process::poll(LIMIT, || {
            let addresses =
                self.kubectl.run(&format!("get pods {SELECTOR} --output=jsonpath={{.items[*].status.podIP}}"))?;
            let hosts: Vec<String> = addresses.split(' ').map(|address| format!("{address}:7440")).collect();
            hosts.try_into().map_err(|hosts| anyhow!("there are not {PODS} pods, but {hosts:?}"))
        })
    }

    /// Requests a path from a pod until the response has that status and text.
    fn until(&self, host: &str, path: &str, headers: &str, (status, text): (u16, &str)) -> Result<()> {
        let headers = format!("Accept: text/html\r\n{headers}");
        let asked = process::poll(LIMIT, || {
            let last = server::get(host, path, &headers).map(|response| (response.status, response.text()));
            let is_right = last.as_ref().is_ok_and(|(said, body)| *said == status && body.contains(text));
            ensure!(is_right, "http://{host}{path} does not say {status} and {text:?}, but {last:?}");
            Ok(())
        });
        let logs = || self.kubectl.run(&format!("logs {SELECTOR} --prefix --tail=100")).unwrap_or_default();
        asked.with_context(logs)
    }

    /// Rolls out a new image of a Deployment whose pods have no containers.
    fn roll_out(&self, deployment: &str) -> Result<()> {
        let kubectl = self.kubectl.with("--namespace", "default");
        kubectl.run(&format!("create deployment {deployment} --image={deployment}:v1"))?;
        let rolled_out = format!("rollout status deployment/{deployment} --timeout=60s");
        kubectl.run(&rolled_out)?;
        kubectl.run(&format!("set image deployment/{deployment} {deployment}={deployment}:v2"))?;
        kubectl.run(&rolled_out)?;
        Ok(())
    }

    fn open_to_everyone(&self) -> Result<()> {
        let [host] = self.install(json!({ "auth": { "mode": "none", "insecureNoAuth": true } }))?;
        for (path, text) in PAGES {
            self.until(&host, path, "", (200, text))?;
        }
        process::print_note(&format!("the pod answers {} addresses as it should", PAGES.len()));
        Ok(())
    }

    /// Checks that nobody sees anything without a token, and that the history survives the replacement of the pod.
    fn with_tokens_and_a_claim(&self) -> Result<()> {
        let folder = self.cluster.folder().join("volume");
        process::run(process::command("install", &["--directory", "--mode", "0777"]).arg(&folder))?;
        self.kubectl.apply(&json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "rollcast" },
            "spec": {
                "capacity": { "storage": "4Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
                "hostPath": { "path": folder },
            },
        }))?;
        let history = json!({ "persistence": { "enabled": true, "storageClass": CLASS } });
        let [host] = self.install(json!({ "auth": { "mode": "token" }, "history": history }))?;
        let headers = format!("Authorization: Bearer {}\r\n", self.token()?);
        for path in ["/", "/api/v1/deployments"] {
            self.until(&host, path, "", (303, ""))?; // to the page on which people sign in
        }
        self.until(&host, "/api/v1/deployments", &headers, (200, "\"name\":\"rollcast\""))?;
        self.roll_out("kept")?;
        self.until(&host, "/history?kind=rollout", &headers, (200, ">kept<"))?;
        self.kubectl.run(&format!("delete pods {SELECTOR}"))?;
        let [host] = self.ready()?;
        self.until(&host, "/history?kind=rollout", &headers, (200, ">kept<"))?;
        process::print_note("without a token nothing is shown; the history is there after the pod was replaced");
        Ok(())
    }

    /// Checks that both pods show what one of them wrote.
    fn as_two_pods(&self) -> Result<()> {
        let postgres = Postgres::start(&self.gateway)?;
        self.kubectl.run(&format!("create secret generic database --from-literal=url={}", postgres.url))?;
        self.kubectl.run(&format!("create secret generic keys --from-literal=keys={}", "k".repeat(43)))?;
        let history = json!({ "storage": "postgres", "existingSecret": "database" });
        let keys = json!({ "existingSecret": "keys" });
        let values = json!({ "auth": { "mode": "token" }, "history": history, "replicaCount": 2, "sessionKeys": keys });
        let hosts: [String; 2] = self.install(values)?;
        let headers = format!("Authorization: Bearer {}\r\n", self.token()?);
        self.roll_out("shared")?;
        for host in &hosts {
            self.until(host, "/history?kind=rollout", &headers, (200, ">shared<"))?;
        }
        process::print_note("two pods show the history that they share");
        Ok(())
    }

    fn token(&self) -> Result<String> {
        self.kubectl.run("create token viewer")
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
