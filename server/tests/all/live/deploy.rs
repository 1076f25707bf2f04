//! The manifests for a cluster: they are what Kubernetes takes, and allow just what is asked.

use std::collections::BTreeSet;

use serde_json::Value;
use server::kube::access::Access;
use server::kube::review::{Reviewer, Subject, TokenSender};
use timeline::fact::Kind;
use tokio::sync::watch;

use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::{FakeApi, Verb, Watched, quick, shop};

/// Group, resource, verb.
type Allowed = BTreeSet<(String, String, String)>;

fn manifests() -> Vec<Value> {
    let text = include_str!("../../../../deploy/kubernetes.yaml");
    serde_saphyr::from_multiple::<Value>(text).unwrap()
}

fn texts(of: &Value) -> Vec<String> {
    of.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn role(manifests: &[Value], name: &str) -> Allowed {
    let role = manifests.iter().find(|it| it["kind"] == "ClusterRole" && it["metadata"]["name"] == name).unwrap();
    let mut allowed = Allowed::new();
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule.as_object().unwrap().len(), 3, "{rule}");
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let one = |verb: String| (group.clone(), resource.clone(), verb);
                allowed.extend(texts(&rule["verbs"]).into_iter().map(one));
            }
        }
    }
    allowed
}

/// What a request needs, by its path.
fn needed(path: &str, verb: &str) -> (String, String, String) {
    let parts: Vec<&str> = path.split('/').collect();
    let group = if parts[0] == "api" { "" } else { parts[1] };
    (group.to_owned(), (*parts.last().unwrap()).to_owned(), verb.to_owned())
}

#[test]
fn the_program_runs_as_nobody_and_everybody_cannot_read_its_keys() {
    let manifests = manifests();
    let pod = manifests.iter().find(|it| it["kind"] == "Deployment").unwrap();
    let pod = &pod["spec"]["template"]["spec"];
    let context = &pod["securityContext"];
    for name in ["runAsUser", "runAsGroup", "fsGroup"] {
        assert_eq!(context[name], 65_532, "{name}");
    }
    assert_eq!(context["runAsNonRoot"], true);
    let mode = &pod["volumes"][0]["secret"]["defaultMode"];
    let mode = mode.as_f64().unwrap();
    assert!(mode == 288.0 || mode == 440.0, "0440, as Kubernetes reads it or as YAML 1.2 does: {mode}");
}

#[tokio::test]
async fn the_roles_of_the_manifests_allow_what_is_asked_and_nothing_else() {
    let manifests = manifests();
    let api = shop().await;
    let _watched = Watched::with(Access::fixed(api.client(), quick()), &[]);
    for kind in Kind::ALL {
        let resource = kind.resource().split('.').next().unwrap();
        until("it is watched", async || api.requests(Verb::Watch, resource) > 0).await;
    }
    let asked = api.paths().into_iter().filter_map(|(verb, path)| match verb {
        Verb::List | Verb::Next => Some(needed(&path, "list")),
        Verb::Stream | Verb::Watch => Some(needed(&path, "watch")),
        Verb::Version => None, // everybody may ask that
    });
    assert_eq!(role(&manifests, "rollcast"), asked.collect());

    let api = FakeApi::start().await;
    let access = Access::fixed(api.client(), quick());
    let reviewer = Reviewer::new(watch::channel(Some(access)).1);
    // That server has no answer to them; what is asked is what counts.
    assert!(reviewer.may_list_pods(&Subject::default(), None).await.is_err());
    let _ = reviewer.review_token("a token", TokenSender::Unverified).await;
    let asked = api.paths().into_iter().map(|(_, path)| needed(&path, "create"));
    assert_eq!(role(&manifests, "rollcast-sign-in"), asked.collect());
}

/// Names of metrics in an expression.
fn metrics(expression: &str) -> BTreeSet<&str> {
    let names = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names.filter(|name| name.starts_with("rollcast_")).collect()
}

/// Brackets of an expression close in the order in which they open.
fn is_balanced(expression: &str) -> bool {
    let mut open = Vec::new();
    for c in expression.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(c) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_ask_for_metrics_that_exist() {
    let rules: Value =
        serde_saphyr::from_str(include_str!("../../../../deploy/chart/files/prometheus-rules.yaml")).unwrap();
    assert_eq!((&rules["apiVersion"], &rules["kind"]), (&"monitoring.coreos.com/v1".into(), &"PrometheusRule".into()));
    let api = shop().await;
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::keeping(&kubeconfig(&api, "fake"), folder.path());
    let text = get(&serving.address, "/metrics").await;
    serving.end();
    let mut asked = BTreeSet::new();
    for rule in rules["spec"]["groups"][0]["rules"].as_array().unwrap() {
        let alert = rule["alert"].as_str().unwrap();
        assert!(alert.starts_with("Rollcast"), "{alert}");
        let expression = rule["expr"].as_str().unwrap();
        assert!(is_balanced(expression), "{expression}");
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(["info", "warning", "critical"].contains(&severity), "{alert}: {severity}");
        for text in ["summary", "description"] {
            assert!(rule["annotations"][text].as_str().is_some_and(|text| text.ends_with('.')), "{alert}: {text}");
        }
        for name in metrics(expression) {
            let is_there = |line: &str| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "));
            assert!(text.lines().any(is_there), "{alert}: {name}");
            asked.insert(name.to_owned());
        }
        // Where no Events occur, they are listed again and again; the first scrape may come after the first list; a restart of the API
        // server ends the watch of each namespace once, and may let each one be listed again.
        let exact = match alert {
            "RollcastWatchesRestart" => {
                assert_eq!(rule["for"], "15m", "three times as long as one restart counts");
                "max by (cluster, kind) (increase(rollcast_watch_restarts_total[5m])) > 3"
            }
            "RollcastRelists" => {
                r#"max by (cluster, kind, reason) (sum_over_time((increase(rollcast_relists_total{reason!="requested"}[5m]) > bool 0)[1h:5m]) unless rollcast_relists_total{kind="Event",reason="mute"}) > 6"#
            }
            "RollcastGaps" => {
                "max by (cluster) (sum_over_time((increase(rollcast_gaps_total[5m]) > bool 0)[1h:5m])) > 2"
            }
            "RollcastObjectsSkipped" => {
                "max by (cluster, kind) ((increase(rollcast_malformed_objects_total[15m]) and last_over_time(rollcast_malformed_objects_total[15m] offset 15m)) or rollcast_malformed_objects_total) > 0"
            }
            _ => continue,
        };
        assert_eq!(expression, exact);
    }
    assert!(asked.len() >= 12, "{asked:?}");
}

#[test]
fn temporary_files_of_the_image_are_where_it_can_write() {
    let manifests = manifests();
    let of_deployment = manifests.iter().find(|it| it["kind"] == "Deployment").unwrap();
    let container = &of_deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let mounts = container["volumeMounts"].as_array().unwrap();
    let writable = mounts.iter().filter(|mount| mount["readOnly"] != true).map(|mount| &mount["mountPath"]);
    assert_eq!(writable.collect::<Vec<_>>(), ["/data"]);
    let image = include_str!("../../../../deploy/Containerfile");
    assert!(image.lines().any(|line| line == "ENV SQLITE_TMPDIR=/data"), "{image}");
}

#[test]
fn the_manifests_belong_together() {
    let manifests = manifests();
    let of = |kind: &str| manifests.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("ClusterRole").len(), of("ClusterRoleBinding").len());
    for binding in of("ClusterRoleBinding") {
        assert_eq!(binding["roleRef"]["name"], binding["metadata"]["name"]);
        assert_eq!(binding["subjects"][0]["name"], of("ServiceAccount")[0]["metadata"]["name"]);
    }
    let [deployment] = of("Deployment")[..] else { panic!("one Deployment") };
    let [service] = of("Service")[..] else { panic!("one Service") };
    let pod = &deployment["spec"]["template"];
    assert_eq!(pod["spec"]["serviceAccountName"], "rollcast");
    assert_eq!(pod["metadata"]["labels"], deployment["spec"]["selector"]["matchLabels"]);
    assert_eq!(pod["metadata"]["labels"], service["spec"]["selector"]);
    let container = &pod["spec"]["containers"][0];
    // What is set there is what the program reads.
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_rollcast")).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for variable in container["env"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        assert!(help.contains(&format!("[env: {name}=")), "{name}");
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        assert!(crate::common::addresses::patterns().contains(&path.to_owned()), "{path}");
    }
}
