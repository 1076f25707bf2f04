//! Commands for people to run. Rollcast itself runs none: it only reads.

use serde::{Deserialize, Serialize};

use crate::assess::Remedy;
use crate::model::Deployment;
use crate::words::{count, shell_word};

/// A command for people to run, and what it does or shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command {
    /// Its effect, or what it shows: "Undo this rollout".
    pub what: String,
    /// The command, ready to copy: "kubectl --namespace shop rollout undo deployment/web".
    pub command: String,
    /// It changes what is in the cluster; others show something.
    pub changes_cluster: bool,
}

impl Command {
    /// A command of kubectl in a namespace that shows something. `rest` is what follows, quoted where a shell needs it.
    pub fn kubectl(what: impl Into<String>, namespace: &str, rest: &str) -> Self {
        let command = format!("kubectl --namespace {} {rest}", shell_word(namespace));
        Self { what: what.into(), command, changes_cluster: false }
    }
}

/// A way out as a command, and what it does.
pub fn remedy(way: &Remedy, deployment: &Deployment) -> Command {
    let name = shell_word(&deployment.name);
    let describe = |kind: &str, name: &str| {
        (format!("Show details of the {kind}"), format!("describe {} {}", kind.to_ascii_lowercase(), shell_word(name)))
    };
    let (what, rest) = match way {
        Remedy::Resume => ("Resume this rollout".to_owned(), format!("rollout resume deployment/{name}")),
        Remedy::Undo { to: None } => ("Undo this rollout".to_owned(), format!("rollout undo deployment/{name}")),
        Remedy::Undo { to: Some(revision) } => (
            format!("Go back to revision {revision}"),
            format!("rollout undo deployment/{name} --to-revision={revision}"),
        ),
        Remedy::ScaleBack { replicas } => (
            format!("Scale back to {}", count(*replicas, "replica")),
            format!("scale deployment/{name} --replicas={replicas}"),
        ),
        Remedy::ShowQuota => ("Show the quota".to_owned(), "describe resourcequota".to_owned()),
        Remedy::ShowLogs { pod, container, is_previous } => {
            let container =
                container.as_ref().map(|name| format!(" --container={}", shell_word(name))).unwrap_or_default();
            let previous = if *is_previous { " --previous" } else { "" };
            (
                "Show the logs of the container that ended".to_owned(),
                format!("logs {}{container}{previous}", shell_word(pod)),
            )
        }
        Remedy::ShowPod(pod) => describe("pod", pod),
        Remedy::ShowNode(node) => describe("node", node),
        Remedy::ShowSet(set) => describe("ReplicaSet", set),
        Remedy::ShowDeployment => describe("Deployment", &deployment.name),
        Remedy::ShowNamespace => {
            let command = format!("kubectl get namespace {}", shell_word(&deployment.namespace));
            return Command { what: "Show the namespace".to_owned(), command, changes_cluster: false };
        }
    };
    let changes_cluster = matches!(way, Remedy::Resume | Remedy::Undo { .. } | Remedy::ScaleBack { .. });
    Command { changes_cluster, ..Command::kubectl(what, &deployment.namespace, &rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_a_cluster_is_told_from_what_shows_it() {
        let changes = |way: &Remedy| remedy(way, &Deployment::default()).changes_cluster;
        for way in
            [Remedy::Undo { to: Some(3) }, Remedy::Undo { to: None }, Remedy::Resume, Remedy::ScaleBack { replicas: 6 }]
        {
            assert!(changes(&way), "{way:?}");
        }
        for way in [Remedy::ShowPod("rollout-undo-1".to_owned()), Remedy::ShowDeployment, Remedy::ShowNamespace] {
            assert!(!changes(&way), "{way:?}");
        }
    }
}
