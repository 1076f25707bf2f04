//! The playground as its strip shows it: the story, and the actions on the Deployment, each with its kubectl command. The server sends it
//! with the page and on each change.

use serde::{Deserialize, Serialize};

/// State of the playground.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Playground {
    /// Title of the story.
    pub title: String,
    /// Position in the story: "Step 2 of 4".
    pub step: String,
    /// The explanation of this step.
    pub sentence: String,
    /// The command of this step; empty if it has none.
    pub command: String,
    /// Whether it continues by itself.
    pub is_playing: bool,
    /// Stories to choose from: name and title.
    pub stories: Vec<(String, String)>,
    /// Actions that exist, also those that are not possible now.
    pub buttons: Vec<Button>,
    /// Pods to act on.
    pub pods: Vec<String>,
    /// Path of the kubeconfig.
    pub kubeconfig: String,
    /// Factor of its time to real time.
    pub speed: String,
    /// Seed of its randomness.
    pub seed: u64,
    /// Why the last action was refused; empty otherwise.
    pub refused: String,
    /// Address of the Deployment's page.
    pub page: String,
}

/// An action on the Deployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// Heading of its group.
    pub group: String,
    /// Name in forms and ids.
    pub action: String,
    /// Words on the button.
    pub label: String,
    /// The equivalent kubectl command; empty if it is not possible now.
    pub command: String,
    /// Whether it is possible now.
    pub is_possible: bool,
    /// Its input field: name, label, present value.
    pub field: Option<(String, String, String)>,
}

/// Response of the server to an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionResponse {
    /// State of the playground now.
    pub playground: Playground,
    /// Whether the Deployment was replaced: the page is of a deleted one.
    pub is_new: bool,
}

impl Playground {
    /// Returns whether a story plays, or waits for its next step.
    pub fn plays_story(&self) -> bool {
        !self.step.is_empty()
    }

    /// Describes the cluster, for pages that are not about the story.
    pub fn about(&self) -> &'static str {
        if self.plays_story() {
            "This cluster is simulated. Deployment web plays this story; the other Deployments get a new version now and then."
        } else {
            "This cluster is simulated. Open Deployment web to change it, or to choose a story."
        }
    }

    /// Describes the speed; empty if it is that of the viewer's clock.
    pub fn speed_said(&self) -> String {
        match self.speed.as_str() {
            "1" => String::new(),
            speed => format!(
                "Time in this cluster passes {speed} times as fast as yours; ages, durations and deadlines are in its time."
            ),
        }
    }

    /// Returns the headings of the groups of actions, in order.
    pub fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = self.buttons.iter().map(|button| button.group.clone()).collect();
        groups.dedup();
        groups
    }

    /// Returns the button of that name.
    pub fn button(&self, action: &str) -> Option<&Button> {
        self.buttons.iter().find(|button| button.action == action)
    }

    /// Encodes the playground as text, for events.
    #[cfg(feature = "ssr")]
    pub fn to_text(&self) -> String {
        crate::postcard_base64::encode(self)
    }
}

impl Button {
    /// Returns the command with the value of the field beside the button, and the selected pod (none: any).
    pub fn explained(&self, field: &str, pod: &str) -> String {
        let command = &self.command;
        let (field, name) = (field.trim(), self.field.as_ref().map(|(name, ..)| name.as_str()));
        match name {
            _ if command.is_empty() => String::new(),
            Some("replicas") if !field.is_empty() => with_word(command, "--replicas=", field),
            Some("revision") if !field.is_empty() => format!("{command} --to-revision={field}"),
            _ if !pod.is_empty()
                && ["kubectl delete pod ", "kubectl label pod "].iter().any(|of| command.starts_with(of)) =>
            {
                with_word(command, " pod ", pod)
            }
            _ => command.clone(),
        }
    }
}

/// Replaces the word after a mark in a command.
fn with_word(command: &str, mark: &str, word: &str) -> String {
    let Some((before, after)) = command.split_once(mark) else { return command.to_owned() };
    let rest = after.find(' ').and_then(|end| after.get(end..)).unwrap_or_default();
    format!("{before}{mark}{word}{rest}")
}

/// Returns the pod on which the buttons act: a pod opened since the last selection, else the selected one; none if it is gone. `chosen` is
/// the selected pod, and the pod that was open at the time of selection.
pub fn selected_pod(chosen: Option<&(String, String)>, opened: &str, pods: &[String]) -> String {
    let is_there = |name: &str| pods.iter().any(|pod| pod == name);
    let name = match chosen {
        Some((_, then)) if is_there(opened) && then != opened => opened,
        Some((pod, _)) => pod,
        None => opened,
    };
    if is_there(name) { name.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_says_its_command_with_what_was_entered() {
        let button = |command: &str, field: Option<&str>| Button {
            command: command.to_owned(),
            field: field.map(|name| (name.to_owned(), String::new(), String::new())),
            ..Button::default()
        };
        let scale = button("kubectl scale deployment/web --replicas=6 --timeout=1s", Some("replicas"));
        assert_eq!(scale.explained("2", "web-1"), "kubectl scale deployment/web --replicas=2 --timeout=1s");
        assert_eq!(scale.explained(" ", ""), scale.command);
        let undo = button("kubectl rollout undo deployment/web", Some("revision"));
        assert_eq!(undo.explained("3", ""), "kubectl rollout undo deployment/web --to-revision=3");
        let label = button("kubectl label pod web-1 app-", None);
        assert_eq!(label.explained("", "web-2"), "kubectl label pod web-2 app-");
        assert_eq!(label.explained("", ""), label.command);
        let delete = button("kubectl delete pod web-1", None);
        assert_eq!(delete.explained("", "web-2"), "kubectl delete pod web-2");
        assert_eq!(button("kubectl drain node-1", None).explained("", "web-2"), "kubectl drain node-1");
        assert_eq!(button("", Some("revision")).explained("3", ""), "");
    }

    #[test]
    fn an_opened_pod_is_meant_until_it_is_closed_or_another_one_is_chosen() {
        let pods = ["a", "b", "c"].map(str::to_owned);
        let chose = |pod: &str, then: &str| Some((pod.to_owned(), then.to_owned()));
        let meant = |chosen: Option<(String, String)>, opened: &str| selected_pod(chosen.as_ref(), opened, &pods);
        assert_eq!(meant(None, ""), "");
        assert_eq!(meant(None, "a"), "a");
        assert_eq!(meant(chose("b", ""), ""), "b");
        assert_eq!(meant(chose("b", ""), "a"), "a");
        assert_eq!(meant(chose("b", "a"), "a"), "b");
        assert_eq!(meant(chose("b", "a"), ""), "b");
        assert_eq!(meant(chose("", ""), "a"), "a");
        assert_eq!(meant(chose("", "a"), "a"), "");
        assert_eq!(meant(chose("b", ""), "Revision 2"), "b");
        assert_eq!(meant(chose("gone", ""), ""), "");
    }
}
