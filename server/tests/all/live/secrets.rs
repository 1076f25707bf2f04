//! Secrets are planted wherever credentials come from, and looked for in everything that leaves the program.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt;
use serde_json::{Value, json};
use timeline::Workload;
use timeline::list::{Query, Window};
use timeline::wire::{self, Scope, ServerFrame};
use tokio_tungstenite::tungstenite::Message;

use crate::common::until::until;
use crate::live::program::{Traced, follow, get};
use crate::live::support::{FakeApi, deployment, shop};

/// Each secret has this in it.
pub const PLANTED: &str = "PLANTED0SECRET";
/// The one that the cluster takes.
const GOOD: &str = "good-PLANTED0SECRET";

/// Where it stands in a text, plain, as base64 at any offset, or percent-encoded or not: it has letters and digits only.
pub fn found(text: &str) -> Option<String> {
    let encoded = (0..3).map(|shift| {
        let text = BASE64_STANDARD.encode(format!("{}{PLANTED}", "x".repeat(shift)));
        text.get(4 * usize::from(shift > 0)..16).unwrap_or_default().to_owned()
    });
    let at = encoded.chain([PLANTED.to_owned()]).find_map(|form| text.find(&form))?;
    Some(text.chars().skip(text[..at].chars().count().saturating_sub(200)).take(400).collect())
}

fn command(script: &str) -> Value {
    json!({ "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script, format!("argument-{PLANTED}")],
        "env": [{ "name": "FETCH_WITH", "value": format!("environment-{PLANTED}") }], "interactiveMode": "Never",
    } })
}

/// Users of all kinds: one that is taken, and others that are wrong in every way that there is.
fn users(folder: &Path) -> Vec<(&'static str, Value)> {
    let file = folder.join("token");
    std::fs::write(&file, format!("file-{PLANTED}")).unwrap();
    let script = folder.join("gcp");
    std::fs::write(&script, GCP).unwrap();
    // An old kind of command, which the client library runs by itself.
    let gcp = |does: &str, more: Value| {
        let mut config =
            json!({ "cmd-path": "sh", "cmd-args": format!("{} {does} argument-{PLANTED}", script.display()) });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "auth-provider": { "name": "gcp", "config": config } })
    };
    let garbage = BASE64_STANDARD.encode(format!("garbage-{PLANTED}"));
    vec![
        ("good", json!({ "token": GOOD })),
        ("refused", json!({ "token": format!("refused-{PLANTED}") })),
        ("file", json!({ "tokenFile": file })),
        ("password", json!({ "username": "ann", "password": format!("password-{PLANTED}") })),
        ("fails", command("echo \"out $FETCH_WITH $0\"; echo \"error $FETCH_WITH $0\" >&2; exit 3")),
        ("babbles", command("echo \"{\\\"status\\\": {\\\"token\\\": \\\"$FETCH_WITH\\\", nonsense\"")),
        ("empty", command("echo \"{\\\"kind\\\": \\\"$FETCH_WITH\\\"}\"")),
        ("strange", command("echo \"{\\\"status\\\": {\\\"token\\\": \\\"two\\\\nlines $FETCH_WITH\\\"}}\"")),
        ("hangs", command("echo \"$FETCH_WITH\" >&2; sleep 600")),
        ("certificate", json!({ "client-certificate-data": garbage, "client-key-data": garbage })),
        (
            "broken",
            json!({ "client-certificate-data": format!("%{PLANTED}"), "client-key-data": format!("%{PLANTED}") }),
        ),
        (
            "provider",
            json!({ "auth-provider": { "name": "oidc", "config": { "id-token": PLANTED, "refresh-token": PLANTED } } }),
        ),
        ("gcp-fails", gcp("fails", json!({}))),
        ("gcp-babbles", gcp("babbles", json!({ "token-key": "{.token}" }))),
        ("gcp-empty", gcp("tells", json!({ "token-key": format!("{{.{PLANTED}}}") }))),
        ("gcp-late", gcp("tells", json!({ "token-key": "{.token}", "expiry-key": "{.expiry}" }))),
        ("gcp-strange", gcp("strange", json!({}))),
        ("gcp-bytes", gcp("bytes", json!({}))),
        ("gcp-renews", gcp("once", json!({ "token-key": "{.token}", "expiry-key": "{.expiry}" }))),
        ("gcp-missing", gcp("fails", json!({ "cmd-path": format!("/nowhere/{PLANTED}") }))),
        (
            "gcp-dated",
            json!({ "auth-provider": { "name": "gcp", "config": {
            "access-token": format!("cached-{PLANTED}"), "expiry": format!("at-{PLANTED}") } } }),
        ),
        ("proxy", json!({ "token": GOOD })),
        ("tunnel", json!({ "token": GOOD })),
        ("socks", json!({ "token": GOOD })),
        ("address", json!({ "token": format!("refused-{PLANTED}") })),
    ]
}

/// What a command of the kind "gcp" does, by its first argument.
const GCP: &str = r#"
case "$1" in
fails) echo "out $2"; echo "error $2" >&2; exit 3 ;;
babbles) echo "{\"token\": \"$2\", nonsense" ;;
tells) echo "{\"token\": \"$2\", \"expiry\": \"$2\"}" ;;
strange) printf 'two\nlines %s' "$2" ;;
bytes) printf '\377\376 %s' "$2" ;;
once)
    if [ -e "$0.once" ]; then echo "out $2"; echo "error $2" >&2; exit 3; fi
    touch "$0.once"
    echo "{\"token\": \"$2\", \"expiry\": \"2020-01-01T00:00:00Z\"}" ;;
esac
"#;

fn kubeconfig(api: &FakeApi, users: &[(&str, Value)]) -> Value {
    let server = format!("http://{}", api.address);
    let named = |kind: &str| -> Vec<Value> {
        let of = |(name, user): &(&str, Value)| match kind {
            // Some addresses hold a password.
            "context" if ["proxy", "tunnel", "socks", "address"].contains(name) => {
                json!({ "name": name, "context": { "cluster": name, "user": name } })
            }
            "context" => json!({ "name": name, "context": { "cluster": "c", "user": name } }),
            _ => json!({ "name": name, "user": user }),
        };
        users.iter().map(of).collect()
    };
    json!({ "apiVersion": "v1", "kind": "Config", "current-context": "good", "contexts": named("context"),
        "clusters": [
            { "name": "c", "cluster": { "server": server } },
            { "name": "proxy", "cluster": { "server": server, "proxy-url": format!("ftp://ann:{PLANTED}@127.0.0.1:9") } },
            { "name": "tunnel", "cluster": { "server": server, "proxy-url": format!("http://ann:{PLANTED}@127.0.0.1:9") } },
            { "name": "socks", "cluster": { "server": server, "proxy-url": format!("socks5://ann:{PLANTED}@127.0.0.1:9") } },
            { "name": "address", "cluster": { "server": format!("http://ann:{PLANTED}@{}", api.address) } },
        ], "users": named("user") })
}

/// What a stream tells that follows the list and then a Deployment of a cluster, as far as its frames are text.
pub async fn streamed(address: &str, cluster: &str) -> String {
    let list = Scope::List { query: Query::default(), window: Window { from: 0, to: 50 } };
    let workload = Scope::Workload(Workload::deployment(cluster, "shop", "web"));
    let mut socket = follow(address, [list, workload]).await;
    let mut told = String::new();
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.expect("it tells how it is");
        let Message::Binary(bytes) = frame.expect("it is not hung up on").unwrap() else { continue };
        told.push_str(&String::from_utf8_lossy(&bytes));
        if let ServerFrame::Snapshot(_) = wire::decode(&bytes).unwrap() {
            return told;
        }
    }
}

/// What a command says, all of it.
fn said(arguments: &[&str]) -> String {
    let ended =
        Command::new(env!("CARGO_BIN_EXE_rollcast")).args(arguments).env("ROLLCAST_LOG", "trace").output().unwrap();
    String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_leaves_the_program() {
    let api = shop().await;
    api.take_only(GOOD);
    // A rollout that goes on, so that there is history of it.
    let mut deployment = deployment(1, 2);
    deployment["status"] =
        json!({ "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1 });
    api.put(deployment);
    let folder = tempfile::tempdir().unwrap();
    let users = users(folder.path());
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, kubeconfig(&api, &users).to_string()).unwrap();
    let (history, config) = (folder.path().join("history"), config.display().to_string());
    let audit = folder.path().join("audit");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    command
        .args(["serve", "--all-contexts", "--kubeconfig", &config, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&history)
        .arg("--audit-log")
        .arg(&audit);
    let serving = Traced::start(&mut command);
    let address = serving.address.clone();
    let mut pages = get(&address, "/api/v1/deployments").await;
    // Each cluster says how it gets on: one is live, and of each other one a page says what is wrong.
    until("every cluster says how it gets on", async || {
        let metrics = get(&address, "/metrics").await;
        let tells = |name: &str| {
            metrics.contains(&format!("rollcast_cluster_stale{{cluster=\"{name}\"}} {}", u8::from(name != "good")))
        };
        users.iter().all(|(name, _)| tells(name)) && get(&address, "/api/v1/deployments").await.contains("web")
    })
    .await;
    for (name, said) in [
        ("fails", "run it by hand to see why"),
        ("good", "web"),
        ("gcp-empty", "run the command by hand"),
        ("gcp-fails", "of its auth-provider"),
        ("proxy", "proxy-url has an unsupported scheme"),
    ] {
        until(said, async || {
            let page = get(&address, &format!("/clusters/{name}")).await;
            pages.push_str(&page);
            page.contains(said)
        })
        .await;
    }
    for path in ["/", "/wall", "/history", "/metrics", "/readyz", "/api/v1/rollouts", "/shared", "/shares", "/sign-in"]
    {
        pages.push_str(&get(&address, path).await);
    }
    for (name, _) in &users {
        for rest in
            ["", "/namespaces/shop", "/namespaces/shop/deployments/web", "/namespaces/shop/deployments/web/timeline"]
        {
            pages.push_str(&get(&address, &format!("/clusters/{name}{rest}")).await);
        }
        for part in ["badge.svg", "preview.svg", "preview.png", "export", "export?format=jsonl", "compare"] {
            pages.push_str(&get(&address, &format!("/clusters/{name}/namespaces/shop/deployments/web/{part}")).await);
        }
        pages.push_str(&streamed(&address, name).await);
    }
    assert_eq!(found(&pages), None, "pages");
    let status = get(&address, "/status").await;
    assert!(status.rfind("chip stale").unwrap() < status.find("chip live").unwrap(), "the one that is live is last");
    let audited = || std::fs::read_to_string(&audit).unwrap_or_default();
    until("who looked is written down", async || audited().contains("\"followed\"")).await;
    assert_eq!(found(&audited()), None, "audit log");
    // What is kept is compressed: it is handed on as it was written.
    let mut kept = String::new();
    until("the rollout is kept", async || {
        kept = said(&["history", "export", "deployment/web", "--data-dir", &history.display().to_string()]);
        kept.contains("shop")
    })
    .await;
    assert_eq!(found(&kept), None, "history");
    let log = serving.end();
    // Between the level and the target there may be the span of a cluster.
    for (level, part) in [("TRACE", " hyper_util::client"), ("", "run it by hand to see why")] {
        let mut lines = log.lines();
        assert!(lines.any(|line| line.contains(level) && line.contains(part)), "the log says all, also {part}");
    }
    assert_eq!(found(&log), None, "log");
    // Other commands, and a file that is no kubeconfig at the very place where a secret stands.
    for (name, _) in &users {
        for arguments in [
            &["check", "--no-history", "--kubeconfig", &config, "--context", name][..],
            &["wait", "web", "--namespace", "shop", "--timeout", "1s", "--kubeconfig", &config, "--context", name],
        ] {
            let said = said(arguments);
            assert!(!said.is_empty());
            assert_eq!(found(&said), None, "{arguments:?}");
        }
    }
    let text = std::fs::read_to_string(&config).unwrap();
    for damaged in [
        text.replace(&format!("\"refused-{PLANTED}\""), &format!("\"refused-{PLANTED}\" {PLANTED}: : [")),
        text.replace(&format!("{{\"token\":\"refused-{PLANTED}\"}}"), &format!("[\"{PLANTED}\"]")),
        text.replace("\"v1\"", &format!("{{\"{PLANTED}\": 1}}")),
        format!("users: {PLANTED}"),
        format!("\tusers:\n- {PLANTED}: &a *a"),
    ] {
        std::fs::write(&config, damaged).unwrap();
        let said = said(&["check", "--no-history", "--kubeconfig", &config]);
        assert!(said.contains("cannot read the kubeconfig"), "{said}");
        assert_eq!(found(&said), None);
    }
}

#[test]
fn a_secret_is_found_in_every_form() {
    for before in ["", "a", "bc", "def"] {
        let token = format!("{before}{PLANTED}after");
        assert!(found(&token).is_some() && found(&BASE64_STANDARD.encode(&token)).is_some(), "{before}");
    }
    assert_eq!(found("nothing"), None);
}

/// A file whose one context does not check who the server is.
pub fn careless(api: &FakeApi, token: &str, is_careless: bool) -> String {
    json!({ "apiVersion": "v1", "kind": "Config", "current-context": "shop",
        "contexts": [{ "name": "shop", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("http://{}", api.address), "insecure-skip-tls-verify": is_careless } }],
        "users": [{ "name": "u", "user": { "token": token } }] })
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_less_safe_is_said_again_when_credentials_are_renewed_and_in_terminals() {
    const WARNING: &str = "is not verified (insecure-skip-tls-verify)";
    let api = shop().await;
    api.take_only("good");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, careless(&api, "old", false)).unwrap();
    let mut serving = Command::new(env!("CARGO_BIN_EXE_rollcast"))
        .args(["serve", "--no-history", "--listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (log, told) = (serving.stderr.take().unwrap(), Arc::new(Mutex::new(String::new())));
    let heard = told.clone();
    std::thread::spawn(move || {
        BufReader::new(log)
            .lines()
            .map_while(Result::ok)
            .for_each(|line| heard.lock().unwrap().push_str(&(line + "\n")));
    });
    until("its token is refused", async || api.refusals() > 0).await;
    assert!(!told.lock().unwrap().contains(WARNING), "not at the start");
    std::fs::write(&config, careless(&api, "good", true)).unwrap();
    until("it is said", async || told.lock().unwrap().contains(WARNING)).await;
    let _ = serving.kill();
    let _ = serving.wait();
    let config = config.display().to_string();
    let waited = tokio::task::spawn_blocking(move || {
        said(&["wait", "web", "--namespace", "shop", "--timeout", "1s", "--kubeconfig", &config])
    });
    assert!(waited.await.unwrap().contains(WARNING), "in a terminal too");
}
