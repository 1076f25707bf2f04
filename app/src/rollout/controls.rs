//! What a viewer can do to the page of a Deployment, for all components on it.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use timeline::Millis;

use super::screen::RolloutScreen;
use crate::browser;
use crate::components::copy::copied_words;

/// The controls. Copies are handles of the same ones; they do nothing until the page is alive.
#[derive(Clone, Copy)]
pub struct Controls {
    screen: StoredValue<Option<SendWrapper<RolloutScreen>>>,
    /// Opens a detail beside the picture, by its address below the page's.
    open: StoredValue<Option<Callback<String>>>,
    /// Closes it.
    close: StoredValue<Option<Callback<()>>>,
    /// What the button that copies a link says after it was used.
    pub copied: RwSignal<Option<&'static str>>,
}

impl Controls {
    /// Provides controls to the components of a page.
    pub fn provide() -> Self {
        let controls = Self {
            screen: StoredValue::new(None),
            open: StoredValue::new(None),
            close: StoredValue::new(None),
            copied: RwSignal::new(None),
        };
        provide_context(controls);
        controls
    }

    /// The controls of the page around this component; on a wall there are none.
    #[must_use]
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// From here on this is what is controlled.
    pub fn attach(self, screen: RolloutScreen) {
        self.screen.set_value(Some(SendWrapper::new(screen)));
    }

    /// From here on details are opened and closed like this.
    pub fn details(self, open: Callback<String>, close: Callback<()>) {
        self.open.set_value(Some(open));
        self.close.set_value(Some(close));
    }

    /// Opens a detail beside the picture.
    pub fn open(self, path: String) {
        if let Some(open) = self.open.get_value() {
            open.run(path);
        }
    }

    /// Closes it.
    pub fn close(self) {
        if let Some(close) = self.close.get_value() {
            close.run(());
        }
    }

    /// Opens a detail that a link leads to, unless the viewer wants it in a tab of its own.
    pub fn open_link(self, event: &web_sys::MouseEvent, path: String) {
        if !event.ctrl_key() && !event.meta_key() && !event.shift_key() {
            event.prevent_default();
            self.open(path);
        }
    }

    /// Does something.
    pub fn act(self, act: impl FnOnce(&RolloutScreen)) {
        self.screen.try_with_value(|screen| {
            if let Some(screen) = screen {
                act(screen);
            }
        });
    }

    /// Goes to a moment.
    pub fn seek(self, to_millis: Millis) {
        self.act(|screen| screen.seek(to_millis));
    }

    /// Copies a link to what is shown.
    pub fn copy_link(self) {
        self.act(|screen| self.copied.set(Some(copied_words(browser::copy(&screen.link())))));
    }
}
