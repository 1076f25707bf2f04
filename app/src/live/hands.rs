//! Hands: what a viewer does with mouse, finger and keys. One listener each on the document; what an element does when it is
//! used stands in its markup (`data-do`, `data-at`, `data-copy`, `data-line`).

use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlElement, HtmlInputElement, HtmlSelectElement, KeyboardEvent, MouseEvent};

use super::element;
use super::screen::DeploymentScreen;

/// Listens for as long as the page lives.
pub(crate) fn attach(screen: &DeploymentScreen) {
    let hand = screen.clone();
    listen("click", move |event| {
        clicked(&hand, &event);
    });
    let hand = screen.clone();
    listen("input", move |event| {
        if let Some(slider) = target::<HtmlInputElement>(&event).filter(|input| input.id() == "slider") {
            hand.slide(slider.value_as_number());
        }
    });
    let hand = screen.clone();
    listen("change", move |event| {
        if let Some(speed) = target::<HtmlSelectElement>(&event) {
            hand.pace(f64::from(speed.value().parse::<i32>().unwrap_or(100)) / 100.0);
        }
    });
    for (event, is_printing) in [("beforeprint", true), ("afterprint", false)] {
        let hand = screen.clone();
        on_window(event, move |_| hand.print(is_printing));
    }
    let hand = screen.clone();
    listen("keydown", move |event| {
        if let Ok(event) = event.dyn_into::<KeyboardEvent>()
            && !event.ctrl_key()
            && !event.meta_key()
            && !event.alt_key()
            && pressed(&hand, &event)
        {
            event.prevent_default();
        }
    });
}

pub(super) fn listen(name: &str, run: impl Fn(Event) + 'static) {
    let callback = Closure::<dyn FnMut(Event)>::new(run).into_js_value();
    if let Some(document) = web_sys::window().and_then(|window| window.document()) {
        let _ = document.add_event_listener_with_callback(name, callback.unchecked_ref());
    }
}

fn on_window(name: &str, run: impl Fn(Event) + 'static) {
    let callback = Closure::<dyn FnMut(Event)>::new(run).into_js_value();
    if let Some(window) = web_sys::window() {
        let _ = window.add_event_listener_with_callback(name, callback.unchecked_ref());
    }
}

pub(super) fn target<T: JsCast>(event: &Event) -> Option<T> {
    event.target()?.dyn_into().ok()
}

/// The value of an attribute on the element or around it.
fn around(element: &Element, name: &str) -> Option<(Element, String)> {
    let found = element.closest(&format!("[{name}]")).ok().flatten()?;
    let value = found.get_attribute(name)?;
    Some((found, value))
}

fn clicked(screen: &DeploymentScreen, event: &Event) {
    let Some(on) = target::<Element>(event) else { return };
    let is_plain = event.dyn_ref::<MouseEvent>().is_none_or(|mouse| !mouse.ctrl_key() && !mouse.meta_key());
    if let Some((_, open)) = around(&on, "data-open").filter(|_| is_plain) {
        event.prevent_default();
        screen.panel().open(open, &on);
    } else if let Some((_, deed)) = around(&on, "data-do") {
        event.prevent_default();
        done(screen, &deed);
    } else if let Some((_, at)) = around(&on, "data-at") {
        screen.seek(at.parse::<i64>().unwrap_or_default());
    } else if let Some((_, line)) = around(&on, "data-line") {
        find_element(&format!("[data-at=\"{line}\"]")).iter().for_each(|line| {
            super::focus(line);
        });
    } else if let Some((button, text)) = around(&on, "data-copy") {
        copy(&text, &button);
    }
}

fn done(screen: &DeploymentScreen, deed: &str) {
    match deed {
        "play" => screen.toggle(),
        "live" => screen.live(),
        "close" => screen.panel().close(),
        "back" => screen.step(false),
        "forward" => screen.step(true),
        "link" => {
            if let Some(button) = element("link") {
                copy(&screen.link(), &button);
            }
        }
        _ => {}
    }
}

/// Does what a key stands for; false when it stands for nothing here.
fn pressed(screen: &DeploymentScreen, event: &KeyboardEvent) -> bool {
    let on = target::<Element>(event);
    let tag = on.as_ref().map(|element| element.tag_name().to_ascii_lowercase()).unwrap_or_default();
    let is_slider = on.as_ref().is_some_and(|element| element.id() == "slider");
    if matches!(tag.as_str(), "input" | "select" | "textarea") && !is_slider {
        return false;
    }
    match event.key().as_str() {
        // After a line of the story led to its moment, space plays on; Enter goes there again.
        " " if matches!(tag.as_str(), "button" | "a" | "summary" | "g")
            && !on.as_ref().is_some_and(|on| on.has_attribute("data-at")) =>
        {
            return false;
        }
        " " => screen.toggle(),
        "ArrowLeft" if event.shift_key() => screen.seek_by(-1_000),
        "ArrowRight" if event.shift_key() => screen.seek_by(1_000),
        "ArrowLeft" => screen.step(false),
        "ArrowRight" => screen.step(true),
        "[" => screen.step_rollout(false),
        "]" => screen.step_rollout(true),
        "+" | "=" => screen.zoom(Some(0.5)),
        "-" => screen.zoom(Some(2.0)),
        "0" => screen.zoom(None),
        "l" | "L" => screen.live(),
        "c" | "C" => done(screen, "link"),
        "t" | "T" => click("#as-table"),
        "?" => click("#keys summary"),
        "/" => click(".brand"),
        "Escape" => screen.panel().close(),
        "ArrowUp" => return on.is_some_and(|on| to_pod(&on, false)),
        "ArrowDown" => return on.is_some_and(|on| to_pod(&on, true)),
        "Enter" if tag == "g" => {
            if let Some((_, open)) = on.as_ref().and_then(|on| around(on, "data-open")) {
                on.iter().for_each(|on| screen.panel().open(open.clone(), on));
            }
        }
        _ => return false,
    }
    true
}

/// From a band to its first pod, or from a pod to its neighbour.
fn to_pod(on: &Element, is_next: bool) -> bool {
    if on.id() == "scroller" {
        return false; // scrolls
    }
    let pod = if let Some((_, revision)) = around(on, "data-revision").filter(|(found, _)| found.tag_name() != "g") {
        find_element(&format!("#heads>[data-revision=\"{revision}\"]:not(.gone)"))
    } else if is_next {
        on.next_element_sibling()
    } else {
        on.previous_element_sibling()
    };
    pod.is_some_and(|pod| super::focus(&pod))
}

pub(super) fn find_element(selector: &str) -> Option<Element> {
    web_sys::window()?.document()?.query_selector(selector).ok()?
}

fn find(selector: &str) -> Option<HtmlElement> {
    find_element(selector)?.dyn_into().ok()
}

fn click(selector: &str) {
    if let Some(found) = find(selector) {
        found.click();
    }
}

/// Copies a text, and says so on the button. Where a browser has no clipboard for this page, the text can be taken from the
/// address bar or from beside the button.
fn copy(text: &str, button: &Element) {
    let Some(window) = web_sys::window() else { return };
    let has_clipboard =
        js_sys::Reflect::get(&window.navigator(), &"clipboard".into()).is_ok_and(|it| !it.is_undefined());
    if has_clipboard {
        let _ = window.navigator().clipboard().write_text(text);
    }
    let _ = button.set_attribute("data-copied", if has_clipboard { "copied" } else { "not allowed here" });
}
