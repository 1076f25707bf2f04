//! Contexts that the application provides and its pages read.

use leptos::prelude::*;

use crate::payload::Payload;

/// Provides the payload of the document to the first page. Later pages load their content over the live connection.
pub fn provide_payload(payload: Payload) {
    provide_context(StoredValue::new(Some(payload)));
}

/// Takes the payload; `None` if an earlier page took it, or if `select` rejects it because it is of another page.
pub fn take_payload<P>(select: impl FnOnce(Payload) -> Option<P>) -> Option<P> {
    let first: StoredValue<Option<Payload>> = use_context()?;
    select(first.try_update_value(Option::take)??)
}

/// Name of the pod whose details are open; empty if none is. The playground's buttons act on it. Copies are handles of the same signal.
#[derive(Clone, Copy, Default)]
pub struct OpenedPod(pub RwSignal<String>);

impl OpenedPod {
    /// Provides the signal to the whole application.
    pub fn provide() {
        provide_context(Self::default());
    }

    /// Returns the signal of the application around this component.
    pub fn of_app() -> Self {
        use_context().unwrap_or_default()
    }
}

/// The title of a page that was opened without loading a document: browsers announce titles of documents only. Copies are handles of the
/// same signal.
#[derive(Clone, Copy)]
pub struct ReachedTitle {
    /// The title; empty on the first page.
    pub text: RwSignal<String>,
    is_first_page: StoredValue<bool>,
}

impl ReachedTitle {
    /// Provides the title to the whole application.
    pub fn provide() -> Self {
        let title = Self { text: RwSignal::new(String::new()), is_first_page: StoredValue::new(true) };
        provide_context(title);
        title
    }

    /// Records a page; returns whether it was opened from another page of the application.
    pub fn note_page(self) -> bool {
        self.is_first_page.try_update_value(|is_first| !std::mem::replace(is_first, false)).unwrap_or(false)
    }
}
