//! Installs the chart with the image of a release on a real node, in a namespace that enforces the Pod Security Standard "restricted", and
//! asks the pod for its pages.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

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

/// Installs the chart on a cluster of its own and asks for the pages.
pub fn run(helm: &Helm) -> Result<()> {
    let archive = release::image(Platform::here())?;
    let running = Running(Cluster::named("chart"));
    let cluster = &running.0;
    cluster.down()?; // of an earlier run
    cluster.up()?;
    ensure!(cluster.add_real_node_with(&[archive])?, "the chart is installed on a real node, which cannot run here");
    let kubernetes = setup::ensure_binaries()?.kubernetes;
    let kubectl = |arguments: &str| {
        let mut kubectl = process::command(&kubernetes, &["kubectl", "--namespace", RELEASE]);
        process::output(kubectl.args(arguments.split(' ')).env("KUBECONFIG", cluster.kubeconfig()))
    };
    kubectl(&format!("create namespace {RELEASE}"))?;
    kubectl(&format!("label namespace {RELEASE} pod-security.kubernetes.io/enforce=restricted"))?;
    let gateway = cluster.gateway()?;
    let values = cluster.folder().join("values.json");
    std::fs::write(&values, values_on(&gateway, forward(&gateway, cluster.api_port()?)?).to_string())?;
    let started = Instant::now();
    let mut install = process::command(&helm.0, &["install", RELEASE, CHART, "--namespace", RELEASE, "--values"]);
    process::run(install.arg(&values).env("KUBECONFIG", cluster.kubeconfig()))?;
    let ready = kubectl("rollout status deployment/rollcast --timeout=90s");
    ready.with_context(|| kubectl("describe pods").unwrap_or_default())?;
    process::print_note(&format!("the pod is ready after {:.1} s", started.elapsed().as_secs_f32()));
    let pod = kubectl("get pods --output=jsonpath={.items[0].status.podIP}")?;
    let host = format!("{pod}:7440");
    for (path, text) in PAGES {
        let begun = Instant::now();
        loop {
            let last =
                server::get(&host, path, "Accept: text/html\r\n").map(|response| (response.status, response.text()));
            if last.as_ref().is_ok_and(|(status, body)| *status == 200 && body.contains(text)) {
                break;
            }
            ensure!(
                begun.elapsed() < LIMIT,
                "http://{host}{path} does not say {text:?}, but {last:?}; its log: {}",
                kubectl("logs deployment/rollcast").unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(200)); // polling another program
        }
    }
    process::print_note(&format!("the pod answers {} addresses as it should", PAGES.len()));
    Ok(())
}

/// Values for the real node: its image, its taint, and the way to an API server that no Service leads to. The API server of tests adds no
/// account to pods, so that the chart's own is mounted here.
fn values_on(gateway: &str, port: u16) -> serde_json::Value {
    let image = release::image_name(Platform::here());
    let (repository, tag) = image.rsplit_once(':').unwrap_or((&image, ""));
    let account = json!({ "name": "account", "projected": { "defaultMode": 0o444, "sources": [
        { "serviceAccountToken": { "path": "token" } },
        { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
        { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": { "fieldPath": "metadata.namespace" } }] } },
    ] } });
    json!({
        "image": { "repository": repository, "tag": tag, "pullPolicy": "Never" },
        "auth": { "mode": "none", "insecureNoAuth": true },
        "nodeSelector": { NODE: "true" },
        "tolerations": [{ "key": NODE, "operator": "Exists" }],
        "extraEnv": [
            { "name": "KUBERNETES_SERVICE_HOST", "value": gateway },
            { "name": "KUBERNETES_SERVICE_PORT", "value": port.to_string() },
        ],
        "extraVolumes": [account],
        "extraVolumeMounts": [{ "name": "account", "mountPath": ACCOUNT, "readOnly": true }],
    })
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
