//! The client: one link, one queue of frames, drained once per animation frame into whatever the page shows; in a hidden tab,
//! where no animation frames come, as soon as they arrive.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timeline::Millis;
use timeline::frame::{self, PROTOCOL, Position, Scope, ServerFrame, Unreadable, ViewerFrame};
use wasm_bindgen::prelude::*;

use super::link::{Effect, LinkEvent, LinkState, step};
use super::socket::{Socket, SocketEvent};

/// Where the page remembers for which build it reloaded, so that it does so once.
const RELOADED_FOR: &str = "rollcast-reloaded-for";
/// Pages reload spread over this time, in milliseconds, when the server was updated.
const RELOAD_SPREAD_MILLIS: f64 = 3_000.0;
/// Tries of the link are looked at this often, in milliseconds.
const TICK_MILLIS: i32 = 250;

/// What shows the frames.
pub trait Screen {
    /// Reads a frame; `None` where it is not about what this screen shows.
    ///
    /// # Errors
    /// When it is no frame of this version.
    fn decode(&self, bytes: &[u8]) -> Result<Option<ServerFrame>, Unreadable> {
        frame::decode_server(bytes).map(Some)
    }
    /// How the link is.
    fn link(&self, state: LinkState, page_millis: f64);
    /// Frames that arrived since the last ones. What is seen of a hidden tab, such as its title, follows here.
    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Ask;
    /// An animation frame; none comes while the tab is hidden.
    fn animate(&self, page_millis: f64) -> Ask;
    /// Where the page's copy stands.
    fn position(&self) -> Option<Position>;
}

/// What a screen wants after it took frames.
#[derive(Clone, PartialEq, Eq)]
pub enum Ask {
    /// Nothing.
    Nothing,
    /// Everything anew: frames are missing.
    Snapshot,
    /// What was said at that time.
    Moment(Millis),
    /// Something else from here on.
    Follow(Box<Scope>),
}

struct Client {
    screen: Box<dyn Screen>,
    scope: RefCell<Scope>,
    build: String,
    /// The page as a whole is as live as this client.
    is_main: bool,
    state: Cell<LinkState>,
    socket: RefCell<Option<Socket>>,
    queue: RefCell<Vec<ServerFrame>>,
    is_animating: Cell<bool>,
}

/// Starts the client of a page. It lives as long as the page.
pub fn start(screen: Box<dyn Screen>, scope: Scope, build: String, is_main: bool) {
    let client = Rc::new(Client {
        screen,
        scope: RefCell::new(scope),
        build,
        is_main,
        state: Cell::new(LinkState::Connecting { attempt: 0, tried_millis: None }),
        socket: RefCell::new(None),
        queue: RefCell::default(),
        is_animating: Cell::new(false),
    });
    client.connect();
    client.every(TICK_MILLIS, |client| {
        client.happened(LinkEvent::Tick);
        if is_hidden() {
            client.drain(); // what came before it was hidden
        }
    });
    for event in ["online", "pageshow", "focus"] {
        client.on_window(event, |client| client.happened(LinkEvent::Awake));
    }
    client.next_frame();
}

impl Client {
    fn happened(self: &Rc<Self>, event: LinkEvent) {
        let before = self.state.get();
        let (state, effect) = step(before, event, page_millis(), js_sys::Math::random());
        self.state.set(state);
        if state != before {
            self.screen.link(state, page_millis());
        }
        if self.is_main && state.is_live() != before.is_live() {
            note_live(state.is_live());
        }
        match effect {
            Effect::None => {}
            Effect::Connect => self.connect(),
            Effect::Greet => {
                let hello = ViewerFrame::Hello { protocol: PROTOCOL, build: self.build.clone() };
                self.say(&hello);
                self.subscribe(self.screen.position());
            }
        }
    }

    fn connect(self: &Rc<Self>) {
        self.socket.replace(None);
        let client = self.clone();
        let socket = Socket::open(move |event| match event {
            SocketEvent::Opened => client.happened(LinkEvent::Opened),
            SocketEvent::Closed => client.happened(LinkEvent::Closed),
            SocketEvent::Frame(bytes) => {
                client.happened(LinkEvent::Heard);
                match client.screen.decode(&bytes) {
                    Ok(Some(ServerFrame::Hello { protocol, build }))
                        if protocol != PROTOCOL || build != client.build =>
                    {
                        client.reload_for(&build);
                    }
                    Ok(Some(frame)) => {
                        client.queue.borrow_mut().push(frame);
                        if is_hidden() {
                            client.drain(); // timers may run once a minute only
                        }
                    }
                    Ok(None) => {}
                    // The server speaks another language now.
                    Err(_) => client.reload_for("unreadable"),
                }
            }
        });
        self.socket.replace(socket);
    }

    fn subscribe(&self, since: Option<Position>) {
        let scope = self.scope.borrow().clone();
        self.say(&ViewerFrame::Subscribe { scope, since });
    }

    fn say(&self, frame: &ViewerFrame) {
        if let Some(socket) = self.socket.borrow().as_ref() {
            socket.send(frame);
        }
    }

    fn drain(&self) {
        let frames = std::mem::take(&mut *self.queue.borrow_mut());
        if !frames.is_empty() {
            self.ask(self.screen.frames(frames, page_millis()));
        }
    }

    fn ask(&self, ask: Ask) {
        match ask {
            Ask::Nothing => {}
            Ask::Snapshot => self.subscribe(None),
            Ask::Follow(scope) => {
                self.scope.replace(*scope);
                self.subscribe(None);
            }
            Ask::Moment(at_millis) => self.say(&ViewerFrame::Moment { at_millis }),
        }
    }

    fn next_frame(self: &Rc<Self>) {
        if self.is_animating.replace(true) {
            return;
        }
        let client = self.clone();
        let frame = Closure::once_into_js(move || {
            client.is_animating.set(false);
            client.drain();
            client.ask(client.screen.animate(page_millis()));
            client.next_frame();
        });
        if let Some(window) = web_sys::window() {
            let _ = window.request_animation_frame(frame.unchecked_ref());
        }
    }

    /// The server has another build: reload, once, and not all pages at the same moment.
    fn reload_for(&self, build: &str) {
        let Some(window) = web_sys::window() else { return };
        if let Ok(Some(storage)) = window.session_storage() {
            if storage.get_item(RELOADED_FOR).ok().flatten().as_deref() == Some(build) {
                return;
            }
            let _ = storage.set_item(RELOADED_FOR, build);
        }
        let reload = Closure::once_into_js(move || {
            if let Some(window) = web_sys::window() {
                let _ = window.location().reload();
            }
        });
        let wait = js_sys::Math::random() * RELOAD_SPREAD_MILLIS;
        let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(reload.unchecked_ref(), wait as i32);
    }

    fn every(self: &Rc<Self>, millis: i32, run: impl Fn(&Rc<Self>) + 'static) {
        let client = self.clone();
        let callback = Closure::<dyn FnMut()>::new(move || run(&client)).into_js_value();
        if let Some(window) = web_sys::window() {
            let _ = window.set_interval_with_callback_and_timeout_and_arguments_0(callback.unchecked_ref(), millis);
        }
    }

    fn on_window(self: &Rc<Self>, event: &str, run: impl Fn(&Rc<Self>) + 'static) {
        let client = self.clone();
        let callback = Closure::<dyn FnMut()>::new(move || run(&client)).into_js_value();
        if let Some(window) = web_sys::window() {
            let _ = window.add_event_listener_with_callback(event, callback.unchecked_ref());
        }
    }
}

/// Milliseconds since the page began, never going back.
#[must_use]
pub fn page_millis() -> f64 {
    web_sys::window().and_then(|window| window.performance()).map_or(0.0, |performance| performance.now())
}

/// `<html data-live>` tells style sheets and tests whether the page hears from the server.
fn note_live(is_live: bool) {
    if let Some(root) =
        web_sys::window().and_then(|window| window.document()).and_then(|document| document.document_element())
    {
        let _ = root.set_attribute("data-live", if is_live { "true" } else { "false" });
    }
}

fn is_hidden() -> bool {
    web_sys::window().and_then(|window| window.document()).is_some_and(|document| document.hidden())
}
