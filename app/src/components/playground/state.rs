//! State of the playground in the browser: what the server sent, what the viewer points at and selects, and the requests to the server.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use timeline::address::at;
use timeline::wire;

use crate::browser::{self, Stream};
use crate::components::detail::following::following;
use crate::context::OpenedPod;
use crate::playground::{ActionResponse, Button, Playground, selected_pod};
use crate::postcard_base64;
use crate::rows::set_if_new;

/// Address to which forms are sent; with GET it leads to the present Deployment.
pub const ADDRESS: &str = "/playground";
/// Address of the stream of changes.
const EVENTS: &str = "/playground/events";
/// Content type that requests data instead of a page.
const BYTES: &str = "application/octet-stream";

/// State of the playground of the page. Copies are handles of the same state.
#[derive(Clone, Copy)]
pub struct PlaygroundState {
    /// The playground as the server sent it last.
    pub now: RwSignal<Playground>,
    /// The command that is explained; empty until the viewer points at a button.
    pub explained_command: RwSignal<String>,
    /// The pod that the viewer selected, and the pod that was open on the page at that time.
    chosen_pod: RwSignal<Option<(String, String)>>,
    opened_pod: OpenedPod,
}

impl PlaygroundState {
    /// Starts with the playground of the page. In the browser it follows the server's changes until the surrounding component is disposed.
    pub fn new(first: Playground) -> Self {
        let state = Self {
            now: RwSignal::new(first),
            explained_command: RwSignal::new(String::new()),
            chosen_pod: RwSignal::new(None),
            opened_pod: OpenedPod::of_app(),
        };
        let stream = StoredValue::new(None);
        Effect::new(move |_| stream.set_value(state.listen()));
        state
    }

    /// Returns the pod on which the buttons act; empty for any. Follows the selection, the opened pod, and the list of pods.
    pub fn pod(self) -> String {
        let (chosen, opened) = (self.chosen_pod.read(), self.opened_pod.0.read());
        self.now.with(|now| selected_pod(chosen.as_ref(), &opened, &now.pods))
    }

    /// Selects a pod; empty for any.
    pub fn choose(self, pod: String) {
        self.chosen_pod.set(Some((pod, self.opened_pod.0.get_untracked())));
    }

    /// Follows the button of that name; keeps its last value when the button is gone.
    pub fn button(self, action: String) -> Memo<Button> {
        let first = self.now.with_untracked(|now| now.button(&action).cloned()).unwrap_or_default();
        following(self.now, first, move |now: &Playground| now.button(&action).cloned())
    }

    fn listen(self) -> Option<Stream> {
        Stream::open(&at(EVENTS), move |text| {
            // Data that cannot be decoded is from another build; the page reports that by itself.
            if let Some(now) = postcard_base64::decode(text) {
                set_if_new(&self.now, now);
            }
        })
    }

    /// Sends a form without reloading the page.
    pub fn submit(self, event: &SubmitEvent) {
        // A form that cannot be read is sent by the browser, as it is without scripts.
        let Some(answer) = browser::send_form(event, &at(ADDRESS), BYTES) else { return };
        event.prevent_default();
        spawn_local(async move {
            let bytes = match answer.await {
                Some(answer) => answer.bytes().await,
                None => None,
            };
            // Without a response the server is not reachable, which the page reports by itself.
            match bytes.and_then(|bytes| wire::decode(&bytes).ok()) {
                Some(ActionResponse { is_new: true, .. }) => browser::go_to(&at(ADDRESS)),
                Some(ActionResponse { playground, .. }) => {
                    set_if_new(&self.now, playground);
                }
                None => {}
            }
        });
    }
}
