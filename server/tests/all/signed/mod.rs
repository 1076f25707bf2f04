//! People sign in to a Rollcast that watches a real control plane, and see what its RBAC lets them see: pages, lists, the stream, and
//! what becomes of it when a right or a token is taken away.

mod allowed;
mod matrix;

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use futures::{SinkExt, StreamExt};
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use timeline::Workload;
use timeline::list::{Query, Window};
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::common::addresses::named;
use crate::common::side::{Side, client};
use crate::live::program::Serving;

/// What is taken away has to be gone by then.
const A_MINUTE: Duration = Duration::from_secs(60);
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A Rollcast at which people sign in with their tokens.
struct Program(Serving);

impl Program {
    fn start(kubeconfig: &str, keys: &std::path::Path) -> Self {
        let (keys, audit) = (keys.display().to_string(), keys.with_extension("audit").display().to_string());
        let options = ["--no-history", "--auth", "token", "--session-keys", &keys, "--audit-log", &audit];
        Self(Serving::with(kubeconfig, &options))
    }

    /// Status, headers and text of an answer.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.0.address).await.unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.0.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        let all = String::from_utf8_lossy(&all).into_owned();
        let (head, text) = all.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), text.to_owned())
    }

    async fn get(&self, path: &str, token: &str) -> (u16, String) {
        let bearer = format!("Bearer {token}");
        let (status, _, text) = self.ask("GET", path, &[("Authorization", &bearer)], "").await;
        (status, text)
    }

    async fn stream(&self, token: &str) -> Socket {
        let mut request = format!("ws://{}/api/v1/stream", self.0.address).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut socket = Socket(socket);
        socket.say(&ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() }).await;
        socket
    }
}

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn say(&mut self, frame: &ViewerFrame) {
        self.0.send(Message::Binary(wire::encode(frame).unwrap().into())).await.unwrap();
    }

    async fn follow(&mut self, scope: Scope) {
        self.say(&ViewerFrame::Subscribe { scope, since: None }).await;
    }

    /// The next frame; `None` when the server ends the connection.
    async fn next(&mut self) -> Option<ServerFrame> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Binary(bytes))) => return Some(wire::decode(&bytes).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next snapshot: whether it has a Deployment.
    async fn snapshot(&mut self) -> bool {
        loop {
            if let ServerFrame::Snapshot(snapshot) = self.next().await.expect("the stream goes on") {
                return snapshot.deployment.is_some();
            }
        }
    }
}

/// The test cluster's administrator.
struct Cluster(Side);

impl Cluster {
    async fn post(&self, path: &str, body: Value) -> Value {
        self.0.ask("POST", path, "application/json", &body).await.unwrap_or_else(|code| panic!("{path}: {code}"))
    }

    async fn delete(&self, path: &str) {
        self.0
            .ask("DELETE", path, "application/json", &Value::Null)
            .await
            .unwrap_or_else(|code| panic!("{path}: {code}"));
    }

    /// A ServiceAccount, and a token of it.
    async fn account(&self, name: &str) -> String {
        let path = self.0.path("api/v1", "serviceaccounts");
        self.post(&path, json!({ "metadata": { "name": name } })).await;
        let asked = json!({ "spec": { "expirationSeconds": 3_600 } });
        let token = self.post(&format!("{path}/{name}/token"), asked).await;
        token["status"]["token"].as_str().unwrap().to_owned()
    }

    /// Lets it list pods there.
    async fn allow(&self, account: &str, of: &str) {
        let role = json!({ "metadata": { "name": "looks" }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] });
        self.post(&self.0.path("apis/rbac.authorization.k8s.io/v1", "roles"), role).await;
        let binding = json!({
            "metadata": { "name": account },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "looks" },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": of }],
        });
        self.post(&self.bindings(), binding).await;
    }

    fn bindings(&self) -> String {
        self.0.path("apis/rbac.authorization.k8s.io/v1", "rolebindings")
    }
}

async fn cluster(kubeconfig: &str, namespace: &str) -> Cluster {
    let client = client(Kubeconfig::read_from(kubeconfig).unwrap()).await;
    let side = Side { client, namespace: namespace.to_owned(), name: "web" };
    side.begin(1).await;
    Cluster(side)
}

/// Until something is so; it has to be within a minute, and something more for a machine that is busy.
async fn within_a_minute(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < A_MINUTE + Duration::from_secs(5), "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await; // polling with a deadline
    }
    began.elapsed()
}

#[tokio::test]
#[ignore = "needs a control plane: `cargo xtask test --only cluster`"]
async fn people_see_what_the_cluster_lets_them_see_for_as_long_as_it_does() {
    let kubeconfig = std::env::var("ROLLCAST_TEST_KUBECONFIG").unwrap();
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let (seen_name, hidden_name) = (format!("seen-{started}"), format!("hidden-{started}"));
    let (seen, hidden) = (cluster(&kubeconfig, &seen_name).await, cluster(&kubeconfig, &hidden_name).await);
    let (team, guest) = (seen.account("team").await, seen.account("guest").await);
    seen.allow("team", &seen_name).await;
    let mut keys = tempfile::NamedTempFile::new().unwrap();
    writeln!(keys, "{KEY}").unwrap();
    let program = Program::start(&kubeconfig, keys.path());
    within_a_minute("both are listed", async || {
        program.ask("GET", "/readyz", &[], "").await.0 == 200
            && program.get("/api/v1/deployments", &team).await.1.contains(&seen_name)
    })
    .await;
    let name = serde_json::from_str::<Value>(&program.get("/api/v1/deployments", &team).await.1).unwrap()["clusters"]
        [0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let page = |namespace: &str| format!("/clusters/{name}/namespaces/{namespace}/deployments/web");

    // Nobody, somebody whom nobody knows, somebody without rights, somebody with some.
    let (nobody, headers, _) = program.ask("GET", &page(&seen_name), &[("Accept", "text/html")], "").await;
    assert_eq!(nobody, 303);
    assert!(
        headers.to_lowercase().contains(&format!(
            "location: /sign-in?to=%2fclusters%2f{name}%2fnamespaces%2f{seen_name}%2fdeployments%2fweb"
        )),
        "{headers}"
    );
    assert_eq!(program.get(&page(&seen_name), "no.such.token").await.0, 401);
    assert_eq!(program.get(&page(&seen_name), &guest).await.0, 404);
    assert_eq!(program.get(&page(&seen_name), &team).await.0, 200);
    assert_eq!(program.get(&page(&hidden_name), &team).await.0, 404);
    let (_, listed) = program.get("/api/v1/deployments", &team).await;
    assert!(listed.contains(&seen_name) && !listed.contains(&hidden_name), "{listed}");
    assert!(!program.get("/api/v1/deployments", &guest).await.1.contains("web"));

    // In a browser.
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("token={team}&to={}", page(&seen_name));
    assert_eq!(program.ask("POST", "/sign-in", &form, &body).await.0, 403, "no page of this server asked for it");
    let own = format!("http://{}", program.0.address);
    let form = [form[0], ("Origin", own.as_str())];
    assert_eq!(program.ask("POST", "/sign-in", &form, "token=x&to=/").await.0, 403);
    let (status, headers, _) = program.ask("POST", "/sign-in", &form, &body).await;
    assert_eq!(status, 303, "{headers}");
    let check = headers.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    let cookie = headers.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = async |path: &str, cookie: &str| program.ask("GET", path, &[("Cookie", cookie)], "").await;
    let (status, headers, _) = with(check, &cookie).await;
    let leads = format!("location: {}", page(&seen_name));
    assert!(status == 303 && headers.lines().any(|line| line == leads), "{headers}");
    let (status, _, text) = with(&page(&seen_name), &cookie).await;
    assert_eq!(status, 200);
    assert!(text.contains("Signed in as") && !text.contains(&team));
    assert_eq!(with(&page(&hidden_name), &cookie).await.0, 404);
    assert_eq!(with(&page(&seen_name), &format!("{cookie}x")).await.0, 401);

    // In a terminal.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{team}").unwrap();
    let token_file = file.path().display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        let ended = command.args(arguments).args(["--server", &own]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
    };
    let wait = ["wait", "web", "--timeout", "20s", "--namespace", &seen_name];
    let (code, out, error) = run(&wait);
    assert!(code == Some(2) && error.contains("--token-file"), "{code:?} {out} {error}");
    let (code, out, error) = run(&[&wait[..], &["--token-file", &token_file]].concat());
    assert_eq!(code, Some(0), "{out} {error}");

    // A link for somebody without an account, made, listed and taken away in a terminal.
    let share = |more: &[&str]| run(&[&["share", "--token-file", &token_file], more].concat());
    let (code, link, error) = share(&["make", &format!("{own}{}", page(&seen_name)), "--for", "2h"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.starts_with(&format!("It opens Deployment {seen_name} / web in {name} until ")), "{error}");
    let secret = link.trim().strip_prefix(&format!("{own}/shared#")).unwrap_or_else(|| panic!("{link}"));
    let (status, headers, _) = program.ask("POST", "/shared", &form, &format!("secret={secret}")).await;
    assert!(status == 303 && headers.contains(&format!("location: {}", page(&seen_name))), "{status} {headers}");
    let (code, listed, _) = share(&["ls"]);
    let id = listed.split(' ').next().unwrap();
    let maker = format!("by system:serviceaccount:{seen_name}:team  Deployment {seen_name} / web in {name}");
    assert!(code == Some(0) && listed.lines().count() == 1 && listed.trim_end().ends_with(&maker), "{listed}");
    for (arguments, why) in [
        (["make", &page(&hidden_name)[..]], "400 Bad Request: A link can open a Deployment"),
        (["revoke", "0000000000000000"], "404 Not Found: You have no such link."),
    ] {
        let (code, _, error) = share(&arguments);
        assert!(code == Some(2) && error.contains(why), "{code:?} {error}");
    }
    assert_eq!(share(&["revoke", id]).1, format!("Revoked {id}.\n"));
    assert_eq!(share(&["ls"]).1, "");
    assert_eq!(program.ask("POST", "/shared", &form, &format!("secret={secret}")).await.0, 403);

    // Every address of a Deployment: to who may not see it, it is as little there as one that never was.
    for pattern in crate::common::addresses::patterns().into_iter().filter(|pattern| pattern.contains("{name}")) {
        let of = |namespace: &str| named(&pattern, &name, namespace);
        assert!([401, 303].contains(&program.ask("GET", &of(&seen_name), &[], "").await.0), "{pattern}");
        for (token, namespace) in [(&guest, &seen_name), (&guest, &hidden_name), (&team, &hidden_name)] {
            let (hidden, never) =
                (program.get(&of(namespace), token).await, program.get(&of("never-was"), token).await);
            assert_eq!(hidden.0, never.0, "{pattern}");
            assert!(hidden.0 >= 400 && !hidden.1.contains("web:v"), "{pattern}: {}", hidden.1);
        }
    }

    // Who looked at what is written down, and nothing of what they saw or showed.
    let audit = std::fs::read_to_string(keys.path().with_extension("audit")).unwrap();
    let user = format!("system:serviceaccount:{seen_name}:team");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |did: &str, at: &str, status: u64| {
        lines
            .iter()
            .any(|line| line["who"] == user && line["did"] == did && line["at"] == at && line["status"] == status)
    };
    assert!(
        has("GET", &page(&seen_name), 200) && has("GET", &page(&hidden_name), 404) && has("signed in", "/sign-in", 303),
        "{audit}"
    );
    assert!(has("followed", &page(&seen_name), 101), "{audit}");
    assert!(!audit.contains(&team) && !audit.contains("healthz"), "{audit}");

    // The stream, while rights come and go.
    let list = || Scope::List { query: Query::default(), window: Window { from: 0, to: 50 } };
    let of = |namespace: &str| Scope::Workload(Workload::deployment(&name, namespace.to_owned(), "web".to_owned()));
    let mut own = program.stream(&team).await;
    own.follow(of(&seen_name)).await;
    assert!(own.snapshot().await, "what may be seen is there");
    let mut other = program.stream(&team).await;
    other.follow(of(&hidden_name)).await;
    assert!(!other.snapshot().await, "what may not be seen is not there");
    other.say(&ViewerFrame::Moment { at_millis: 1 }).await;
    loop {
        match other.next().await.unwrap() {
            ServerFrame::Moment(moment) => break assert!(moment.said.is_none_or(|said| said.view.is_none())),
            ServerFrame::Delta(_) => panic!("something happens to what is not there"),
            _ => {}
        }
    }
    let mut all = program.stream(&team).await;
    all.follow(list()).await;
    loop {
        if let ServerFrame::List(delta) = all.next().await.unwrap() {
            break assert!(!format!("{delta:?}").contains(&hidden_name));
        }
    }
    let began = Instant::now();
    seen.delete(&format!("{}/team", seen.bindings())).await;
    // Nothing else may be seen of the cluster: it is as if it was not watched.
    loop {
        match own.next().await.unwrap() {
            ServerFrame::Connection { connection, .. } if connection.state == wire::ConnectionState::Unknown => break,
            _ => assert!(began.elapsed() < A_MINUTE + Duration::from_secs(5), "still seen after {:?}", began.elapsed()),
        }
    }
    assert_eq!(program.get(&page(&seen_name), &team).await.0, 404);
    println!("a right that was taken away ended after {:?}", began.elapsed());
    // Another one comes: what was asked for in vain is there.
    hidden.allow("team", &seen_name).await;
    let took =
        within_a_minute("another namespace is seen", async || program.get(&page(&hidden_name), &team).await.0 == 200)
            .await;
    println!("a right that was given was there after {took:?}");
    let there = tokio::time::timeout(A_MINUTE, async { while !other.snapshot().await {} }).await;
    assert!(there.is_ok(), "the stream that asked for it shows it");
    // The account goes, and its token with it.
    let began = Instant::now();
    seen.delete(&seen.0.path("api/v1", "serviceaccounts/team")).await;
    while let Ok(frame) = tokio::time::timeout(A_MINUTE, other.next()).await {
        assert!(began.elapsed() < A_MINUTE + Duration::from_secs(5), "still open after {:?}", began.elapsed());
        if frame.is_none() {
            break;
        }
    }
    println!("a stream of a token that is not good any more ended after {:?}", began.elapsed());
    assert_eq!(program.get(&page(&hidden_name), &team).await.0, 401);
    assert_eq!(with("/", &cookie).await.0, 401);
    seen.0.end().await;
    hidden.0.end().await;
}
