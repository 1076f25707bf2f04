//! The buttons: what each does now, and its command.

use std::collections::BTreeMap;

use app::playground::Button;
use simcluster::action::{Action, Choice, PLENTY};
use simcluster::{Key, World};

/// A form as it was sent.
pub type Form = BTreeMap<String, String>;

/// Headings, in order.
const ROLL_OUT: &str = "Roll out";
const PODS: &str = "Pods";
const SIZE: &str = "Size and pace";
const BREAK: &str = "Break things";

/// Buttons with a field.
const UNDO: &str = "undo";
const SCALE: &str = "scale";

/// A button: the one place in which its name stands.
struct Control {
    group: &'static str,
    name: &'static str,
    label: &'static str,
    /// What it means now; `None` if it makes no sense.
    means: fn(&Wanted<'_>) -> Option<Action>,
}

/// What a button's meaning depends on.
struct Wanted<'w> {
    choice: &'w Choice,
    form: &'w Form,
}

impl Wanted<'_> {
    fn said(&self, field: &str) -> Option<&str> {
        self.form.get(field).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// The pod that is named, or the first one.
    fn pod(&self, among: &[String]) -> Option<String> {
        match self.said("pod") {
            Some(pod) => among.iter().find(|known| *known == pod).cloned(),
            None => among.first().cloned(),
        }
    }

    /// A node that can be spared: one always stays.
    fn spare(&self) -> Option<String> {
        self.choice.nodes.get(1..)?.last().cloned()
    }

    fn image(&self, fate: &str) -> Option<Action> {
        Some(Action::Image(self.choice.next_image(fate)))
    }
}

const fn control(
    group: &'static str,
    name: &'static str,
    label: &'static str,
    means: fn(&Wanted<'_>) -> Option<Action>,
) -> Control {
    Control { group, name, label, means }
}

/// Every button, in order.
const BUTTONS: [Control; 19] = [
    control(ROLL_OUT, "version", "Next version", |wanted| wanted.image("")),
    control(ROLL_OUT, "slow", "Slow to start", |wanted| wanted.image("slow")),
    control(ROLL_OUT, "never", "Never ready", |wanted| wanted.image("never")),
    control(ROLL_OUT, "missing", "Bad image", |wanted| wanted.image("missing")),
    control(ROLL_OUT, "crash", "Crash", |wanted| wanted.image("crash")),
    control(ROLL_OUT, UNDO, "Undo to", |wanted| {
        let is_possible = !wanted.choice.is_paused && !wanted.choice.revisions.is_empty();
        let revision = wanted.said("revision").map(str::parse).transpose().ok()?;
        is_possible.then_some(Action::Undo(revision))
    }),
    control(ROLL_OUT, "restart", "Restart", |wanted| (!wanted.choice.is_paused).then_some(Action::Restart)),
    control(PODS, "kill", "Kill pod", |wanted| {
        let pod = wanted.pod(&wanted.choice.pods).or_else(|| wanted.pod(&wanted.choice.out_of_rotation));
        pod.map(Action::KillPod)
    }),
    control(PODS, "unlabel", "Remove label", |wanted| wanted.pod(&wanted.choice.pods).map(Action::Unlabel)),
    control(PODS, "label", "Put it back", |wanted| wanted.pod(&wanted.choice.out_of_rotation).map(Action::Label)),
    control(SIZE, SCALE, "Scale to", |wanted| {
        let replicas = wanted.said("replicas").map_or(Some(wanted.choice.replicas + 2), |text| text.parse().ok());
        replicas.map(Action::Scale)
    }),
    control(SIZE, "pause", "Pause", |wanted| (!wanted.choice.is_paused).then_some(Action::Pause)),
    control(SIZE, "resume", "Resume", |wanted| wanted.choice.is_paused.then_some(Action::Resume)),
    control(SIZE, "quota", "Quota", |wanted| Some(Action::Quota(wanted.choice.counted))),
    control(SIZE, "no-quota", "No quota", |wanted| (wanted.choice.quota != PLENTY).then_some(Action::Quota(PLENTY))),
    control(BREAK, "delete-replicaset", "Delete ReplicaSet", |wanted| {
        wanted.choice.newest.clone().map(Action::DeleteReplicaSet)
    }),
    control(BREAK, "drain", "Drain a node", |wanted| wanted.spare().map(Action::Drain)),
    control(BREAK, "lose-node", "Lose a node", |wanted| wanted.spare().map(Action::LoseNode)),
    control(BREAK, "add-node", "Node returns", |wanted| match wanted.choice.lost.first() {
        Some(lost) => Some(Action::AddNode(lost.clone())),
        None => wanted.choice.drained.first().cloned().map(Action::Uncordon),
    }),
];

/// The buttons as they are now.
pub fn buttons(world: &World, of: &Key, choice: &Choice) -> Vec<Button> {
    let none = Form::new();
    let made = BUTTONS.iter().map(|Control { group, name, label, means }| {
        let action = means(&Wanted { choice, form: &none });
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

/// What a button means now; `None` if it makes no sense.
pub fn action(name: &str, choice: &Choice, form: &Form) -> Option<Action> {
    let button = BUTTONS.iter().find(|button| button.name == name)?;
    (button.means)(&Wanted { choice, form })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_button_means_something() {
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
        for Control { name, .. } in BUTTONS.iter().filter(|button| button.name != "resume") {
            assert!(action(name, &choice, &Form::new()).is_some(), "{name}");
        }
        let form = |name: &str, value: &str| Form::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(action("kill", &choice, &form("pod", "web-2")), Some(Action::KillPod("web-2".to_owned())));
        assert_eq!(action("kill", &choice, &form("pod", "other")), None);
        assert_eq!(action("scale", &choice, &form("replicas", "x")), None);
        assert_eq!(action("nothing", &choice, &Form::new()), None);
    }
}
