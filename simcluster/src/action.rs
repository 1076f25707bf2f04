//! Actions of people on a Deployment, each with its kubectl command. The playground's buttons, stories, and tests against a real
//! cluster use them.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use serde_json::{Value, json};

use crate::controller::deployment::sets::{self, HASH, REVISION};
use crate::node;
use crate::object::{Key, Kind, Object, Resource};
use crate::world::{DeleteOptions, Write};
use crate::{ApiError, World, meta, strategic_patch, time};

/// Name of the playground's quota.
pub const QUOTA: &str = "pods";
/// Number of pods that the quota allows when it must not limit anything.
pub const PLENTY: u32 = 100;

/// An action on a Deployment or on an object that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sets another image for the first container.
    Image(String),
    /// Deletes a pod.
    KillPod(String),
    /// Removes the label from a pod by which the Deployment selects it.
    Unlabel(String),
    /// Adds that label to a pod again.
    Label(String),
    /// Deletes a ReplicaSet.
    DeleteReplicaSet(String),
    /// Sets the number of replicas.
    Scale(i32),
    /// Pauses the rollout.
    Pause,
    /// Resumes the rollout.
    Resume,
    /// Rolls back to a revision, or to the previous one.
    Undo(Option<i64>),
    /// Replaces all pods by new ones with the same image.
    Restart,
    /// Applies a strategic merge patch that changes the pods' programs and probes.
    Patch(Value),
    /// Creates a ConfigMap with one entry.
    MakeConfigMap(String),
    /// Limits the number of pods of the namespace.
    Quota(u32),
    /// Removes a node.
    LoseNode(String),
    /// Adds a node, or adds it again.
    AddNode(String),
    /// Cordons a node and evicts its pods, unless one of them has no controller.
    Drain(String),
    /// Uncordons a node.
    Uncordon(String),
}

/// Returns the label that selects the pods of a Deployment: the first one of its selector.
fn label(deployment: &Deployment) -> Option<(String, String)> {
    let labels = deployment.spec.as_ref()?.selector.match_labels.as_ref()?;
    labels.iter().next().map(|(name, value)| (name.clone(), value.clone()))
}

/// Returns a quota on the number of pods.
pub fn quota(namespace: &str, pods: u32) -> Value {
    json!({ "metadata": { "name": QUOTA, "namespace": namespace }, "spec": { "hard": { "pods": pods.to_string() } } })
}

/// Quotes a word of a command for a shell, if needed: names of objects never need quotes.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,".contains(&byte);
    if text.bytes().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns the manifest that adds a node again, with the fields that kubectl needs.
fn node_manifest(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } })
}

impl Action {
    /// Returns the kubectl command for the action, as a line for a shell; the namespace is named unless it is
    /// "default".
    pub fn command(&self, world: &World, of: &Key) -> String {
        let (name, deployment) = (format!("deployment/{}", of.name), world.get::<Deployment>(of).unwrap_or_default());
        let (label, value) = label(&deployment).unwrap_or_default();
        let container = deployment.spec.and_then(|spec| spec.template.spec?.containers.into_iter().next());
        let container = container.map(|container| container.name).unwrap_or_default();
        let mut command = match self {
            Self::Image(image) => format!("kubectl set image {name} {}", quoted(&format!("{container}={image}"))),
            Self::KillPod(pod) => format!("kubectl delete pod {pod}"),
            Self::Unlabel(pod) => format!("kubectl label pod {pod} {label}-"),
            Self::Label(pod) => format!("kubectl label pod {pod} {label}={value}"),
            Self::DeleteReplicaSet(set) => format!("kubectl delete replicaset {set}"),
            Self::Scale(replicas) => format!("kubectl scale {name} --replicas={replicas}"),
            Self::Pause => format!("kubectl rollout pause {name}"),
            Self::Resume => format!("kubectl rollout resume {name}"),
            Self::Undo(None) => format!("kubectl rollout undo {name}"),
            Self::Undo(Some(revision)) => format!("kubectl rollout undo {name} --to-revision={revision}"),
            Self::Restart => format!("kubectl rollout restart {name}"),
            Self::Patch(patch) => format!("kubectl patch {name} --patch {}", quoted(&patch.to_string())),
            Self::MakeConfigMap(map) => format!("kubectl create configmap {map} --from-literal=greeting=hello"),
            Self::Quota(pods) => {
                let patch = json!({ "spec": { "hard": { "pods": pods.to_string() } } }).to_string();
                format!("kubectl patch resourcequota {QUOTA} --type=merge -p {}", quoted(&patch))
            }
            Self::LoseNode(node) => format!("kubectl delete node {node}"),
            Self::AddNode(node) => {
                format!("echo {} | kubectl apply -f -", quoted(&node_manifest(node).to_string()))
            }
            Self::Drain(node) => format!("kubectl drain {node}"),
            Self::Uncordon(node) => format!("kubectl uncordon {node}"),
        };
        let is_of_cluster = matches!(self, Self::LoseNode(_) | Self::AddNode(_) | Self::Drain(_) | Self::Uncordon(_));
        if of.namespace != "default" && !is_of_cluster {
            command += &format!(" --namespace {}", of.namespace);
        }
        command
    }

    /// Performs the action with the same effect as the command.
    pub fn perform(&self, world: &mut World, of: &Key) -> Result<(), ApiError> {
        let usual = DeleteOptions::default();
        match self {
            Self::Image(image) => edit(world, of, |deployment| {
                let pod = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut());
                if let Some(container) = pod.and_then(|pod| pod.containers.first_mut()) {
                    container.image = Some(image.clone());
                }
            }),
            Self::KillPod(pod) => world.delete(Resource::Pod, &Key::new(&of.namespace, pod), &usual).map(drop),
            Self::DeleteReplicaSet(set) => {
                world.delete(Resource::ReplicaSet, &Key::new(&of.namespace, set), &usual).map(drop)
            }
            Self::LoseNode(node) => world.delete(Resource::Node, &Key::new("", node), &usual).map(drop),
            Self::Unlabel(pod) | Self::Label(pod) => {
                let (label, value) = label(&deployment(world, of)?).unwrap_or_default();
                let key = Key::new(&of.namespace, pod);
                let mut pod = world.get::<Pod>(&key).ok_or_else(|| ApiError::not_found(Resource::Pod, &key.name))?;
                let labels = pod.metadata.labels.get_or_insert_default();
                if matches!(self, Self::Label(_)) {
                    labels.insert(label, value);
                } else {
                    labels.remove(&label);
                }
                world.update(pod.into_object(), Write::Spec).map(drop)
            }
            Self::Scale(replicas) => edit(world, of, |deployment| {
                deployment.spec.get_or_insert_default().replicas = Some(*replicas);
            }),
            Self::Pause => edit(world, of, |deployment| deployment.spec.get_or_insert_default().paused = Some(true)),
            Self::Resume => edit(world, of, |deployment| deployment.spec.get_or_insert_default().paused = None),
            Self::Undo(revision) => undo(world, of, *revision),
            // The time changes the template, as with kubectl.
            Self::Restart => {
                let time = time::second(world.now_millis()).0.to_string();
                edit(world, of, |deployment| {
                    let template = &mut deployment.spec.get_or_insert_default().template;
                    let annotations = template.metadata.get_or_insert_default().annotations.get_or_insert_default();
                    annotations.insert("kubectl.kubernetes.io/restartedAt".to_owned(), time);
                })
            }
            Self::Patch(patch) => {
                let mut value = deployment(world, of)?.into_object().to_value();
                strategic_patch::apply(&mut value, patch);
                world.update(Object::read(Resource::Deployment, value)?, Write::Spec).map(drop)
            }
            Self::MakeConfigMap(map) => {
                let meta = json!({ "name": map, "namespace": of.namespace });
                let made = json!({ "metadata": meta, "data": { "greeting": "hello" } });
                world.create(Object::read(Resource::ConfigMap, made)?).map(drop)
            }
            Self::Quota(pods) => {
                let key = Key::new(&of.namespace, QUOTA);
                let object = Object::read(Resource::ResourceQuota, quota(&of.namespace, *pods))?;
                match world.get::<ResourceQuota>(&key) {
                    Some(_) => world.update(object, Write::Spec).map(drop),
                    None => world.create(object).map(drop),
                }
            }
            Self::AddNode(name) => world.create(Object::read(Resource::Node, node_manifest(name))?).map(drop),
            Self::Drain(node) => drain(world, node),
            Self::Uncordon(node) => cordon(world, node, false),
        }
    }
}

/// Cordons or uncordons a node.
fn cordon(world: &mut World, name: &str, is_cordoned: bool) -> Result<(), ApiError> {
    let node = world.get::<Node>(&Key::new("", name));
    let mut node = node.ok_or_else(|| ApiError::not_found(Resource::Node, name))?;
    node.spec.get_or_insert_default().unschedulable = is_cordoned.then_some(true);
    world.update(node.into_object(), Write::Spec).map(drop)
}

/// Cordons a node and evicts its pods, unless one of them would not be replaced: kubectl requires `--force` then.
fn drain(world: &mut World, node: &str) -> Result<(), ApiError> {
    cordon(world, node, true)?;
    let is_bare = |pod: &&Pod| !meta::is_finished(pod) && meta::controller(&pod.metadata).is_none();
    let bare = world.store().pods_on(node).filter(is_bare).map(|pod| Key::of(&pod.metadata));
    let bare: Vec<String> = bare.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    if !bare.is_empty() {
        let pods = bare.join(", ");
        let why = format!("cannot delete Pods that declare no controller (use --force to override): {pods}");
        return Err(ApiError::bad_request(why));
    }
    let pods: Vec<Key> = world.store().pods_on(node).map(|pod| Key::of(&pod.metadata)).collect();
    pods.iter().try_for_each(|pod| world.evict(pod, &DeleteOptions::default()))
}

fn deployment(world: &World, of: &Key) -> Result<Deployment, ApiError> {
    world.get::<Deployment>(of).ok_or_else(|| ApiError::not_found(Resource::Deployment, &of.name))
}

/// Changes a Deployment's spec or metadata.
pub fn edit(world: &mut World, of: &Key, change: impl FnOnce(&mut Deployment)) -> Result<(), ApiError> {
    let mut deployment = deployment(world, of)?;
    change(&mut deployment);
    world.update(deployment.into_object(), Write::Spec).map(drop)
}

/// Returns the ReplicaSets of a Deployment with their revisions, oldest first.
pub fn revisions(world: &World, of: &Key) -> Vec<(i64, ReplicaSet)> {
    let uid = world.store().typed::<Deployment>(of).and_then(|deployment| deployment.metadata.uid.clone());
    let sets = world.store().all::<ReplicaSet>(Some(&of.namespace));
    let mine = sets.filter(|set| meta::is_controlled_by(&set.metadata, uid.as_deref()));
    let revision = |set: &ReplicaSet| meta::annotation(&set.metadata, REVISION)?.parse().ok();
    let mut all: Vec<(i64, ReplicaSet)> = mine.filter_map(|set| Some((revision(set)?, set.clone()))).collect();
    all.sort_by_key(|(revision, _)| *revision);
    all
}

/// Restores the template and annotations of a revision's ReplicaSet, without the hash, as `kubectl rollout undo` does.
fn undo(world: &mut World, of: &Key, revision: Option<i64>) -> Result<(), ApiError> {
    let deployment = deployment(world, of)?;
    if deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true) {
        let why = format!(
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again: {}",
            of.name
        );
        return Err(ApiError::bad_request(why));
    }
    let all = revisions(world, of);
    let found = match revision {
        Some(asked) => all.iter().find(|(revision, _)| *revision == asked),
        None => all.iter().rev().nth(1),
    };
    let Some((_, set)) = found else {
        return Err(ApiError::bad_request(format!("no rollout history found for deployment {:?}", of.name)));
    };
    let mut template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(HASH);
    }
    if deployment.spec.is_some_and(|spec| spec.template == template) {
        return Ok(());
    }
    edit(world, of, |deployment| {
        deployment.spec.get_or_insert_default().template = template;
        let annotations = deployment.metadata.annotations.get_or_insert_default();
        annotations.retain(|name, _| sets::is_own(name));
        let of_set = set.metadata.annotations.clone().unwrap_or_default();
        annotations.extend(of_set.into_iter().filter(|(name, _)| !sets::is_own(name)));
    })
}

/// Objects on which actions are possible now.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Pods of the Deployment that are not being deleted, ready ones first.
    pub pods: Vec<String>,
    /// Pods that belonged to the Deployment and no longer have its label.
    pub out_of_rotation: Vec<String>,
    /// The ReplicaSet of the newest revision.
    pub newest: Option<String>,
    /// Revisions to which a rollback is possible.
    pub revisions: Vec<i64>,
    /// Nodes that take pods.
    pub nodes: Vec<String>,
    /// Nodes that were drained.
    pub drained: Vec<String>,
    /// Configured nodes that do not exist.
    pub lost: Vec<String>,
    /// `spec.replicas`.
    pub replicas: i32,
    /// `spec.paused`.
    pub is_paused: bool,
    /// Image of the first container.
    pub image: String,
    /// Pods that the quota allows.
    pub quota: u32,
    /// Pods in the namespace that the quota counts.
    pub counted: u32,
}

impl Choice {
    /// Collects the present options; `None` if the Deployment does not exist.
    pub fn of(world: &World, of: &Key) -> Option<Self> {
        let deployment = world.store().typed::<Deployment>(of)?;
        let spec = deployment.spec.clone().unwrap_or_default();
        let all = revisions(world, of);
        let mut pods: Vec<(bool, String)> = Vec::new();
        for (_, set) in &all {
            let uid = set.metadata.uid.clone().unwrap_or_default();
            let mine = world.store().pods_of(&uid).filter_map(|stored| Pod::of(&stored.object).cloned());
            pods.extend(
                mine.filter(meta::is_active).map(|pod| (!meta::is_ready(&pod), pod.metadata.name.unwrap_or_default())),
            );
        }
        pods.sort();
        let (label, _) = label(deployment).unwrap_or_default();
        let prefix = format!("{}-", of.name);
        let is_out = |pod: &&Pod| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let is_his = name.starts_with(&prefix) && meta::labels(&pod.metadata).contains_key(HASH);
            is_his && !meta::labels(&pod.metadata).contains_key(&label) && meta::is_active(pod)
        };
        let name = |pod: &Pod| pod.metadata.name.clone().unwrap_or_default();
        let orphans = world.store().orphans(&of.namespace).filter_map(|stored| Pod::of(&stored.object));
        let there: Vec<&Node> = world.store().all::<Node>(None).collect();
        let named = |is_it: fn(&Node) -> bool| {
            let found = there.iter().filter(|node| is_it(node));
            found.filter_map(|node| node.metadata.name.clone()).collect()
        };
        let is_there = |name: &String| there.iter().any(|node| node.metadata.name.as_ref() == Some(name));
        let quota = world.store().typed::<ResourceQuota>(&Key::new(&of.namespace, QUOTA));
        let hard = quota.and_then(|quota| quota.spec.as_ref()?.hard.as_ref()?.get("pods")?.0.parse().ok());
        let newest = all.last();
        let containers = spec.template.spec.as_ref().map(|spec| &spec.containers[..]).unwrap_or_default();
        let counted = world.store().all::<Pod>(Some(&of.namespace)).filter(|pod| !meta::is_finished(pod)).count();
        Some(Self {
            pods: pods.into_iter().map(|(_, name)| name).collect(),
            out_of_rotation: orphans.filter(is_out).map(name).collect(),
            newest: newest.and_then(|(_, set)| set.metadata.name.clone()),
            revisions: all.iter().rev().skip(1).map(|(revision, _)| *revision).collect(),
            lost: world.settings.nodes.iter().filter(|node| !is_there(node)).cloned().collect(),
            nodes: named(|node| node::is_ready(node) && !node::is_cordoned(node)),
            drained: named(node::is_cordoned),
            replicas: meta::desired(deployment),
            is_paused: spec.paused == Some(true),
            image: containers.first().and_then(|container| container.image.clone()).unwrap_or_default(),
            quota: hard.unwrap_or(PLENTY),
            counted: u32::try_from(counted).unwrap_or(u32::MAX),
        })
    }

    /// Returns the next version of the current image. `fate` is the word in its tag that decides the behavior of its pods:
    /// `web:v4`, `web:crash-v4`.
    pub fn next_image(&self, fate: &str) -> String {
        let (name, tag) = self.image.rsplit_once(':').unwrap_or((&self.image, "v1"));
        let number: u32 = tag.rsplit('v').next().and_then(|number| number.parse().ok()).unwrap_or(1);
        let word = if fate.is_empty() { String::new() } else { format!("{fate}-") };
        format!("{name}:{word}v{}", number + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_up_whatever_their_fate() {
        let choice = |image: &str| Choice { image: image.to_owned(), ..Choice::default() };
        assert_eq!(choice("web:v1").next_image(""), "web:v2");
        assert_eq!(choice("web:crash-v9").next_image("never"), "web:never-v10");
        assert_eq!(choice("web").next_image(""), "web:v2");
    }
}
