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

/// Every button: heading, name, what it says.
const BUTTONS: [(&str, &str, &str); 19] = [
    (ROLL_OUT, "version", "Next version"),
    (ROLL_OUT, "slow", "Slow to start"),
    (ROLL_OUT, "never", "Never ready"),
    (ROLL_OUT, "missing", "Bad image"),
    (ROLL_OUT, "crash", "Crash"),
    (ROLL_OUT, "undo", "Undo to"),
    (ROLL_OUT, "restart", "Restart"),
    (PODS, "kill", "Kill pod"),
    (PODS, "unlabel", "Remove label"),
    (PODS, "label", "Put it back"),
    (SIZE, "scale", "Scale to"),
    (SIZE, "pause", "Pause"),
    (SIZE, "resume", "Resume"),
    (SIZE, "quota", "Quota"),
    (SIZE, "no-quota", "No quota"),
    (BREAK, "delete-replicaset", "Delete ReplicaSet"),
    (BREAK, "drain", "Drain a node"),
    (BREAK, "lose-node", "Lose a node"),
    (BREAK, "add-node", "Node returns"),
];

/// The buttons as they are now.
pub fn buttons(world: &World, of: &Key, choice: &Choice) -> Vec<Button> {
    let none = Form::new();
    let made = BUTTONS.iter().map(|(group, name, label)| {
        let action = action(name, choice, &none);
        let command = action.as_ref().map(|action| action.command(world, of)).unwrap_or_default();
        let field = match *name {
            "scale" => Some(("replicas", "Replicas", (choice.replicas + 2).to_string())),
            "undo" => Some(("revision", "Revision; empty for the one before", String::new())),
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
    let said = |field: &str| form.get(field).map(|text| text.trim()).filter(|text| !text.is_empty());
    let chosen = |among: &[String]| match said("pod") {
        Some(pod) => among.iter().find(|known| *known == pod).cloned(),
        None => among.first().cloned(),
    };
    // One node always stays.
    let spare = || choice.nodes.get(1..)?.last().cloned();
    Some(match name {
        "version" => Action::Image(choice.next_image("")),
        "slow" | "never" | "missing" | "crash" => Action::Image(choice.next_image(name)),
        "undo" if choice.is_paused || choice.revisions.is_empty() => return None,
        "undo" => Action::Undo(match said("revision") {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        }),
        "restart" if choice.is_paused => return None,
        "restart" => Action::Restart,
        "kill" => Action::KillPod(chosen(&choice.pods).or_else(|| chosen(&choice.out_of_rotation))?),
        "unlabel" => Action::Unlabel(chosen(&choice.pods)?),
        "label" => Action::Label(chosen(&choice.out_of_rotation)?),
        "scale" => Action::Scale(said("replicas").map_or(Some(choice.replicas + 2), |text| text.parse().ok())?),
        "pause" => (!choice.is_paused).then_some(Action::Pause)?,
        "resume" => choice.is_paused.then_some(Action::Resume)?,
        "quota" => Action::Quota(choice.counted),
        "no-quota" => (choice.quota != PLENTY).then_some(Action::Quota(PLENTY))?,
        "delete-replicaset" => Action::DeleteReplicaSet(choice.newest.clone()?),
        "drain" => Action::Drain(spare()?),
        "lose-node" => Action::LoseNode(spare()?),
        "add-node" => match choice.lost.first() {
            Some(lost) => Action::AddNode(lost.clone()),
            None => Action::Uncordon(choice.drained.first()?.clone()),
        },
        _ => return None,
    })
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
        for (_, name, _) in BUTTONS.iter().filter(|(_, name, _)| *name != "resume") {
            assert!(action(name, &choice, &Form::new()).is_some(), "{name}");
        }
        let form = |name: &str, value: &str| Form::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(action("kill", &choice, &form("pod", "web-2")), Some(Action::KillPod("web-2".to_owned())));
        assert_eq!(action("kill", &choice, &form("pod", "other")), None);
        assert_eq!(action("scale", &choice, &form("replicas", "x")), None);
        assert_eq!(action("nothing", &choice, &Form::new()), None);
    }
}
