//! Credentials that are refused, end or never come: the kubeconfig is read again and its commands are asked again, and nobody is
//! hammered meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use server::cli::Clusters;
use server::cli::clusters;
use server::cli::config::{self, Config};
use server::kube::Pace;
use timeline::Retention;

use crate::common::until::until;
use crate::live::support::{
    Fault, Verb, Watched, is_stale, pod, quick, shop_of, until_connection, until_live, until_stale,
};

/// A folder of its own with a kubeconfig, gone when the test ends.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn kubeconfig(&self) -> PathBuf {
        self.0.path().join("config")
    }

    /// Writes the kubeconfig; whoever reads sees the old one or the new one.
    fn write(&self, address: std::net::SocketAddr, user: &str) {
        self.write_text(&format!(
            r#"{{"apiVersion":"v1","kind":"Config","current-context":"fake",
            "contexts":[{{"name":"fake","context":{{"cluster":"fake","user":"fake"}}}}],
            "clusters":[{{"name":"fake","cluster":{{"server":"http://{address}"}}}}],
            "users":[{{"name":"fake","user":{user}}}]}}"#
        ));
    }

    fn write_text(&self, text: &str) {
        let next = self.0.path().join("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, self.kubeconfig()).unwrap();
    }

    /// A user whose token comes from a script, which also counts its runs.
    fn user_of(&self, script: &str) -> String {
        let path = self.0.path().join("command");
        let folder = self.0.path().display();
        std::fs::write(&path, format!("cd {folder}\necho run >> runs\nruns=$(wc -l < runs)\n{script}")).unwrap();
        let path = path.display();
        format!(
            r#"{{"exec":{{"apiVersion":"client.authentication.k8s.io/v1","command":"sh","args":["{path}"],"interactiveMode":"Never"}}}}"#
        )
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn cluster(&self) -> clusters::ClusterConfig {
        self.cluster_whose_command_has(Duration::from_millis(500))
    }

    /// The same, whose command has so long to answer.
    fn cluster_whose_command_has(&self, credentials: Duration) -> clusters::ClusterConfig {
        let asked = Clusters { kubeconfig: Some(self.kubeconfig()), ..Clusters::default() };
        let mut wanted = clusters::cluster_configs(&asked, &[], &Config::default()).unwrap().remove(0);
        wanted.pace =
            Pace { credentials, patience: Duration::from_millis(100), again: Duration::from_millis(50), ..quick() };
        wanted
    }

    async fn watch(&self) -> Watched {
        self.watch_at(quick()).await
    }

    async fn watch_at(&self, pace: Pace) -> Watched {
        Watched::by_kubeconfig(&self.kubeconfig(), pace).await
    }
}

fn answer(status: &str) -> String {
    format!(r#"printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}'"#)
}

fn token(token: &str) -> String {
    format!(r#"{{"token":"{token}"}}"#)
}

#[tokio::test]
async fn a_token_that_is_written_anew_is_taken_up() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("one");
    folder.write(api.address, &token("one"));
    let watched = folder.watch().await;
    watched.until_pods(&["web-a"]).await;
    api.take_only("two");
    api.hang_up();
    until_stale(&watched, "the credentials were refused").await;
    folder.write(api.address, &token("two"));
    api.put(pod(11, 2, "web-b"));
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
}

#[tokio::test]
async fn a_command_is_asked_again_when_its_token_is_refused() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("run-1");
    let script = answer(r#"{"token":"run-%s"}"#) + r#" "$runs""#;
    folder.write(api.address, &folder.user_of(&script));
    // Who waits for other credentials does not wait longer than for them.
    let long = Duration::from_secs(3_600);
    let watched = folder.watch_at(Pace { first_backoff: long, max_backoff: long, ..quick() }).await;
    watched.until_pods(&["web-a"]).await;
    assert_eq!(folder.runs(), 1, "once for one client");
    api.take_only("run-2");
    api.hang_up();
    until("another token", async || api.refusals() > 0 && folder.runs() > 1).await;
    api.put(pod(11, 2, "web-b"));
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
    assert_eq!(folder.runs(), 2, "four watches and the probe were refused, and it was asked once");
}

#[tokio::test]
async fn credentials_that_end_soon_are_renewed_before_they_are_refused() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    let soon = jiff::Timestamp::from_second(server::telemetry::clock::now_millis() / 1000 + 62).unwrap();
    let script = answer(r#"{"token":"run-%s","expirationTimestamp":"%s"}"#)
        + &format!(r#" "$runs" "$([ "$runs" = 1 ] && echo {soon} || echo 2100-01-01T00:00:00Z)""#);
    folder.write(api.address, &folder.user_of(&script));
    let watched = folder.watch_at(Pace { probe: Duration::from_millis(100), ..quick() }).await;
    watched.until_pods(&["web-a"]).await;
    until("the second run", async || folder.runs() == 2).await;
    api.take_only("run-2");
    api.hang_up();
    api.put(pod(11, 2, "web-b"));
    watched.until_pods(&["web-a", "web-b"]).await;
    assert_eq!(folder.runs(), 2);
}

#[tokio::test]
async fn credentials_that_last_are_not_renewed() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    let script = answer(r#"{"token":"run-%s","expirationTimestamp":"2100-01-01T00:00:00Z"}"#) + r#" "$runs""#;
    folder.write(api.address, &folder.user_of(&script));
    let watched = folder.watch_at(Pace { probe: Duration::from_millis(20), ..quick() }).await;
    watched.until_pods(&["web-a"]).await;
    until("many requests", async || api.requests(Verb::Version, "version") >= 40).await;
    assert_eq!(folder.runs(), 1);
}

#[tokio::test]
async fn a_command_that_answers_nothing_good_is_asked_less_and_less_often() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("another");
    let script = answer(r#"{"token":"run-%s"}"#) + r#" "$runs""#;
    folder.write(api.address, &folder.user_of(&script));
    let watched = folder.watch().await;
    until_stale(&watched, "the credentials were refused").await;
    until("runs", async || folder.runs() >= 5).await;
    let (begun, before, refusals) = (Instant::now(), folder.runs(), api.refusals());
    until("two seconds", async || begun.elapsed() > Duration::from_secs(2)).await;
    let (runs, refusals) = (folder.runs() - before, api.refusals() - refusals);
    assert!((1..=6).contains(&runs), "{runs} runs in 2 s, where 400 ms lie between two");
    // Four watches that wait 50 ms on average, each of which tries other credentials at once, and the probe.
    assert!(refusals <= 4 * (60 + runs), "{refusals} refusals in 2 s");
}

#[tokio::test]
async fn what_is_wrong_with_the_kubeconfig_is_said_and_tried_again() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("one");
    folder.write(api.address, &token("one"));
    let watched = folder.watch().await;
    watched.until_pods(&["web-a"]).await;
    folder.write_text(r#"{"apiVersion":"v1","kind":"Config","contexts":[],"clusters":[],"users":[]}"#);
    api.take_only("two");
    api.hang_up();
    until_stale(&watched, r#"has no context "fake""#).await;
    folder.write_text("][");
    until_stale(&watched, "cannot read the kubeconfig").await;
    std::fs::remove_file(folder.kubeconfig()).unwrap();
    until_stale(&watched, "No such file").await;
    folder.write(api.address, &token("two"));
    until_live(&watched.hub).await;
}

#[tokio::test]
async fn a_cluster_that_moved_is_found_where_the_kubeconfig_says_and_listed_again() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    let (before, closed) = (
        shop_of(1, &["web-a"]).await,
        tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap(),
    );
    before.put(pod(11, 2, "web-b"));
    folder.write(before.address, "{}");
    // Failures alone do not list again here.
    let watched = folder.watch_at(Pace { failures_before_relist: u32::MAX, ..quick() }).await;
    watched.until_pods(&["web-a", "web-b"]).await;
    // Credentials are refused there, and the kubeconfig leads to nobody for a while.
    before.take_only("none");
    folder.write(closed, "{}");
    before.hang_up();
    until_stale(&watched, "connection refused").await;
    folder.write(api.address, "{}");
    watched.until_pods(&["web-a"]).await;
    assert!(api.requests(Verb::List, "pods") >= 1, "positions of another place mean nothing");
}

#[tokio::test]
async fn a_request_without_an_answer_is_made_again_with_the_next_credentials() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    folder.write(api.address, &token("one"));
    api.fault(Verb::Stream, "deployments", Fault::Hang);
    let watched = folder.watch_at(Pace { probe: Duration::from_millis(50), ..quick() }).await;
    until("a request that hangs", async || api.requests(Verb::Stream, "deployments") == 1).await;
    folder.write(api.address, &token("two"));
    api.take_only("two");
    until_live(&watched.hub).await;
    assert_eq!(api.requests(Verb::Stream, "deployments"), 2);
}

#[tokio::test]
async fn a_watch_without_an_answer_is_not_made_again_at_another_place() {
    let (before, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    let api = shop_of(2, &["web-a", "web-b"]).await;
    folder.write(before.address, "{}");
    before.fault(Verb::Watch, "deployments", Fault::Hang);
    let watched = folder.watch_at(Pace { probe: Duration::from_millis(50), ..quick() }).await;
    until("a watch that hangs", async || before.requests(Verb::Watch, "deployments") == 1).await;
    folder.write(api.address, "{}");
    before.take_only("none");
    before.hang_up();
    watched.until_pods(&["web-a", "web-b"]).await;
    until("a watch", async || api.requests(Verb::Watch, "deployments") >= 1).await;
    let (listed, watches) = (api.times(Verb::List, "deployments"), api.times(Verb::Watch, "deployments"));
    assert!(listed[0] < watches[0], "positions of another place mean nothing");
}

/// Whether a process is there and no mere entry of one that has ended.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_and_tried_again() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("good");
    let script =
        format!("if [ \"$runs\" -lt 3 ]; then sleep 1000 & echo $! >> hung; wait; fi\n{}", answer(&token("good")));
    folder.write(api.address, &folder.user_of(&script));
    // Long enough for the third one, which answers, on a machine that has other things to do.
    let cluster = folder.cluster_whose_command_has(Duration::from_secs(5));
    let hub = cluster.watch(Retention::default(), None).0;
    for words in ["takes too long", "did not finish within"] {
        until_connection(&hub, words, |now| is_stale(now, words)).await;
    }
    until_live(&hub).await;
    assert_eq!(folder.runs(), 3);
    let hung = std::fs::read_to_string(folder.0.path().join("hung")).unwrap();
    assert_eq!(hung.lines().count(), 2);
    until("what it started has ended", async || !hung.lines().any(runs)).await;
}

#[tokio::test]
async fn only_the_first_attempt_asks_people_where_several_clusters_are_watched() {
    for (asks_once, expected) in [(true, [true, false, false]), (false, [true, true, true])] {
        let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
        api.take_only("good");
        let script = "printf '%s\\n' \"$KUBERNETES_EXEC_INFO\" >> asked\n[ \"$runs\" = 3 ] || exit 3\n".to_owned()
            + &answer(&token("good"));
        folder.write(api.address, &folder.user_of(&script).replace("Never", "IfAvailable"));
        let mut cluster = folder.cluster_whose_command_has(Duration::from_secs(5));
        cluster.credentials = cluster.credentials.asking_people(true);
        cluster.asks_once = asks_once;
        let hub = cluster.watch(Retention::default(), None).0;
        until_live(&hub).await;
        let asked = std::fs::read_to_string(folder.0.path().join("asked")).unwrap();
        let asked: Vec<bool> = asked.lines().map(|line| line.contains(r#""interactive":true"#)).collect();
        assert_eq!(asked, expected);
    }
}

#[tokio::test]
async fn a_kubeconfig_that_is_mended_while_a_cluster_waits_for_its_first_credentials_is_read_again() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("good");
    folder.write(api.address, &folder.user_of("exit 3"));
    let hub = folder.cluster().watch(Retention::default(), None).0;
    until_connection(&hub, "what is wrong", |now| is_stale(now, "failed (exit status: 3)")).await;
    folder.write(api.address, &token("good"));
    until_live(&hub).await;
}

#[tokio::test]
async fn a_kubeconfig_that_is_gone_as_soon_as_it_is_read_is_enough() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    folder.write(api.address, "{}");
    let wanted = folder.cluster();
    std::fs::remove_file(folder.kubeconfig()).unwrap();
    until_live(&wanted.watch(Retention::default(), None).0).await;
}

#[tokio::test]
async fn where_others_reach_it_no_command_is_run_whenever_the_kubeconfig_names_it() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("good");
    let command = folder.user_of(&answer(&token("good")));
    folder.write(api.address, &command);
    let cluster = folder.cluster().without_commands();
    let hub = cluster.watch(Retention::default(), None).0;
    let refused = "runs none unless it is started with --allow-exec-plugins";
    until_connection(&hub, "it is refused", |now| is_stale(now, refused)).await;
    folder.write(api.address, &token("good"));
    until_live(&hub).await;
    // Another one that the kubeconfig names later, when its token is good no more.
    folder.write(api.address, &command);
    api.take_only("better");
    api.hang_up();
    until_connection(&hub, "it is refused again", |now| is_stale(now, "refused")).await;
    until("it is asked with what it has", async || api.refusals() > 3).await;
    // The same of an old kind, which the client library would run.
    let script = folder.0.path().join("command").display().to_string();
    let provider = serde_json::json!({ "name": "gcp", "config": { "cmd-path": "sh", "cmd-args": script } });
    folder.write(api.address, &serde_json::json!({ "auth-provider": provider }).to_string());
    let cluster = folder.cluster().without_commands();
    let old = cluster.watch(Retention::default(), None).0;
    until_connection(&old, "it is refused", |now| is_stale(now, refused)).await;
    assert_eq!(folder.runs(), 0);
    folder.write(api.address, &token("better"));
    until_live(&hub).await;
    until_live(&old).await;
}

#[tokio::test]
async fn a_token_that_the_kubeconfig_names_goes_before_its_command() {
    let (api, folder) = (shop_of(1, &["web-a"]).await, Folder::new());
    api.take_only("written");
    let file = folder.0.path().join("token");
    std::fs::write(&file, "written").unwrap();
    let command = folder.user_of(&answer(&token("fetched")));
    for written in [r#""token":"written""#.to_owned(), format!(r#""tokenFile":"{}""#, file.display())] {
        folder.write(api.address, &format!("{{{written},{}", &command[1..]));
        folder.watch().await.until_pods(&["web-a"]).await;
        assert_eq!((folder.runs(), api.refusals()), (0, 0), "{written}");
    }
}

#[test]
fn a_context_that_is_named_twice_is_watched_once_and_two_clusters_of_one_name_are_refused() {
    let (one, other) = (Folder::new(), Folder::new());
    for folder in [&one, &other] {
        folder.write_text(
            r#"{"apiVersion":"v1","kind":"Config","current-context":"a",
            "contexts":[{"name":"a","context":{"cluster":"c","user":"u"}},{"name":"b","context":{"cluster":"c","user":"u"}}],
            "clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:9"}}],"users":[{"name":"u","user":{}}]}"#,
        );
    }
    let asked = Clusters::default();
    let cluster = |folder: &Folder, context: &str| config::Cluster {
        kubeconfig: Some(folder.kubeconfig()),
        context: Some(context.to_owned()),
        name: Some("shop".to_owned()),
        ..config::Cluster::default()
    };
    let watched = |folder, context| {
        let file = Config { clusters: vec![cluster(&one, "a"), cluster(folder, context)], ..Config::default() };
        clusters::cluster_configs(&asked, &[], &file).map(|all| all.len()).map_err(|why| why.to_string())
    };
    assert_eq!(watched(&one, "a"), Ok(1));
    for (folder, context) in [(&one, "b"), (&other, "a")] {
        let refused = watched(folder, context).unwrap_err();
        assert!(refused.starts_with("two clusters would be named \"shop\""), "{refused}");
    }
}

#[test]
fn a_usual_kubeconfig_that_cannot_be_read_is_not_as_if_there_was_none() {
    let (without, with) = (Folder::new(), Folder::new());
    // There is something of that name, and it is no file.
    std::fs::create_dir_all(with.0.path().join(".kube").join("config")).unwrap();
    for (home, says) in [(&without, "no kubeconfig found"), (&with, "cannot read the kubeconfig")] {
        let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_rollcast"));
        check.args(["check", "--no-history"]).env("HOME", home.0.path());
        let said = check.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(says), "{said}");
    }
}
