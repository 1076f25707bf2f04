//! Things done to a cluster through its API, in one namespace: the real control plane's and the simulated one's alike.

use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

/// Something done to both.
#[derive(Debug, Clone)]
pub enum Action {
    Image(&'static str),
    Kill(usize),
    Unlabel(usize),
    Label,
    DeleteReplicaSet,
    Scale(i64),
    Pause(bool),
    Undo(usize),
    Restart,
    Budget(Value, Value),
    HistoryLimit(i64),
    MinReadySeconds(i64),
}

/// A Deployment in one namespace of one of the two clusters.
#[derive(Clone)]
pub struct Side {
    pub client: Client,
    pub namespace: String,
    /// Its name; none begins with that of another in the same namespace.
    pub name: &'static str,
}

/// The Deployment and what belongs to it, or did.
pub struct Seen {
    pub deployment: Value,
    pub sets: Vec<Value>,
    pub pods: Vec<Value>,
}

pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

pub fn annotation(value: &Value, name: &str) -> String {
    value["metadata"]["annotations"][format!("deployment.kubernetes.io/{name}")].as_str().unwrap_or_default().to_owned()
}

pub fn controller(value: &Value) -> &str {
    let owners = value["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true).map_or("", |owner| text(owner, "/uid"))
}

pub fn is_deleting(value: &Value) -> bool {
    value["metadata"]["deletionTimestamp"].is_string()
}

pub fn revision(set: &Value) -> i64 {
    annotation(set, "revision").parse().unwrap_or_default()
}

impl Seen {
    /// Pods of the newest revision, by name; those first that are its own.
    pub fn mine(&self) -> Vec<&Value> {
        let newest = self.sets.iter().max_by_key(|set| revision(set)).map_or("", |set| text(set, "/metadata/uid"));
        let mut pods: Vec<&Value> =
            self.pods.iter().filter(|pod| controller(pod) == newest && !is_deleting(pod)).collect();
        pods.sort_by_key(|pod| text(pod, "/metadata/name").to_owned());
        pods
    }

    pub fn out_of_rotation(&self) -> Option<&Value> {
        self.pods.iter().filter(|pod| controller(pod).is_empty() && !is_deleting(pod)).min_by_key(|pod| {
            // The one that was made first is the same one in both clusters.
            (text(pod, "/metadata/creationTimestamp").to_owned(), text(pod, "/metadata/name").to_owned())
        })
    }
}

impl Side {
    pub async fn ask(&self, method: &str, path: &str, media: &str, body: &Value) -> Result<Value, u16> {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        let request = request.body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(status.code),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    pub fn path(&self, group: &str, resource: &str) -> String {
        format!("/{group}/namespaces/{}/{resource}", self.namespace)
    }

    pub async fn merge(&self, path: &str, body: Value) -> Result<Value, u16> {
        self.ask("PATCH", path, "application/merge-patch+json", &body).await
    }

    pub fn web(&self) -> String {
        self.path("apis/apps/v1", &format!("deployments/{}", self.name))
    }

    /// What there is now.
    pub async fn seen(&self) -> Result<Seen, u16> {
        let list = async |group: &str, resource: &str| {
            let found = self.ask("GET", &self.path(group, resource), "application/json", &Value::Null).await?;
            let is_mine = |item: &&Value| text(item, "/metadata/name").starts_with(&format!("{}-", self.name));
            Ok::<Vec<Value>, u16>(found["items"].as_array().unwrap().iter().filter(is_mine).cloned().collect())
        };
        let deployment = self.ask("GET", &self.web(), "application/json", &Value::Null).await?;
        Ok(Seen { deployment, sets: list("apis/apps/v1", "replicasets").await?, pods: list("api/v1", "pods").await? })
    }

    pub async fn perform(&self, action: &Action, seen: &Seen, step: usize) -> Result<(), u16> {
        let (web, nothing) = (self.web(), Value::Null);
        let pod = |pod: &Value| self.path("api/v1", &format!("pods/{}", text(pod, "/metadata/name")));
        let chosen = |index: &usize| {
            let mine = seen.mine();
            mine.get(index % mine.len().max(1)).map(|value| pod(value))
        };
        let done = match action {
            Action::Image(fate) => {
                let container = json!({ "name": "web", "image": format!("web:{fate}v{step}") });
                self.merge(&web, json!({ "spec": { "template": { "spec": { "containers": [container] } } } })).await
            }
            Action::Kill(index) => match chosen(index) {
                Some(pod) => self.ask("DELETE", &pod, "application/json", &nothing).await,
                None => return Ok(()),
            },
            Action::Unlabel(index) => match chosen(index) {
                Some(pod) => self.merge(&pod, json!({ "metadata": { "labels": { "app": null } } })).await,
                None => return Ok(()),
            },
            Action::Label => match seen.out_of_rotation() {
                Some(value) => self.merge(&pod(value), json!({ "metadata": { "labels": { "app": self.name } } })).await,
                None => return Ok(()),
            },
            Action::DeleteReplicaSet => match seen.sets.iter().max_by_key(|set| revision(set)) {
                Some(set) => {
                    let path = self.path("apis/apps/v1", &format!("replicasets/{}", text(set, "/metadata/name")));
                    self.ask("DELETE", &path, "application/json", &json!({ "propagationPolicy": "Background" })).await
                }
                None => return Ok(()),
            },
            Action::Scale(replicas) => {
                self.merge(&format!("{web}/scale"), json!({ "spec": { "replicas": replicas } })).await
            }
            Action::Pause(is_paused) => self.merge(&web, json!({ "spec": { "paused": is_paused } })).await,
            Action::Undo(index) => {
                let mut sets: Vec<&Value> = seen.sets.iter().collect();
                sets.sort_by_key(|set| revision(set));
                if sets.is_empty() {
                    return Ok(()); // deleted while paused: nobody makes it again
                }
                let mut template = sets[index % sets.len()]["spec"]["template"].clone();
                template["metadata"]["labels"].as_object_mut().unwrap().remove("pod-template-hash");
                let patch = json!([{ "op": "replace", "path": "/spec/template", "value": template }]);
                self.ask("PATCH", &web, "application/json-patch+json", &patch).await
            }
            Action::Restart => {
                let annotations = json!({ "kubectl.kubernetes.io/restartedAt": format!("step {step}") });
                self.merge(&web, json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } }))
                    .await
            }
            Action::Budget(surge, unavailable) => {
                let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
                self.merge(
                    &web,
                    json!({ "spec": { "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling } } }),
                )
                .await
            }
            Action::HistoryLimit(limit) => self.merge(&web, json!({ "spec": { "revisionHistoryLimit": limit } })).await,
            Action::MinReadySeconds(seconds) => {
                self.merge(&web, json!({ "spec": { "minReadySeconds": seconds } })).await
            }
        };
        done.map(drop)
    }

    pub async fn begin(&self, replicas: i64) {
        let namespace = json!({ "metadata": { "name": self.namespace } });
        self.ask("POST", "/api/v1/namespaces", "application/json", &namespace).await.unwrap();
        self.create(replicas).await.unwrap();
    }

    /// Makes the Deployment.
    pub async fn create(&self, replicas: i64) -> Result<Value, u16> {
        let labels = json!({ "app": self.name });
        let deployment = json!({
            "metadata": { "name": self.name },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web:v0" }] } },
            },
        });
        self.ask("POST", &self.path("apis/apps/v1", "deployments"), "application/json", &deployment).await
    }

    pub async fn end(&self) {
        let _ = self
            .ask("DELETE", &format!("/api/v1/namespaces/{}", self.namespace), "application/json", &Value::Null)
            .await;
    }
}

pub async fn client(kubeconfig: Kubeconfig) -> Client {
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}
