//! What the account of `deploy/kubernetes.yaml` may do on a real control plane: what is written down in `allowed.txt`, which somebody
//! looked at, and nothing else.

use std::process::Command;

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::common::side::{Side, client};
use crate::signed::{Cluster, cluster};

/// What is asked with the account's own token, and must be refused.
const FORBIDDEN: [(&str, &str, &str); 18] = [
    ("GET", "/api/v1/secrets", ""),
    ("GET", "/api/v1/namespaces/NAMESPACE/configmaps", ""),
    ("GET", "/api/v1/namespaces/NAMESPACE/serviceaccounts", ""),
    ("GET", "/api/v1/nodes", ""),
    ("GET", "/api/v1/namespaces/NAMESPACE/pods/web/log", ""),
    ("POST", "/api/v1/namespaces/NAMESPACE/pods/web/exec?command=sh", ""),
    ("POST", "/api/v1/namespaces/NAMESPACE/pods/web/portforward", ""),
    ("POST", "/api/v1/namespaces/NAMESPACE/pods/web/eviction", r#"{"metadata":{"name":"web"}}"#),
    (
        "POST",
        "/api/v1/namespaces/NAMESPACE/pods",
        r#"{"metadata":{"name":"x"},"spec":{"containers":[{"name":"x","image":"x"}]}}"#,
    ),
    ("DELETE", "/api/v1/namespaces/NAMESPACE/pods/web", ""),
    ("DELETE", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web", ""),
    ("PATCH", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web", r#"{"spec":{"replicas":0}}"#),
    ("PATCH", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web/scale", r#"{"spec":{"replicas":0}}"#),
    ("PATCH", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web/status", r#"{"status":{"replicas":0}}"#),
    (
        "POST",
        "/api/v1/namespaces/NAMESPACE/events",
        r#"{"metadata":{"name":"x"},"involvedObject":{"namespace":"NAMESPACE"}}"#,
    ),
    ("POST", "/api/v1/namespaces/NAMESPACE/serviceaccounts/ACCOUNT/token", r#"{"spec":{}}"#),
    (
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        r#"{"metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}}"#,
    ),
    ("POST", "/api/v1/namespaces", r#"{"metadata":{"name":"x"}}"#),
];

/// What it needs, and gets.
const ALLOWED: [&str; 6] = [
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/api/v1/pods",
    "/api/v1/events",
    "/apis/apps/v1/namespaces/NAMESPACE/deployments?watch=true&timeoutSeconds=1",
    "/api/v1/namespaces/NAMESPACE/pods?watch=true&timeoutSeconds=1",
];

/// Makes the account and its roles, under names of their own; returns the account, and what is to be deleted again.
async fn apply(cluster: &Cluster, namespace: &str) -> (String, Vec<String>) {
    let text = include_str!("../../../../deploy/kubernetes.yaml")
        .replace("namespace: rollcast", &format!("namespace: {namespace}"))
        .replace("name: rollcast", &format!("name: {namespace}"));
    let (mut account, mut made) = (String::new(), Vec::new());
    for manifest in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let path = match manifest["kind"].as_str().unwrap() {
            "ServiceAccount" => {
                account = name;
                cluster.0.path("api/v1", "serviceaccounts")
            }
            kind @ ("ClusterRole" | "ClusterRoleBinding") => {
                let path = format!("/apis/rbac.authorization.k8s.io/v1/{}s", kind.to_lowercase());
                made.push(format!("{path}/{name}"));
                path
            }
            _ => continue,
        };
        cluster.post(&path, manifest).await;
    }
    (account, made)
}

#[tokio::test]
#[ignore = "needs a control plane: `cargo xtask test --only cluster`"]
async fn the_account_of_the_manifests_may_do_what_is_written_down_and_nothing_else() {
    let kubeconfig = std::env::var("ROLLCAST_TEST_KUBECONFIG").unwrap();
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let namespace = format!("allowed-{started}");
    let cluster = cluster(&kubeconfig, &namespace).await;
    let (account, made) = apply(&cluster, &namespace).await;
    let who = format!("system:serviceaccount:{namespace}:{account}");

    // As people look at it.
    let kubectl = std::env::var("ROLLCAST_KUBECTL").expect("ROLLCAST_KUBECTL names kubectl");
    let mut words = kubectl.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--kubeconfig", &kubeconfig, "--namespace", &namespace, "--as", &who]);
    let listed = command.args(["auth", "can-i", "--list"]).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    assert_eq!(
        lines(&listed),
        lines(include_str!("allowed.txt")),
        "look at what is different, and at deploy/kubernetes.yaml"
    );

    // As it is, with a token of its own.
    let path = cluster.0.path("api/v1", &format!("serviceaccounts/{account}/token"));
    let token = cluster.post(&path, json!({ "spec": { "expirationSeconds": 3_600 } })).await;
    let mut own = serde_json::to_value(Kubeconfig::read_from(&kubeconfig).unwrap()).unwrap();
    for user in own["users"].as_array_mut().unwrap() {
        user["user"] = json!({ "token": token["status"]["token"] });
    }
    let client = client(serde_json::from_value(own).unwrap()).await;
    let side = Side { client, namespace: namespace.clone(), name: "web" };
    let filled = |text: &str| text.replace("NAMESPACE", &namespace).replace("ACCOUNT", &account);
    for path in ALLOWED {
        let request = http::Request::get(filled(path)).body(Vec::new()).unwrap();
        let answer = side.client.request_text(request).await;
        assert!(answer.is_ok(), "{path}: {answer:?}");
    }
    let mut refused = 0;
    for (method, path, body) in FORBIDDEN {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_empty() { Value::Null } else { serde_json::from_str(&filled(body)).unwrap() };
        assert_eq!(side.ask(method, &filled(path), media, &body).await.err(), Some(403), "{method} {path}");
        refused += 1;
    }
    assert!(refused >= 12, "{refused}");
    // Nor may it be somebody else.
    let request = http::Request::get("/api/v1/secrets").header("impersonate-user", "system:admin");
    let answer = side.client.request_text(request.body(Vec::new()).unwrap()).await;
    assert!(matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403), "{answer:?}");
    for path in made {
        cluster.delete(&path).await;
    }
    cluster.0.end().await;
}
