//! What the browser offers, in one place. Everything here runs in browsers only, from effects and event handlers; what it asks for
//! and does not get (forbidden storage, no clipboard) is told as `None` or `false`, never as a panic.

use leptos::ev;
use leptos::prelude::*;
use timeline::Millis;
use wasm_bindgen::prelude::*;
use web_sys::Element;

/// Milliseconds since the page began, never going back.
#[must_use]
pub fn page_millis() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// The browser's time of day.
#[must_use]
pub fn now_millis() -> Millis {
    js_sys::Date::now() as Millis
}

/// The page cannot be seen: another tab is, or the screen is off.
#[must_use]
pub fn is_hidden() -> bool {
    document().hidden()
}

/// Whether a media query holds.
#[must_use]
pub fn matches(query: &str) -> bool {
    window().match_media(query).ok().flatten().is_some_and(|query| query.matches())
}

/// A parameter of the page's address.
#[must_use]
pub fn parameter(name: &str) -> Option<String> {
    let search = window().location().search().ok()?;
    web_sys::UrlSearchParams::new_with_str(&search).ok()?.get(name)
}

/// What this browser remembers under a name, where it may.
#[must_use]
pub fn remembered(name: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(name).ok().flatten()
}

/// Remembers something, where the browser allows it.
pub fn remember(name: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(name, value); // full or forbidden: then it is chosen again next time
    }
}

/// What this tab remembers under a name, where it may.
#[must_use]
pub fn remembered_here(name: &str) -> Option<String> {
    window().session_storage().ok().flatten()?.get_item(name).ok().flatten()
}

/// Remembers something for this tab (`None` forgets it); false where that is forbidden.
pub fn remember_here(name: &str, value: Option<&str>) -> bool {
    let Ok(Some(storage)) = window().session_storage() else { return false };
    match value {
        Some(value) => storage.set_item(name, value).is_ok(),
        None => storage.remove_item(name).is_ok(),
    }
}

/// What a button says after it was used.
#[must_use]
pub const fn copied_words(is_copied: bool) -> &'static str {
    if is_copied { "copied" } else { "not allowed here" }
}

/// Copies a text; false where the browser has no clipboard for this page.
#[must_use]
pub fn copy(text: &str) -> bool {
    let has_clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())
        .is_ok_and(|clipboard| !clipboard.is_undefined());
    if has_clipboard {
        let _ = window().navigator().clipboard().write_text(text); // a refusal later is the viewer's
    }
    has_clipboard
}

/// Gives an element the focus.
pub fn focus(element: &Element) -> bool {
    // Elements of HTML and of SVG share the method, not a type that has it.
    element.unchecked_ref::<web_sys::HtmlElement>().focus().is_ok()
}

/// Listens to the whole window until the component around it is gone.
pub fn on_window<E: ev::EventDescriptor + 'static>(event: E, run: impl Fn(E::EventType) + 'static)
where
    E::EventType: JsCast,
{
    let handle = window_event_listener(event, run);
    on_cleanup(move || handle.remove());
}

/// A click that is not meant to open another tab or window: what the page does by itself may take its place.
#[must_use]
pub fn is_plain(event: &ev::MouseEvent) -> bool {
    event.button() == 0 && !event.ctrl_key() && !event.meta_key() && !event.shift_key() && !event.alt_key()
}

/// A key that is pressed together with one that makes another thing of it: what the page does with keys is meant without.
#[must_use]
pub fn has_modifier(event: &ev::KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.alt_key()
}

/// Name of the element that a key was pressed on, in small letters; empty where that is none.
#[must_use]
pub fn tag(event: &ev::KeyboardEvent) -> String {
    let on = event.target().and_then(|on| on.dyn_into::<Element>().ok());
    on.map(|on| on.tag_name().to_ascii_lowercase()).unwrap_or_default()
}

/// Something is being written or chosen where a key was pressed; a slider takes the page's keys as everything else does.
#[must_use]
pub fn is_writing(event: &ev::KeyboardEvent) -> bool {
    let on = event.target().and_then(|on| on.dyn_into::<web_sys::HtmlInputElement>().ok());
    matches!(tag(event).as_str(), "input" | "select" | "textarea") && on.is_none_or(|input| input.type_() != "range")
}

/// Sets an attribute of the document's root, for style sheets and tests.
pub fn note(name: &str, value: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute(name, value);
    }
}

/// Sets an element's own style, the one way that a strict content security policy allows.
pub fn style(element: &Element, style: &str) {
    if let Some(element) = element.dyn_ref::<web_sys::HtmlElement>() {
        element.style().set_css_text(style);
    } else if let Some(element) = element.dyn_ref::<web_sys::SvgElement>() {
        element.style().set_css_text(style);
    }
}

/// Keeps an element's own style what a signal says. Until the page is alive the server's style sheet says it
/// ([`crate::score::placed`]), because style attributes are forbidden in its markup. Used as `use:placed=style`.
pub fn placed(element: Element, says: Signal<String>) {
    Effect::new(move |_| says.with(|says| style(&element, says)));
}

/// How much the viewer's zone is behind UTC at that time.
#[must_use]
pub fn behind_utc_millis(at_millis: Millis) -> Millis {
    let date = js_sys::Date::new(&JsValue::from_f64(at_millis as f64));
    (date.get_timezone_offset() * 60_000.0) as Millis
}

/// Time of day in a zone (the viewer's own where the name is empty) and the name of that zone then; UTC where the browser
/// knows no such zone.
#[must_use]
pub fn time_in(zone: &str, at_millis: Millis) -> (String, String) {
    let told = |zone: &str| {
        let options = js_sys::Object::new();
        let set = |name: &str, value: &str| js_sys::Reflect::set(&options, &name.into(), &value.into());
        if !zone.is_empty() {
            set("timeZone", zone).ok()?;
        }
        set("timeStyle", "long").ok()?;
        let date = js_sys::Date::new(&JsValue::from_f64(at_millis as f64));
        // Throws when there is no such zone.
        let tell: js_sys::Function = js_sys::Reflect::get(&date, &"toLocaleTimeString".into()).ok()?.dyn_into().ok()?;
        let text = tell.call2(&date, &"en-GB".into(), &options).ok()?.as_string()?;
        let (clock, name) = text.split_once(' ')?;
        Some((clock.to_owned(), name.to_owned()))
    };
    told(zone).unwrap_or_else(|| (timeline::words::clock(at_millis), "UTC".to_owned()))
}

/// A moment as people write it: "2026-11-21T14:02:05.250Z".
#[must_use]
pub fn iso(at_millis: Millis) -> String {
    js_sys::Date::new(&JsValue::from_f64(at_millis as f64)).to_iso_string().into()
}

/// Changes the page's address without going anywhere.
pub fn readdress(address: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(address)); // the page works without it
    }
}

/// Keeps the viewer on a page behind which there is no server: links to other pages lead nowhere, unless something else was made
/// of the click before.
pub fn stay() {
    on_window(ev::click, |event| {
        let on = event.target().and_then(|on| on.dyn_into::<Element>().ok());
        let link = on.and_then(|on| on.closest("a[href]:not([href^=http], [href=''])").ok().flatten());
        if link.is_some() {
            event.prevent_default();
        }
    });
}

/// Loads the page from the server again.
pub fn reload() {
    let _ = window().location().reload();
}

/// Loads the page that the router is at from the server: it may not stand in the address bar yet.
pub fn load(url: &leptos_router::location::Url) {
    let search = if url.search().is_empty() { String::new() } else { format!("?{}", url.search()) };
    let _ = window().location().set_href(&format!("{}{search}", url.path()));
}
