//! Keys of a Deployment's page, which work wherever on it the focus is. The keys between pods are handled where pods are shown
//! ([`super::heads`], [`super::gutter`]).

use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use timeline::address::at;
use web_sys::KeyboardEvent;

use crate::browser;
use crate::components::page_keys::Key;
use crate::elements::Neighbour;
use crate::rollout::controls::Controls;

/// Each key and its effect, for the list of keys; also wheel and mouse.
const KEYS: [Key; 14] = [
    ("space", "play, pause"),
    ("← →", "previous, next change"),
    ("shift ← →", "one second"),
    ("[ ]", "previous, next rollout"),
    ("L", "back to live, or to the latest"),
    ("+ − 0", "less time, more, all of the rollout"),
    ("ctrl wheel", "the same, around the pointer"),
    ("drag, shift wheel", "earlier, later"),
    ("C", "copy link"),
    ("T", "pods as a table"),
    ("↑ ↓", "from pod to pod, from line to line"),
    ("Enter", "open a pod or revision"),
    ("Esc", "close"),
    ("/", "all Deployments"),
];

/// Keys that do nothing in a file, because they need a server.
const ELSEWHERE: [&str; 2] = ["C", "/"];

/// The keys of a Deployment's page, or of a file.
pub fn keys(is_file: bool) -> Vec<Key> {
    KEYS.into_iter().filter(|(key, _)| !is_file || !ELSEWHERE.contains(key)).collect()
}

/// Listens for keys until the surrounding component is disposed. Called from effects. `as_table` is the checkbox that shows the pods as a
/// table.
pub fn listen(controls: Controls, as_table: NodeRef<html::Input>, is_file: bool) {
    // A file has no other pages.
    let navigate = (!is_file).then(use_navigate);
    browser::on_key(move |event| {
        if let Some(navigate) = navigate.as_ref().filter(|_| event.key() == "/") {
            navigate(&at("/"), NavigateOptions { resolve: false, ..NavigateOptions::default() });
            return true;
        }
        handle_key(event, controls, as_table, is_file)
    });
}

/// Handles a key; false if it has no meaning here.
fn handle_key(event: &KeyboardEvent, controls: Controls, as_table: NodeRef<html::Input>, is_file: bool) -> bool {
    let is_shifted = event.shift_key();
    match event.key().as_str() {
        // The focused element handles space itself.
        " " if browser::is_on(event, "button, a, summary, g, [type=checkbox]") => return false,
        " " => controls.act(|screen| screen.toggle()),
        "ArrowLeft" if is_shifted => controls.act(|screen| screen.seek_by(-1_000)),
        "ArrowRight" if is_shifted => controls.act(|screen| screen.seek_by(1_000)),
        "ArrowLeft" => controls.act(|screen| screen.step(Neighbour::Previous)),
        "ArrowRight" => controls.act(|screen| screen.step(Neighbour::Next)),
        "[" => controls.act(|screen| screen.step_rollout(Neighbour::Previous)),
        "]" => controls.act(|screen| screen.step_rollout(Neighbour::Next)),
        "+" | "=" => controls.act(|screen| screen.zoom(Some(0.5))),
        "-" => controls.act(|screen| screen.zoom(Some(2.0))),
        "0" => controls.act(|screen| screen.zoom(None)),
        "l" | "L" => controls.act(|screen| screen.live()),
        "c" | "C" if !is_file => controls.copy_link(),
        "t" | "T" => {
            if let Some(as_table) = as_table.get_untracked() {
                as_table.set_checked(!as_table.checked());
            }
        }
        // The browser closes the popup.
        "Escape" if browser::has_popup() => return false,
        "Escape" => controls.close(),
        _ => return false,
    }
    true
}
