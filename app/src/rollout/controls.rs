//! Actions of a viewer on the page of a Deployment, for all components on it.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use timeline::Millis;

use super::screen::RolloutScreen;
use crate::browser;
use crate::rollout::panel::PanelState;

/// The controls. Copies are handles of the same ones; they do nothing until the page is alive.
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

    /// The controls of the page around this component; on a wall, and on a detail's own page, there are none.
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// From here on this is what is controlled.
    pub fn attach(self, screen: RolloutScreen) {
        self.screen.set_value(Some(SendWrapper::new(screen)));
    }

    /// Opens a detail beside the picture, by its path below the page of the Deployment ([`timeline::address::pod`],
    /// [`timeline::address::revision`]).
    pub fn open(self, path: String) {
        self.panel.open(path, None);
    }

    /// Hides what is told of a place of the picture, and closes what is open beside it. The focus goes back to what opened it; where that is gone, to the picture.
    pub fn close(self) {
        self.act(RolloutScreen::point_to_nothing);
        if self.panel.close() {
            // What opened it may be hidden until the panel is gone from the page, as the table of pods is.
            browser::next_frame(move || {
                if !self.panel.focus_opener() {
                    self.act(RolloutScreen::focus);
                }
            });
        }
    }

    /// Does something to the screen, once there is one.
    pub fn act(self, act: impl FnOnce(&RolloutScreen)) {
        if let Some(screen) = self.attached_screen() {
            act(&screen);
        }
    }

    /// Apart from [`Self::act`], which the page's program has once for each action.
    fn attached_screen(self) -> Option<RolloutScreen> {
        self.screen.try_with_value(|screen| screen.as_deref().cloned()).flatten()
    }

    /// Shows a moment of the past, and stays there.
    pub fn seek(self, to_millis: Millis) {
        self.act(|screen| screen.seek(to_millis));
    }

    /// Copies a link to the revision or the moment that is shown; the button says whether that worked.
    pub fn copy_link(self) {
        self.act(|screen| browser::copy(&screen.link(), self.copied));
    }
}
