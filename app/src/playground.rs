//! The strip above pages of the playground: the story that is told, and what can be done to the Deployment, each with its kubectl command.
//!
//! Rendered by the server; plain forms, so that it works without scripts. `public/playground.js` keeps its texts right. No program knows of it.

use std::collections::BTreeMap;

use leptos::prelude::*;

/// Prefix of the ids.
const PREFIX: &str = "play-";

/// How the playground is.
#[derive(Debug, Clone, Default, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct Button {
    /// Its heading.
    pub group: &'static str,
    /// Name in forms and ids.
    pub action: &'static str,
    /// What it says.
    pub label: &'static str,
    /// The kubectl command that does the same.
    pub command: String,
    /// Whether it makes sense now.
    pub is_possible: bool,
    /// A field beside it: name, label, present value.
    pub field: Option<(&'static str, &'static str, String)>,
}

impl Playground {
    /// What changes as text, by id.
    #[must_use]
    pub fn texts(&self) -> BTreeMap<String, String> {
        [
            ("title", &self.title),
            ("step", &self.step),
            ("sentence", &self.sentence),
            ("command", &self.command),
            ("speed", &self.speed_said()),
            ("refused", &self.refused),
            ("going", &if self.is_playing { "Stop the story" } else { "Resume story" }.to_owned()),
        ]
        .into_iter()
        .map(|(id, text)| (format!("{PREFIX}{id}"), text.clone()))
        .collect()
    }

    /// The commands that buttons stand for, by their ids.
    #[must_use]
    pub fn commands(&self) -> BTreeMap<String, String> {
        let command = |button: &Button| (format!("{PREFIX}{}", button.action), button.command.clone());
        self.buttons.iter().map(command).collect()
    }

    /// Ids of buttons that make no sense now.
    #[must_use]
    pub fn off(&self) -> Vec<String> {
        let off = self.buttons.iter().filter(|button| !button.is_possible);
        off.map(|button| format!("{PREFIX}{}", button.action)).collect()
    }

    fn speed_said(&self) -> String {
        match self.speed.as_str() {
            "1" => String::new(),
            speed => format!(
                "Time in this cluster passes {speed} times as fast as yours; ages, durations and deadlines are in its time."
            ),
        }
    }
}

/// One of the texts that change, where the script finds it.
fn text(texts: &BTreeMap<String, String>, id: &str) -> impl IntoView + use<> {
    let id = format!("{PREFIX}{id}");
    let content = texts.get(&id).cloned().unwrap_or_default();
    view! { <span id=id>{content}</span> }
}

/// The story in one line; what does not fit is in its title, and in the opened strip.
fn tale(of: &Playground) -> AnyView {
    let texts = of.texts();
    let text = |id| text(&texts, id);
    let all = format!("{} {}", of.sentence, of.command);
    view! {
        <p class="tale-head"><b class="tag">"Playground"</b><span class="tale-title">{text("title")}</span>{text("step")}</p>
        <p class="tale-sentence" role="status" title=all>{text("sentence")}" "<code>{text("command")}</code></p>
    }
    .into_any()
}

/// The strip of a page that shows many Deployments.
#[must_use]
pub fn caption(of: &Playground) -> AnyView {
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <div class="tale">
                {tale(of)}
                <a class="choice take-part" href=of.page.clone()>"Take part"</a>
            </div>
        </section>
    }
    .into_any()
}

/// The strip of the Deployment's page: a line, and below it what can be done, for those who open it.
#[must_use]
pub fn strip(of: &Playground) -> AnyView {
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <div class="tale">
                {tale(of)}
                <form class="tale-next" method="post" action="/playground">
                    <button class="choice" name="action" value="next-story">"Next story"</button>
                </form>
            </div>
            <details id="play-more" data-testid="playground-more">
                <summary class="choice take-part">
                    <span class="when-closed">"Take part"</span><span class="when-open">"Close"</span>
                </summary>
                <div class="controls">{stories(of)}{hands(of)}{commands(of)}</div>
            </details>
        </section>
    }
    .into_any()
}

/// Which story is told, and whether.
fn stories(of: &Playground) -> AnyView {
    let going = text(&of.texts(), "going");
    let stories = of.stories.iter().map(|(name, title)| view! { <option value=name.clone()>{title.clone()}</option> });
    view! {
        <form class="tale-choice" method="post" action="/playground">
            <button class="choice" name="action" value="pause-story">{going}</button>
            <span class="tale-pick">
                <label>"Story " <select name="story">{stories.collect_view()}</select></label>
                <button class="choice" name="action" value="story">"Play story"</button>
            </span>
        </form>
    }
    .into_any()
}

/// What can be done to the Deployment and to its cluster.
fn hands(of: &Playground) -> AnyView {
    let groups = ["Roll out", "Pods", "Size and pace", "Break things"];
    let groups = groups.map(|group| {
        let buttons = of.buttons.iter().filter(|button| button.group == group).map(button).collect_view();
        view! { <div class="deeds" role="group" aria-label=group><span class="deeds-name" aria-hidden="true">{group}</span>{buttons}</div> }
    });
    let pods = of.pods.iter().map(|pod| view! { <option>{pod.clone()}</option> }).collect_view();
    let speeds =
        ["0.25", "0.5", "1", "2", "4", "10"].map(|speed| view! { <option selected=speed == of.speed>{speed}</option> });
    view! {
        <form method="post" action="/playground" class="hands" aria-label="Do it yourself">
            <div class="deeds" role="group" aria-label="Which pod"><label>"Pod "
                <select name="pod" id="play-pods"><option value="">"any"</option>{pods}</select></label></div>
            {groups}
            <div class="deeds" role="group" aria-label="This cluster">
                <button class="deed" name="action" value="speed" title="Lets time pass at this speed">"Speed"</button>
                <label class="aside" for="play-speeds">"Times as fast"</label>
                <select name="speed" id="play-speeds">{speeds}</select>
                <button class="deed" name="action" value="reset" title="A new cluster; this one is gone">"Begin again"</button>
                <label>"seed " <input name="seed" type="number" min="0" value=of.seed.to_string()/></label>
            </div>
        </form>
    }
    .into_any()
}

/// The command of the button that is pointed at, why something was refused, and all commands.
fn commands(of: &Playground) -> AnyView {
    let texts = of.texts();
    view! {
        <p class="means"><code id="play-means">"Each button stands for a kubectl command: point at one to see it. In a terminal: export KUBECONFIG="{of.kubeconfig.clone()}</code>
            <span class="refused" role="status">{text(&texts, "refused")}</span>
            {text(&texts, "speed")}</p>
        <details class="all-means">
            <summary>"All commands"</summary>
            <dl>{of.buttons.iter().map(means).collect_view()}</dl>
        </details>
    }
    .into_any()
}

/// What a button stands for, for those who cannot point at it.
fn means(of: &Button) -> AnyView {
    view! { <div><dt>{of.label}</dt><dd><code id=format!("{PREFIX}{}-command", of.action)>{of.command.clone()}</code></dd></div> }
        .into_any()
}

fn button(of: &Button) -> AnyView {
    let id = format!("{PREFIX}{}", of.action);
    let field = of.field.clone().map(|(name, label, value)| {
        view! { <label class="aside" for=format!("{id}-field")>{label}</label>
        <input id=format!("{id}-field") name=name type="number" min="0" max="50" value=value/> }
    });
    view! {
        <button class="deed" id=id.clone() name="action" value=of.action title=of.command.clone() disabled=!of.is_possible>{of.label}</button>
        {field}
    }
    .into_any()
}
