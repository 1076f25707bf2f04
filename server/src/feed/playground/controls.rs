//! The buttons: the action of each, and its command.

use std::collections::BTreeMap;

use app::playground::Button;
use simcluster::action::{Action, Choice, PLENTY};
use simcluster::{Key, World};

/// The fields of a form.
pub type Form = BTreeMap<String, String>;

/// Headings, in order.
const ROLL_OUT: &str = "Roll out";
const PODS: &str = "Pods";
const SIZE: &str = "Size and pace";
const BREAK: &str = "Break things";

/// Buttons with a field.
const UNDO: &str = "undo";
const SCALE: &str = "scale";

/// Heading, name and label of a button, and its action; `None` if that is not possible.
type Control = (&'static str, &'static str, &'static str, fn(&Input<'_>) -> Option<Action>);

struct Input<'i> {
    choice: &'i Choice,
    form: &'i Form,
}

impl Input<'_> {
    fn field(&self, field: &str) -> Option<&str> {
        self.form.get(field).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// Returns the named pod, or the first one.
    fn pod(&self, among: &[String]) -> Option<String> {
        match self.field("pod") {
            Some(pod) => among.iter().find(|known| *known == pod).cloned(),
            None => among.first().cloned(),
        }
    }

    /// Returns a node that can be removed: one always stays.
    fn removable_node(&self) -> Option<String> {
        self.choice.nodes.get(1..)?.last().cloned()
    }

    fn image(&self, fate: &str) -> Option<Action> {
        Some(Action::Image(self.choice.next_image(fate)))
    }
}

/// Every button, in order.
const BUTTONS: [Control; 19] = [
    (ROLL_OUT, "version", "Next version", |input| input.image("")),
    (ROLL_OUT, "slow", "Slow to start", |input| input.image("slow")),
    (ROLL_OUT, "never", "Never ready", |input| input.image("never")),
    (ROLL_OUT, "missing", "Bad image", |input| input.image("missing")),
    (ROLL_OUT, "crash", "Crash", |input| input.image("crash")),
    (ROLL_OUT, UNDO, "Undo to", |input| {
        let is_possible = !input.choice.is_paused && !input.choice.revisions.is_empty();
        let revision = input.field("revision").map(str::parse).transpose().ok()?;
        is_possible.then_some(Action::Undo(revision))
    }),
    (ROLL_OUT, "restart", "Restart", |input| (!input.choice.is_paused).then_some(Action::Restart)),
    (PODS, "kill", "Kill pod", |input| {
        let pod = input.pod(&input.choice.pods).or_else(|| input.pod(&input.choice.out_of_rotation));
        pod.map(Action::KillPod)
    }),
    (PODS, "unlabel", "Remove label", |input| input.pod(&input.choice.pods).map(Action::Unlabel)),
    (PODS, "label", "Put it back", |input| input.pod(&input.choice.out_of_rotation).map(Action::Label)),
    (SIZE, SCALE, "Scale to", |input| {
        let replicas = input.field("replicas").map_or(Some(input.choice.replicas + 2), |text| text.parse().ok());
        replicas.map(Action::Scale)
    }),
    (SIZE, "pause", "Pause", |input| (!input.choice.is_paused).then_some(Action::Pause)),
    (SIZE, "resume", "Resume", |input| input.choice.is_paused.then_some(Action::Resume)),
    (SIZE, "quota", "Quota", |input| Some(Action::Quota(input.choice.counted))),
    (SIZE, "no-quota", "No quota", |input| (input.choice.quota != PLENTY).then_some(Action::Quota(PLENTY))),
    (BREAK, "delete-replicaset", "Delete ReplicaSet", |input| {
        input.choice.newest.clone().map(Action::DeleteReplicaSet)
    }),
    (BREAK, "drain", "Drain a node", |input| input.removable_node().map(Action::Drain)),
    (BREAK, "lose-node", "Lose a node", |input| input.removable_node().map(Action::LoseNode)),
    (BREAK, "add-node", "Node returns", |input| match input.choice.lost.first() {
        Some(lost) => Some(Action::AddNode(lost.clone())),
        None => input.choice.drained.first().cloned().map(Action::Uncordon),
    }),
];

/// Returns the buttons with their current commands.
pub fn buttons(world: &World, of: &Key, choice: &Choice) -> Vec<Button> {
    let none = Form::new();
    let made = BUTTONS.iter().map(|(group, name, label, action)| {
        let action = action(&Input { choice, form: &none });
        let command = action.as_ref().map(|action| action.command(world, of)).unwrap_or_default();
        let field = match *name {
            SCALE => Some(("replicas", "Replicas", (choice.replicas + 2).to_string())),
            UNDO => Some(("revision", "Revision; empty for the one before", String::new())),
            _ => None,
        };
        Button {
            group: (*group).to_owned(),
            action: (*name).to_owned(),
            label: (*label).to_owned(),
            command,
            is_possible: action.is_some(),
            field: field.map(|(name, label, value)| (name.to_owned(), label.to_owned(), value)),
        }
    });
    made.collect()
}

/// Returns the action of a button; `None` if it is not possible.
pub fn action(name: &str, choice: &Choice, form: &Form) -> Option<Action> {
    let (.., action) = BUTTONS.iter().find(|(_, known, ..)| *known == name)?;
    action(&Input { choice, form })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_button_has_an_action() {
        let choice = Choice {
            pods: vec!["web-1".to_owned(), "web-2".to_owned()],
            out_of_rotation: vec!["web-3".to_owned()],
            newest: Some("web-abc".to_owned()),
            revisions: vec![1],
            nodes: vec!["node-1".to_owned(), "node-2".to_owned()],
            lost: vec!["node-3".to_owned()],
            replicas: 4,
            image: "web:v1".to_owned(),
            ..Choice::default()
        };
        for (_, name, ..) in BUTTONS.iter().filter(|(_, name, ..)| *name != "resume") {
            assert!(action(name, &choice, &Form::new()).is_some(), "{name}");
        }
        let form = |name: &str, value: &str| Form::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(action("kill", &choice, &form("pod", "web-2")), Some(Action::KillPod("web-2".to_owned())));
        assert_eq!(action("kill", &choice, &form("pod", "other")), None);
        assert_eq!(action("scale", &choice, &form("replicas", "x")), None);
        assert_eq!(action("nothing", &choice, &Form::new()), None);
    }
}
