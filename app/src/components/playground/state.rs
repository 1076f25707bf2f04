//! The playground in the browser: what the server tells of it, what the viewer points at and chooses, and how the server is asked
//! for something.

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

/// Where forms are sent, and the page that leads to the Deployment that there is now.
pub const ADDRESS: &str = "/playground";
/// Where the server tells what changes.
const EVENTS: &str = "/playground/events";
/// Content type that asks the server for data instead of a page.
const BYTES: &str = "application/octet-stream";

/// The playground of the page. Copies are handles of the same one.
#[derive(Clone, Copy)]
pub struct PlaygroundState {
    /// The playground as the server told it last.
    pub now: RwSignal<Playground>,
    /// The command that is explained; empty until the viewer points at a button.
    pub explained_command: RwSignal<String>,
    /// The pod that the viewer chose, and which one was opened on the page then.
    chosen_pod: RwSignal<Option<(String, String)>>,
    opened_pod: OpenedPod,
}

impl PlaygroundState {
    /// The playground as the page began; in the browser it is kept as the server tells it, as long as the component around lives.
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

    /// The pod that the buttons mean; empty for any. Follows what is chosen, what is opened, and which pods there are.
    pub fn pod(self) -> String {
        let (chosen, opened) = (self.chosen_pod.read(), self.opened_pod.0.read());
        self.now.with(|now| selected_pod(chosen.as_ref(), &opened, &now.pods))
    }

    /// The viewer chose a pod; empty for any.
    pub fn choose(self, pod: String) {
        self.chosen_pod.set(Some((pod, self.opened_pod.0.get_untracked())));
    }

    /// Follows the button of that name; what it was last stays when it is gone.
    pub fn button(self, action: String) -> Memo<Button> {
        let first = self.now.with_untracked(|now| now.button(&action).cloned()).unwrap_or_default();
        following(self.now, first, move |now: &Playground| now.button(&action).cloned())
    }

    fn listen(self) -> Option<Stream> {
        Stream::open(&at(EVENTS), move |text| {
            // What cannot be read is of another build; the page says that by itself.
            if let Some(now) = postcard_base64::decode(text) {
                set_if_new(&self.now, now);
            }
        })
    }

    /// Sends what a form asks for, without loading the page again.
    pub fn submit(self, event: &SubmitEvent) {
        // A form that cannot be read is sent by the browser, as it is without scripts.
        let Some(answer) = browser::send_form(event, &at(ADDRESS), BYTES) else { return };
        event.prevent_default();
        spawn_local(async move {
            let bytes = match answer.await {
                Some(answer) => answer.bytes().await,
                None => None,
            };
            // Without an answer the server is gone, and the page says so by itself.
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
