//! What is open beside the picture: a detail that the server tells, asked for when it is opened and again when something changed.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use send_wrapper::SendWrapper;
use timeline::wire;
use web_sys::Element;

use crate::browser;
use crate::context::OpenedPod;
use crate::detail::Detail;
use crate::exported::Exported;
use crate::rows::set_if_new;
use crate::steady::keep_focus;

/// What is open is asked for again at most this often.
const AGAIN_MILLIS: f64 = 1_000.0;
/// What the panel says when the server does not answer.
const NO_ANSWER: &str = "Rollcast does not respond.";
/// What is said in a file that does not hold it.
const NOT_THERE: &str = "This file has no details of it, or none of this moment.";

/// What is open in the panel, with all that it tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// The panel is closed.
    Nothing,
    /// A detail is open, which tells this.
    Detail(Detail),
    /// There is nothing to show, for this reason.
    Trouble(String),
}

/// What the kind of that is: while it stays, only what is in it changes.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// The panel is closed.
    Nothing,
    /// A detail is open.
    Detail,
    /// There is nothing to show, and the panel says why.
    Trouble,
}

/// What is open beside the picture. Copies are handles of the same panel.
#[derive(Clone, Copy)]
pub struct PanelState {
    /// What is open, as a path below the page of the Deployment.
    path: RwSignal<Option<String>>,
    /// What is open, as the server told it last.
    pub shown: RwSignal<Shown>,
    /// What opened it: where the focus goes back.
    opener: StoredValue<Option<SendWrapper<Element>>>,
    is_old: StoredValue<bool>,
    asked_millis: StoredValue<f64>,
    /// When what was answered last was asked: an answer to what was asked before that is not shown any more.
    answered_millis: StoredValue<f64>,
    /// What is shown next gets the focus.
    is_entered: StoredValue<bool>,
    /// What answers where there is no server.
    exported: StoredValue<Option<Exported>>,
    /// The pod that is open, which the playground's buttons mean too.
    pub opened: OpenedPod,
    /// The element that shows what is open, which gets the focus.
    pub section: NodeRef<html::Section>,
}

impl PanelState {
    /// Returns a panel in which nothing is open.
    #[must_use]
    pub fn new() -> Self {
        Self {
            path: RwSignal::new(None),
            shown: RwSignal::new(Shown::Nothing),
            opener: StoredValue::new(None),
            is_old: StoredValue::new(false),
            asked_millis: StoredValue::new(0.0),
            answered_millis: StoredValue::new(0.0),
            is_entered: StoredValue::new(false),
            exported: StoredValue::new(Exported::of_app()),
            opened: OpenedPod::of_app(),
            section: NodeRef::new(),
        }
    }

    /// What is open, as a path below the page of the Deployment; follows it.
    #[must_use]
    pub fn path(self) -> Option<String> {
        self.path.get()
    }

    /// Opens something, by its path below the page of the Deployment. The focus goes back to `opener` when the panel is closed;
    /// where that is not said, to what has it now.
    pub fn open(self, path: String, opener: Option<Element>) {
        if self.path.with_untracked(Option::is_none) {
            let opener = opener.or_else(browser::focused);
            self.opener.set_value(opener.map(SendWrapper::new));
        }
        self.path.set(Some(path));
        self.is_entered.set_value(true);
        self.ask();
    }

    /// Closes the panel and gives the focus back; false where something was open and what opened it has it not.
    pub(super) fn close(self) -> bool {
        let was_open = self.path.with_untracked(Option::is_some);
        self.path.set(None);
        self.show(Shown::Nothing);
        match self.opener.try_update_value(Option::take).flatten() {
            Some(opener) => {
                browser::focus(&opener);
                browser::focused().as_ref() == Some(&*opener)
            }
            None => !was_open,
        }
    }

    /// Something changed (`is_news`), or time passed. Called with every animation frame.
    pub fn look_again(self, is_news: bool, page_millis: f64) {
        if is_news {
            self.is_old.set_value(true);
        }
        let is_due = self.is_old.get_value() && page_millis - self.asked_millis.get_value() > AGAIN_MILLIS;
        if is_due && self.path.with_untracked(Option::is_some) {
            self.ask();
        }
    }

    fn ask(self) {
        let Some(path) = self.path.get_untracked() else { return };
        self.is_old.set_value(false);
        let asked_millis = browser::page_millis();
        self.asked_millis.set_value(asked_millis);
        let exported = self.exported.get_value();
        spawn_local(async move {
            let answer = match exported {
                Some(exported) => {
                    let detail = exported.detail(&path);
                    Some(detail.map_or_else(|| Shown::Trouble(NOT_THERE.to_owned()), Shown::Detail))
                }
                None => answer(&below_this_page(&path)).await,
            };
            let shown = answer.unwrap_or_else(|| Shown::Trouble(NO_ANSWER.to_owned()));
            // Meanwhile something else may be open, a later question be answered, or the page be another one.
            let is_open = self.path.try_get_untracked().flatten().as_ref() == Some(&path);
            if !is_open || self.answered_millis.try_get_value().is_none_or(|answered| answered > asked_millis) {
                return;
            }
            self.answered_millis.set_value(asked_millis);
            self.show(shown);
            if self.is_entered.get_value() {
                self.is_entered.set_value(false);
                browser::next_frame(move || self.focus());
            }
        });
    }

    fn show(self, shown: Shown) {
        let pod = match &shown {
            Shown::Detail(Detail::Pod(pod)) => pod.name.clone(),
            _ => String::new(),
        };
        set_if_new(&self.opened.0, pod);
        let is_known = self.shown.try_with_untracked(|known| match (known, &shown) {
            (Shown::Detail(Detail::Share(known)), Shown::Detail(Detail::Share(share))) => share.is_shared_by(known),
            (known, shown) => known == shown,
        });
        if is_known == Some(false) {
            keep_focus();
            self.shown.set(shown);
        }
    }

    fn focus(self) {
        if let Some(section) = self.section.try_get_untracked().flatten() {
            browser::focus(&section);
        }
    }

    /// What kind of thing that is; follows it.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.shown.with(|shown| match shown {
            Shown::Nothing => Kind::Nothing,
            Shown::Detail(_) => Kind::Detail,
            Shown::Trouble(_) => Kind::Trouble,
        })
    }
}

impl Default for PanelState {
    fn default() -> Self {
        Self::new()
    }
}

/// The address of something below this page, at the moment that the address of the page names.
fn below_this_page(path: &str) -> String {
    format!("{}/{path}{}", browser::path(), browser::search())
}

/// What the server tells of something below a page of a Deployment; `None` when no answer comes.
pub async fn answer(address: &str) -> Option<Shown> {
    let mark = if address.contains('?') { '&' } else { '?' };
    let answer = browser::ask(&format!("{address}{mark}part")).await?;
    if !answer.is_ok() {
        let why = answer.text().await?;
        return Some(why.trim().to_owned()).filter(|why| !why.is_empty()).map(Shown::Trouble);
    }
    wire::decode(&answer.bytes().await?).ok().map(Shown::Detail)
}
