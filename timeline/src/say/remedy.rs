//! A way out in words: what a command does, and the command.

use super::command::Command;
use crate::assess::Way;
use crate::model::Deployment;
use crate::words::shell_word;

/// A command that is ready to copy, and what it does.
#[must_use]
pub fn remedy(way: &Way, deployment: &Deployment) -> Command {
    let name = shell_word(&deployment.name);
    let (what, rest) = match way {
        Way::Resume => ("Resume this rollout".to_owned(), format!("rollout resume deployment/{name}")),
        Way::Undo { to: None } => ("Undo this rollout".to_owned(), format!("rollout undo deployment/{name}")),
        Way::Undo { to: Some(revision) } => (
            format!("Go back to revision {revision}"),
            format!("rollout undo deployment/{name} --to-revision={revision}"),
        ),
        Way::ShowQuota => ("Show the quota".to_owned(), "describe resourcequota".to_owned()),
        Way::ShowLogs { pod, container, is_previous } => {
            let container =
                container.as_ref().map(|name| format!(" --container={}", shell_word(name))).unwrap_or_default();
            let previous = if *is_previous { " --previous" } else { "" };
            (
                "Show the logs of the container that ended".to_owned(),
                format!("logs {}{container}{previous}", shell_word(pod)),
            )
        }
        Way::ShowPod(pod) => ("Show details of the pod".to_owned(), format!("describe pod {}", shell_word(pod))),
        Way::ShowSet(set) => {
            ("Show details of the ReplicaSet".to_owned(), format!("describe replicaset {}", shell_word(set)))
        }
        Way::ShowDeployment => ("Show details of the Deployment".to_owned(), format!("describe deployment {name}")),
    };
    Command::kubectl(what, &deployment.namespace, &rest)
}
