//! Notifications, which the viewer's system shows outside of the browser.

use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use super::tab_icon;

/// Notifications, in a browser that has them.
#[derive(Clone, Copy)]
pub struct Notifications(());

impl Notifications {
    /// Returns the notifications of this browser; `None` where it has none.
    pub fn of_browser() -> Option<Self> {
        js_sys::Reflect::has(&window(), &"Notification".into()).unwrap_or(false).then_some(Self(()))
    }

    /// Returns whether the viewer allows them.
    pub fn is_granted(self) -> bool {
        Notification::permission() == NotificationPermission::Granted
    }

    /// Returns whether the viewer forbids them.
    pub fn is_denied(self) -> bool {
        Notification::permission() == NotificationPermission::Denied
    }

    /// Asks the viewer for permission; afterwards [`Self::is_granted`] returns the answer.
    pub async fn request_permission(self) {
        if let Ok(answer) = Notification::request_permission() {
            let _ = JsFuture::from(answer).await;
        }
    }

    /// Shows a notification, which replaces the last one about the same subject, with the icon of the tab. Returns false if the browser
    /// refuses: telephones do, even with the viewer's permission.
    pub fn show(self, about: &str, title: &str, body: &str) -> bool {
        let options = NotificationOptions::new();
        options.set_body(body);
        options.set_tag(about);
        options.set_renotify(true); // otherwise a replacement is shown silently
        if let Some(icon) = tab_icon() {
            options.set_icon(&icon.href());
        }
        Notification::new_with_options(title, &options).is_ok()
    }
}
