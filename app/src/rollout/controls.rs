//! Actions of a viewer on the page of a Deployment, for all components on it.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use timeline::Millis;

use super::screen::RolloutScreen;
use crate::browser;
use crate::rollout::panel::PanelState;

/// The controls. Copies are handles of the same controls, which do nothing until the page is hydrated.
#[derive(Clone, Copy)]
pub struct Controls {
    screen: StoredValue<Option<SendWrapper<RolloutScreen>>>,
    pub panel: PanelState,
    /// Text of the button that copies a link, after it was used.
    pub copied: RwSignal<Option<&'static str>>,
}

impl Controls {
    /// Provides controls to the components of a page.
    pub fn provide() -> Self {
        let controls =
            Self { screen: StoredValue::default(), panel: PanelState::of_page(), copied: RwSignal::default() };
        provide_context(controls);
        controls
    }

    /// Returns the controls of the page around this component; `None` on a wall and on a detail's own page.
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// Sets the screen on which the controls act.
    pub fn attach(self, screen: RolloutScreen) {
        self.screen.set_value(Some(SendWrapper::new(screen)));
    }

    /// Opens a detail beside the picture, by its path below the page of the Deployment ([`timeline::address::pod`],
    /// [`timeline::address::revision`]).
    pub fn open(self, path: String) {
        self.panel.open(path, None);
    }

    /// Hides the tip, and closes the panel. The focus returns to the element that opened it; if that is gone, to the picture.
    pub fn close(self) {
        self.act(RolloutScreen::point_to_nothing);
        if self.panel.close() {
            // The opener may be hidden until the panel is removed, as the table of pods is.
            browser::next_frame(move || {
                if !self.panel.focus_opener() {
                    self.act(RolloutScreen::focus);
                }
            });
        }
    }

    /// Runs an action on the screen, if there is one.
    pub fn act(self, act: impl FnOnce(&RolloutScreen)) {
        if let Some(screen) = self.attached_screen() {
            act(&screen);
        }
    }

    /// Separate from [`Self::act`], which is compiled once for each action.
    fn attached_screen(self) -> Option<RolloutScreen> {
        self.screen.try_with_value(|screen| screen.as_deref().cloned()).flatten()
    }

    /// Shows a past moment and pauses there.
    pub fn seek(self, to_millis: Millis) {
        self.act(|screen| screen.seek(to_millis));
    }

    /// Copies a link to the shown revision or moment; the button shows the result.
    pub fn copy_link(self) {
        self.act(|screen| browser::copy(&screen.link(), self.copied));
    }
}
