//! The playground in the browser: what the server tells of it, what the viewer points at and chooses, and how the server is asked
//! for something.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use send_wrapper::SendWrapper;
use timeline::wire;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    EventSource, FormData, Headers, HtmlButtonElement, HtmlFormElement, MessageEvent, RequestInit, Response,
    UrlSearchParams,
};

use crate::playground::{Answer, Playground, meant};
use crate::rollout::opened::Opened;
use crate::rows::set_if_new;

/// Where forms are sent, and the page that leads to the Deployment that there is now.
pub const ADDRESS: &str = "/playground";
/// Where the server tells what changes.
const EVENTS: &str = "/playground/events";
/// What the server is asked to answer with instead of a page.
const BYTES: &str = "application/octet-stream";

/// The playground of the page. Copies are handles of the same one.
#[derive(Clone, Copy)]
pub struct PlaygroundState {
    /// How it is.
    pub now: RwSignal<Playground>,
    /// The command that is explained; empty until the viewer points at a button.
    pub explained: RwSignal<String>,
    /// The pod that the viewer chose, and which one was opened on the page then.
    chosen: RwSignal<Option<(String, String)>>,
    opened: Opened,
}

/// A stream of events, with what listens to it.
struct Stream {
    source: EventSource,
    _listener: Closure<dyn FnMut(MessageEvent)>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.source.close();
    }
}

impl PlaygroundState {
    /// The playground as the page began; in the browser it is kept as the server tells it, as long as the component around lives.
    #[must_use]
    pub fn new(first: Playground) -> Self {
        let state = Self {
            now: RwSignal::new(first),
            explained: RwSignal::new(String::new()),
            chosen: RwSignal::new(None),
            opened: Opened::of_app(),
        };
        let stream = StoredValue::new(None);
        Effect::new(move |_| stream.set_value(state.listen().map(SendWrapper::new)));
        state
    }

    /// The pod that the buttons mean; empty for any. Follows what is chosen, what is opened, and which pods there are.
    #[must_use]
    pub fn pod(self) -> String {
        let (chosen, opened) = (self.chosen.read(), self.opened.0.read());
        self.now.with(|now| meant(chosen.as_ref(), &opened, &now.pods))
    }

    /// The viewer chose a pod; empty for any.
    pub fn choose(self, pod: String) {
        self.chosen.set(Some((pod, self.opened.0.get_untracked())));
    }

    fn listen(self) -> Option<Stream> {
        let source = EventSource::new(EVENTS).ok()?;
        let listener = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            // What cannot be read is of another build; the page says that by itself.
            if let Some(now) = event.data().as_string().and_then(|text| Playground::of_text(&text)) {
                set_if_new(&self.now, now);
            }
        });
        source.set_onmessage(Some(listener.as_ref().unchecked_ref()));
        Some(Stream { source, _listener: listener })
    }

    /// Sends what a form asks for, without loading the page again.
    pub fn submit(self, event: &SubmitEvent) {
        // A form that cannot be read is sent by the browser, as it is without scripts.
        let Some(form) = filled_in(event) else { return };
        event.prevent_default();
        spawn_local(async move {
            // Without an answer the server is gone, and the page says so by itself.
            match asked(&form).await {
                Some(Answer { is_new: true, .. }) => {
                    let _ = window().location().assign(ADDRESS);
                }
                Some(Answer { playground, .. }) => {
                    set_if_new(&self.now, playground);
                }
                None => {}
            }
        });
    }
}

/// What stands in a form, with the button that it is sent by.
fn filled_in(event: &SubmitEvent) -> Option<UrlSearchParams> {
    let form: HtmlFormElement = event.target()?.dyn_into().ok()?;
    let data = FormData::new_with_form(&form).ok()?;
    if let Some(button) = event.submitter().and_then(|by| by.dyn_into::<HtmlButtonElement>().ok()) {
        data.append_with_str(&button.name(), &button.value()).ok()?;
    }
    UrlSearchParams::new_with_str_sequence_sequence(&data).ok()
}

async fn asked(form: &UrlSearchParams) -> Option<Answer> {
    let headers = Headers::new().ok()?;
    headers.set("accept", BYTES).ok()?;
    let request = RequestInit::new();
    request.set_method("POST");
    request.set_headers(&headers);
    request.set_body(form);
    let answer = JsFuture::from(window().fetch_with_str_and_init(ADDRESS, &request)).await.ok()?;
    let answer: Response = answer.dyn_into().ok()?;
    let bytes = JsFuture::from(answer.array_buffer().ok()?).await.ok()?;
    wire::decode(&js_sys::Uint8Array::new(&bytes).to_vec()).ok()
}
