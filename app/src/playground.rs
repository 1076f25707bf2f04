//! The playground as its strip shows it: the story that is told, and what can be done to the Deployment, each with its kubectl
//! command. Told by the server with the page and whenever it changes.

use serde::{Deserialize, Serialize};

/// State of the playground.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Playground {
    /// Title of the story.
    pub title: String,
    /// Where in the story: "Step 2 of 4".
    pub step: String,
    /// The explanation of this step.
    pub sentence: String,
    /// The command of this step, if any.
    pub command: String,
    /// It goes on by itself.
    pub is_playing: bool,
    /// Stories to choose from: name and title.
    pub stories: Vec<(String, String)>,
    /// Actions that are possible in principle.
    pub buttons: Vec<Button>,
    /// Pods to do it to.
    pub pods: Vec<String>,
    /// Where the kubeconfig is.
    pub kubeconfig: String,
    /// Factor of its time to real time.
    pub speed: String,
    /// Seed of its randomness.
    pub seed: u64,
    /// Why the last wish was refused; empty otherwise.
    pub refused: String,
    /// Address of the Deployment's page.
    pub page: String,
}

/// Something that can be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// Heading of the group that it stands in.
    pub group: String,
    /// Name in forms and ids.
    pub action: String,
    /// Words on the button.
    pub label: String,
    /// The kubectl command that does the same; empty when it makes no sense now.
    pub command: String,
    /// True if it makes sense now.
    pub is_possible: bool,
    /// A field beside it: name, label, present value.
    pub field: Option<(String, String, String)>,
}

/// Response of the server to an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionResponse {
    /// State of the playground now.
    pub playground: Playground,
    /// The Deployment is another one: the page is of one that is gone.
    pub is_new: bool,
}

impl Playground {
    /// A story plays, or waits for its next step.
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

    /// Describes a speed that is not that of the viewer's clock; empty for that one.
    pub fn speed_said(&self) -> String {
        match self.speed.as_str() {
            "1" => String::new(),
            speed => format!(
                "Time in this cluster passes {speed} times as fast as yours; ages, durations and deadlines are in its time."
            ),
        }
    }

    /// The headings of what can be done, in order.
    pub fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = self.buttons.iter().map(|button| button.group.clone()).collect();
        groups.dedup();
        groups
    }

    /// The button with that name.
    pub fn button(&self, action: &str) -> Option<&Button> {
        self.buttons.iter().find(|button| button.action == action)
    }

    /// As text, for events.
    #[cfg(feature = "ssr")]
    pub fn to_text(&self) -> String {
        crate::postcard_base64::encode(self)
    }
}

impl Button {
    /// The command with what stands in the field beside the button, and of the pod that is chosen (none: any).
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

/// A command with another word after a mark.
fn with_word(command: &str, mark: &str, word: &str) -> String {
    let Some((before, after)) = command.split_once(mark) else { return command.to_owned() };
    let rest = after.find(' ').and_then(|end| after.get(end..)).unwrap_or_default();
    format!("{before}{mark}{word}{rest}")
}

/// Which pod the buttons mean: one that was opened on the page since the viewer chose one, else the chosen one; none when it is
/// gone. `chosen` is a pod, and which one was opened when it was chosen.
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
