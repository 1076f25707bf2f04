//! Role that grants all that Rollcast reads, ready to apply; shown while something is forbidden.

use leptos::prelude::*;

use crate::components::copy::CopyButton;
use crate::rollout::board::Board;

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: rollcast
rules:
- apiGroups: [apps]
  resources: [deployments, replicasets]
  verbs: [get, list, watch]
- apiGroups: [\"\"]
  resources: [pods, events]
  verbs: [get, list, watch]
";

/// The role, and a button that copies it.
#[component]
pub fn Role(
    /// The state of the Deployment's page, which this follows.
    board: Board,
) -> impl IntoView {
    let class = move || if board.connection.read().forbidden.is_empty() { "unused" } else { "banner" };
    view! {
        <div id="role" class=class>
            <details>
                <summary>"A role that grants all that Rollcast reads"</summary>
                <pre>{ROLE}</pre>
                <CopyButton text=ROLE/>
            </details>
        </div>
    }
}
