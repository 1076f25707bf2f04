//! Keys: what each does on a Deployment's page, and the list of them.

use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use crate::browser;
use crate::exported::Exported;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;

/// The keys in words.
const KEYS: [(&str, &str); 14] = [
    ("space", "play, pause"),
    ("← →", "previous, next change"),
    ("shift ← →", "one second"),
    ("+ − 0", "less time, more, all of the rollout"),
    ("[ ]", "previous, next rollout"),
    ("L", "back to live, or to the latest"),
    ("C", "copy link"),
    ("Z", "your time zone, or UTC"),
    ("T", "pods as a table"),
    ("↑ ↓", "from pod to pod"),
    ("Enter", "open a pod or revision"),
    ("Esc", "close"),
    ("/", "all Deployments"),
    ("?", "these keys"),
];

/// Keys that need a server.
const ELSEWHERE: [&str; 2] = ["C", "/"];

/// The list of keys.
#[component]
pub fn KeyHelp(
    /// The element, for the key that opens it.
    node: NodeRef<html::Details>,
) -> impl IntoView {
    let key = |(key, does): (&'static str, &'static str)| view! { <dt>{key}</dt><dd>{does}</dd> };
    let is_file = Exported::of_app().is_some();
    let keys = KEYS.into_iter().filter(move |(key, _)| !is_file || !ELSEWHERE.contains(key));
    view! {
        <details id="keys" node_ref=node>
            <summary title="Keys (?)">"Keys"</summary>
            <dl>{keys.map(key).collect_view()}</dl>
        </details>
    }
}

/// What keys act on.
#[derive(Clone, Copy)]
pub struct Keyboard {
    /// The page's controls.
    pub controls: Controls,
    /// Its picture.
    pub picture: Picture,
    /// The list of keys.
    pub help: NodeRef<html::Details>,
    /// The box that shows the pods as a table.
    pub as_table: NodeRef<html::Input>,
    /// The page's zone.
    pub zone: crate::zone::Zone,
    /// The page is a file, behind which there is no server.
    pub is_file: bool,
}

/// Listens for keys until the component around it is gone. Called from effects.
pub fn listen(keyboard: Keyboard) {
    // In a file there is nowhere to go.
    let navigate = (!keyboard.is_file).then(use_navigate);
    browser::on_window(leptos::ev::keydown, move |event| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
            return;
        }
        let away = navigate.as_ref().filter(|_| event.key() == "/" && !is_writing(&event));
        if let Some(navigate) = away {
            navigate("/", NavigateOptions::default());
        }
        if away.is_some() || keyboard.pressed(&event) {
            event.prevent_default();
        }
    });
}

fn target(event: &KeyboardEvent) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

fn tag(event: &KeyboardEvent) -> String {
    target(event).map(|element| element.tag_name().to_ascii_lowercase()).unwrap_or_default()
}

/// Something is being written; the slider takes the keys of time as everything else does.
fn is_writing(event: &KeyboardEvent) -> bool {
    let is_slider = target(event).is_some_and(|element| element.id() == "slider");
    matches!(tag(event).as_str(), "input" | "select" | "textarea") && !is_slider
}

impl Keyboard {
    /// Does what a key stands for; false when it stands for nothing here.
    fn pressed(&self, event: &KeyboardEvent) -> bool {
        if is_writing(event) {
            return false;
        }
        let controls = self.controls;
        let is_shifted = event.shift_key();
        // After a line of the story led to its moment, space plays on; Enter goes there again.
        let is_button = matches!(tag(event).as_str(), "button" | "a" | "summary" | "g")
            && !target(event).is_some_and(|on| on.class_list().contains("at"));
        match event.key().as_str() {
            " " if is_button => return false,
            " " => controls.act(|screen| screen.toggle()),
            "ArrowLeft" if is_shifted => controls.act(|screen| screen.seek_by(-1_000)),
            "ArrowRight" if is_shifted => controls.act(|screen| screen.seek_by(1_000)),
            "ArrowLeft" => controls.act(|screen| screen.step(false)),
            "ArrowRight" => controls.act(|screen| screen.step(true)),
            "[" => controls.act(|screen| screen.step_rollout(false)),
            "]" => controls.act(|screen| screen.step_rollout(true)),
            "+" | "=" => controls.act(|screen| screen.zoom(Some(0.5))),
            "-" => controls.act(|screen| screen.zoom(Some(2.0))),
            "0" => controls.act(|screen| screen.zoom(None)),
            "l" | "L" => controls.act(|screen| screen.live()),
            "c" | "C" if !self.is_file => controls.copy_link(),
            "z" | "Z" => self.zone.toggle(),
            "t" | "T" => {
                if let Some(as_table) = self.as_table.get_untracked() {
                    as_table.set_checked(!as_table.checked());
                }
            }
            "?" => {
                if let Some(help) = self.help.get_untracked() {
                    help.set_open(!help.open());
                }
            }
            "Escape" => controls.panel.close(),
            "ArrowUp" => return self.go_to_pod(event, false),
            "ArrowDown" => return self.go_to_pod(event, true),
            _ => return false,
        }
        true
    }

    /// From a band to its first pod, or from a pod to its neighbour.
    fn go_to_pod(&self, event: &KeyboardEvent, is_next: bool) -> bool {
        let Some(on) = target(event) else { return false };
        let beside = on.closest(".beside").ok().flatten();
        let pod = match beside.and_then(|beside| beside.get_attribute("data-revision")) {
            Some(revision) => self.first_of(&revision),
            None if on.has_attribute("data-pod") && is_next => on.next_element_sibling(),
            None if on.has_attribute("data-pod") => on.previous_element_sibling(),
            None => None,
        };
        pod.is_some_and(|pod| browser::focus(&pod))
    }

    fn first_of(&self, revision: &str) -> Option<Element> {
        let heads = self.picture.nodes.heads.get_untracked()?;
        let heads = heads.children();
        let all = (0..heads.length()).filter_map(|index| heads.item(index));
        let is_it = |head: &Element| {
            let is = |name: &str, value: &str| head.get_attribute(name).as_deref() == Some(value);
            is("data-revision", revision) && !is("data-state", "gone")
        };
        all.into_iter().find(is_it)
    }
}
