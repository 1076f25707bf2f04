//! Panel beside the picture: a detail that the server sends, requested when it is opened and again when something changed.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use send_wrapper::SendWrapper;
use timeline::wire;
use web_sys::Element;

use crate::browser::{self, InertPage};
use crate::context::OpenedPod;
use crate::detail::Detail;
use crate::exported::Exported;
use crate::keep_focus::keep_focus;
use crate::rows::set_if_new;

/// Minimum interval between requests of the open detail.
const AGAIN_MILLIS: f64 = 1_000.0;
/// Timeout after which an unanswered request is repeated.
const ANSWER_MILLIS: f64 = 10_000.0;
/// Windows that the panel covers.
const COVERED: &str = "(max-width: 900px)";
/// Text of the panel when the server does not answer.
const NO_ANSWER: &str = "Rollcast does not respond.";
/// Text in a file that does not contain the detail.
const NOT_THERE: &str = "This file has no details of it, or none of this moment.";

/// Content of the panel: a detail, or why it cannot be shown; `None` while nothing is open.
pub type PanelContent = Option<Result<Detail, String>>;

/// State of the panel beside the picture. Copies are handles of the same panel.
#[derive(Clone, Copy, Default)]
pub struct PanelState {
    /// Path of the open detail below the page of the Deployment.
    path: StoredValue<Option<String>>,
    /// The content that the server sent last.
    pub content: RwSignal<PanelContent>,
    /// The element that opened it, to which the focus goes back.
    opener: StoredValue<Option<SendWrapper<Element>>>,
    /// The page behind the panel, inert while the panel covers the window.
    behind: StoredValue<Option<InertPage>>,
    is_old: StoredValue<bool>,
    asked_millis: StoredValue<f64>,
    /// Request time of the last answer, or failure: answers to earlier requests are ignored.
    answered_millis: StoredValue<f64>,
    /// The address of the shown detail; empty before the first one, which then gets the focus.
    shown_address: StoredValue<String>,
    /// The record that answers in place of a server.
    exported: StoredValue<Option<Exported>>,
    /// The open pod, on which the playground's buttons act.
    pub opened_pod: OpenedPod,
    /// The element of the open detail, which gets the focus.
    pub section: NodeRef<html::Section>,
}

impl PanelState {
    /// Creates a panel for a page, closed.
    pub fn of_page() -> Self {
        let exported = StoredValue::new(Exported::of_app());
        Self { opened_pod: OpenedPod::of_app(), exported, ..Self::default() }
    }

    /// Opens a detail by its path below the page of the Deployment. The focus returns to `opener` when the panel is closed; without one, to
    /// the element that has it now.
    pub fn open(self, path: String, opener: Option<Element>) {
        if self.path.with_value(Option::is_none) {
            let opener = opener.or_else(browser::focused);
            self.opener.set_value(opener.map(SendWrapper::new));
        }
        self.path.set_value(Some(path));
        self.shown_address.set_value(String::new());
        self.request_detail();
    }

    /// Closes the panel; false if it was closed.
    pub(super) fn close(self) -> bool {
        let was_open = self.path.try_update_value(Option::take).flatten().is_some();
        self.show(None);
        was_open
    }

    /// Returns the focus to the element that opened the panel; false if that does not take it.
    pub(super) fn focus_opener(self) -> bool {
        let Some(opener) = self.opener.try_update_value(Option::take).flatten() else { return false };
        browser::focus(&opener);
        browser::focused().as_ref() == Some(&*opener)
    }

    /// Requests the open detail again if something changed (`is_news`) or after a time. Called with every animation frame. A hidden page
    /// requests it once it is visible again.
    pub fn look_again(self, is_news: bool, page_millis: f64) {
        if is_news {
            self.is_old.set_value(true);
        }
        let (asked, answered) = (self.asked_millis.get_value(), self.answered_millis.get_value());
        let is_due = self.is_old.get_value() && may_ask_again(asked, answered, page_millis);
        if is_due && self.path.with_value(Option::is_some) && !browser::is_hidden() {
            self.request_detail();
        }
    }

    fn request_detail(self) {
        let Some(path) = self.path.get_value() else { return };
        self.is_old.set_value(false);
        let asked_millis = browser::page_millis();
        self.asked_millis.set_value(asked_millis);
        let exported = self.exported.get_value();
        // The detail is of the moment that the address of the page names.
        let address = format!("{}/{path}{}", browser::path(), browser::search());
        spawn_local(async move {
            let answer = match exported {
                Some(exported) => Some(exported.detail(&path).ok_or_else(|| NOT_THERE.to_owned())),
                None => fetch_content(&address).await,
            };
            // Meanwhile another detail may be open, a later request may be answered, or the viewer may have left the page.
            let is_open = self.path.try_get_value().flatten().as_ref() == Some(&path);
            if !is_open || self.answered_millis.try_get_value().is_none_or(|answered| answered > asked_millis) {
                return;
            }
            self.answered_millis.set_value(asked_millis);
            let known = self.shown_address.get_value();
            // Without an answer the last content stays, and it is requested again.
            if answer.is_none() {
                self.is_old.set_value(true);
                if known == address {
                    return;
                }
            }
            let shown = answer.unwrap_or_else(|| Err(NO_ANSWER.to_owned()));
            self.shown_address.set_value(address);
            self.show(Some(shown));
            if known.is_empty() {
                self.focus_section();
            }
        });
    }

    /// Focuses the panel once it has content. The first detail loads its part of the program, and until then the panel is hidden and cannot
    /// have the focus.
    fn focus_section(self) {
        browser::next_frame(move || {
            let Some(section) = self.section.try_get_untracked().flatten() else { return };
            browser::focus(&section);
            let is_open = self.path.try_with_value(Option::is_some) == Some(true);
            if is_open && browser::focused().is_none_or(|focused| focused != *section) {
                self.focus_section();
            }
        });
    }

    fn show(self, shown: PanelContent) {
        let pod = if let Some(Ok(Detail::Pod(pod))) = &shown { pod.name.clone() } else { String::new() };
        set_if_new(&self.opened_pod.0, pod);
        let is_known = self.content.try_with_untracked(|known| match (known, &shown) {
            (Some(Ok(Detail::Share(known))), Some(Ok(Detail::Share(share)))) => share.is_shared_by(known),
            (known, shown) => known == shown,
        });
        if is_known == Some(false) {
            keep_focus();
            self.content.set(shown);
            self.cover();
        }
    }

    /// Returns whether the panel covers the page, which is then inert.
    pub fn is_covering(self) -> bool {
        self.behind.with_value(Option::is_some)
    }

    /// Makes the page inert while the panel covers the window. Called when either may have changed.
    pub fn cover(self) {
        let is_open = self.content.with_untracked(Option::is_some);
        let is_covered = is_open && browser::matches(COVERED);
        if self.is_covering() != is_covered {
            let section = self.section.get_untracked().filter(|_| is_covered);
            self.behind.set_value(section.map(|section| InertPage::around(&section)));
        }
    }
}

/// Returns whether another request may be sent.
fn may_ask_again(asked_millis: f64, answered_millis: f64, page_millis: f64) -> bool {
    let is_under_way = answered_millis < asked_millis;
    page_millis - asked_millis > if is_under_way { ANSWER_MILLIS } else { AGAIN_MILLIS }
}

/// Requests a detail below a page of a Deployment; `None` if no response arrives.
pub async fn fetch_content(address: &str) -> Option<Result<Detail, String>> {
    let mark = if address.contains('?') { '&' } else { '?' };
    let answer = browser::fetch(&format!("{address}{mark}part")).await?;
    // The error page of a proxy may be plain text.
    if answer.is_proxy_error() {
        return None;
    }
    if !answer.is_ok() {
        let why = answer.text().await?;
        // Markup is the error page of a proxy.
        let why = Some(why.trim()).filter(|why| !why.is_empty() && !why.starts_with('<'));
        return why.map(|why| Err(why.to_owned()));
    }
    wire::decode(&answer.bytes().await?).ok().map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_not_requested_each_second_while_its_answer_is_under_way() {
        let may_ask_again = |answered, waited| may_ask_again(5_000.0, answered, 5_000.0 + waited);
        assert!(!may_ask_again(5_000.0, 999.0) && may_ask_again(5_000.0, 1_001.0), "it was answered, or failed");
        assert!(!may_ask_again(4_000.0, 9_999.0) && may_ask_again(4_000.0, 10_001.0), "it is under way");
    }
}
