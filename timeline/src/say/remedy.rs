//! A way out in words: what a command does, and the command.

use super::command::Command;
use crate::assess::Remedy;
use crate::model::Deployment;
use crate::words::shell_word;

/// A command that is ready to copy, and what it does.
pub fn remedy(way: &Remedy, deployment: &Deployment) -> Command {
    let name = shell_word(&deployment.name);
    let (what, rest) = match way {
        Remedy::Resume => ("Resume this rollout".to_owned(), format!("rollout resume deployment/{name}")),
        Remedy::Undo { to: None } => ("Undo this rollout".to_owned(), format!("rollout undo deployment/{name}")),
        Remedy::Undo { to: Some(revision) } => (
            format!("Go back to revision {revision}"),
            format!("rollout undo deployment/{name} --to-revision={revision}"),
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
        Remedy::ShowPod(pod) => ("Show details of the pod".to_owned(), format!("describe pod {}", shell_word(pod))),
        Remedy::ShowNode(node) => {
            ("Show details of the node".to_owned(), format!("describe node {}", shell_word(node)))
        }
        Remedy::ShowSet(set) => {
            ("Show details of the ReplicaSet".to_owned(), format!("describe replicaset {}", shell_word(set)))
        }
        Remedy::ShowDeployment => ("Show details of the Deployment".to_owned(), format!("describe deployment {name}")),
    };
    Command::kubectl(what, &deployment.namespace, &rest)
}
