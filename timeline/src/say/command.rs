//! Commands for somebody's terminal. None is ever run: Rollcast only reads.

use serde::{Deserialize, Serialize};

use crate::words::shell_word;

/// A command for somebody's terminal, and what it does or shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command {
    /// Its effect, or what it shows: "Undo this rollout".
    pub what: String,
    /// The command, ready to copy: "kubectl --namespace shop rollout undo deployment/web".
    pub command: String,
}

impl Command {
    /// A command of kubectl in a namespace. `rest` is what follows, quoted where a shell needs it.
    pub fn kubectl(what: impl Into<String>, namespace: &str, rest: &str) -> Self {
        Self { what: what.into(), command: format!("kubectl --namespace {} {rest}", shell_word(namespace)) }
    }

    /// Whether it changes what is in the cluster; others show something.
    pub fn changes_cluster(&self) -> bool {
        ["undo", "resume"].iter().any(|verb| self.command.contains(&format!(" rollout {verb} ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_a_cluster_is_told_from_what_shows_it() {
        let changes = |rest: &str| Command::kubectl("", "shop", rest).changes_cluster();
        assert!(changes("rollout undo deployment/web --to-revision=3"));
        assert!(changes("rollout resume deployment/web"));
        for shows in ["rollout history deployment/undo --revision=3", "logs undo", "describe pod rollout-undo-1"] {
            assert!(!changes(shows), "{shows}");
        }
    }
}
