//! Which pod is opened beside the picture: the playground's buttons mean that one.

use leptos::prelude::*;

/// Name of the pod that is opened; empty while none is. Copies are handles of the same one.
#[derive(Clone, Copy)]
pub struct Opened(pub RwSignal<String>);

impl Opened {
    /// Provides it to the whole application.
    pub fn provide() {
        provide_context(Self(RwSignal::new(String::new())));
    }

    /// That of the application around this component.
    #[must_use]
    pub fn of_app() -> Self {
        use_context().unwrap_or_else(|| Self(RwSignal::new(String::new())))
    }
}
