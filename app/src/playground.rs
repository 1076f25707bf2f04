//! The playground as its strip shows it: the story that is told, and what can be done to the Deployment, each with its kubectl
//! command. Told by the server with the page and whenever it changes.

use serde::{Deserialize, Serialize};

/// How the playground is.
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
    /// What can be done.
    pub buttons: Vec<Button>,
    /// Pods to do it to.
    pub pods: Vec<String>,
    /// Where the kubeconfig is.
    pub kubeconfig: String,
    /// How many times faster than real time passes there.
    pub speed: String,
    /// What the chances in it follow from.
    pub seed: u64,
    /// Why the last wish was refused; empty otherwise.
    pub refused: String,
    /// Address of the Deployment's page.
    pub page: String,
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// Its heading.
    pub group: String,
    /// Name in forms and ids.
    pub action: String,
    /// What it says.
    pub label: String,
    /// The kubectl command that does the same.
    pub command: String,
    /// Whether it makes sense now.
    pub is_possible: bool,
    /// A field beside it: name, label, present value.
    pub field: Option<(String, String, String)>,
}

impl Playground {
    /// What is said of a speed that is not that of the viewer's clock; empty for that one.
    #[must_use]
    pub fn speed_said(&self) -> String {
        match self.speed.as_str() {
            "1" => String::new(),
            speed => format!(
                "Time in this cluster passes {speed} times as fast as yours; ages, durations and deadlines are in its time."
            ),
        }
    }
}
