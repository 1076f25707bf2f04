//! The panel beside the picture: details that the server renders, fetched when opened and again when something changed.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Element, Response};

use super::{element, focus};

/// What is open is fetched again at most this often.
const AGAIN_MILLIS: f64 = 1_000.0;

/// The panel. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Panel(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// What is open, as an address below the page's own.
    open: Option<String>,
    /// What opened it: where the focus goes back.
    opener: Option<Element>,
    is_old: bool,
    fetched_at: f64,
    markup: String,
}

impl Panel {
    /// Opens something.
    pub(super) fn open(&self, path: String, opener: &Element) {
        let mut state = self.0.borrow_mut();
        if state.open.is_none() {
            state.opener = Some(opener.clone());
        }
        state.open = Some(path);
        state.markup.clear();
        drop(state);
        self.fetch(true);
    }

    /// Closes it.
    pub(super) fn close(&self) {
        let Some(panel) = element("detail") else { return };
        panel.set_inner_html("");
        let mut state = self.0.borrow_mut();
        state.open = None;
        if let Some(opener) = state.opener.take() {
            focus(&opener);
        }
    }

    /// Something changed, or time passed.
    pub(super) fn look_again(&self, is_news: bool, page_millis: f64) {
        let mut state = self.0.borrow_mut();
        state.is_old |= is_news;
        if state.open.is_some() && state.is_old && page_millis - state.fetched_at > AGAIN_MILLIS {
            (state.is_old, state.fetched_at) = (false, page_millis);
            drop(state);
            self.fetch(false);
        }
    }

    fn fetch(&self, is_new: bool) {
        let panel = self.clone();
        spawn_local(async move {
            let wanted = panel.0.borrow().open.clone();
            let Some(path) = &wanted else { return };
            let markup = fetched(path).await.unwrap_or_else(|| "Rollcast does not answer.".to_owned());
            if panel.0.borrow().open != wanted || panel.0.borrow().markup == markup {
                return; // meanwhile something else was opened, or nothing changed
            }
            let Some(element) = element("detail") else { return };
            element.set_inner_html(&markup);
            panel.0.borrow_mut().markup = markup;
            if is_new {
                focus(&element);
            }
        });
    }
}

async fn fetched(path: &str) -> Option<String> {
    let window = web_sys::window()?;
    // The address of the page names the moment that is shown.
    let asked = window.location().search().ok()?;
    let address = format!("{}/{path}?part&{}", window.location().pathname().ok()?, asked.trim_start_matches('?'));
    let response = JsFuture::from(window.fetch_with_str(&address)).await.ok()?;
    let text = response.dyn_into::<Response>().ok()?.text().ok()?;
    JsFuture::from(text).await.ok()?.as_string()
}
