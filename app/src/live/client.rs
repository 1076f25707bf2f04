//! The client: one connection to the server and one queue of frames. The queue is drained once per animation frame; in a hidden
//! tab, which has no animation frames, as soon as frames arrive.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::{IntervalHandle, WindowListenerHandle};
use leptos::prelude::*;
use send_wrapper::SendWrapper;
use timeline::Millis;
use timeline::address::at;
use timeline::wire::{
    self, OPEN_AGAIN, PROTOCOL, Position, REFUSED, SIGN_IN_REQUIRED, Scope, ServerFrame, ViewerFrame,
};

use super::link::{LinkEffect, LinkEvent, LinkState, step};
use crate::browser::{self, Socket, page_millis};
use crate::exported::Exported;
use crate::rows::set_if_new;

/// Address of the server's stream.
const STREAM: &str = "/api/v1/stream";
/// Key under which the tab stores the build for which it reloaded, or that it reloaded to sign in: it reloads once, until it is connected.
const RELOADED_FOR: &str = "rollcast-reloaded-for";
const SIGN_IN: &str = "sign-in";
/// Pages reload spread over this time, in milliseconds, after an update of the server.
const RELOAD_SPREAD_MILLIS: f64 = 3_000.0;
/// A page whose build is still another one after a reload reloads again after this time: on a wall nobody does it.
const RELOAD_AGAIN: Duration = Duration::from_secs(600);
/// Interval of checks for connection retries.
const TICK: Duration = Duration::from_millis(250);
/// The computer slept if the time of day advanced this much further than the page's clock, which stops during sleep, in milliseconds.
const SLEPT_MILLIS: f64 = 5_000.0;
/// Text if the page cannot read the server's frames and a reload did not help.
const UNREADABLE: &str = "Rollcast was updated. Reload this page.";

/// A screen that shows frames.
pub trait Screen {
    /// Returns the scope that the screen subscribes to.
    fn scope(&self) -> Scope;
    /// Reports whether the server is connected, or the first connection is being made. Without a connection, `page_millis` is the
    /// time of the last frame, which is earlier than the detection of the loss.
    fn link(&self, is_linked: bool, page_millis: f64);
    /// Handles the frames since the last call. Updates the visible parts of a hidden tab, such as its title.
    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Option<ScreenRequest>;
    /// Handles an animation frame; a hidden tab has none.
    fn animate(&self, page_millis: f64) -> Option<ScreenRequest>;
    /// Returns the position of the page's copy, from which the server continues; `None` if everything has to be sent.
    fn position(&self) -> Option<Position> {
        None
    }
    /// Ends the screen's own activity when its page is left.
    fn end(&self) {}
}

/// Request of a screen after it handled frames.
pub enum ScreenRequest {
    /// A new snapshot: frames are missing, or the scope of the screen changed.
    Snapshot,
    /// The verdict and the story at that time.
    Moment(Millis),
}

/// The connection of the whole application, which stays open across pages. Copies are handles of the same one.
#[derive(Clone, Copy)]
pub struct Live {
    build: StoredValue<String>,
    client: StoredValue<Option<SendWrapper<Client>>>,
    /// Whether the page is about to reload for another build.
    is_reloading: StoredValue<bool>,
    /// Problem of this page as a whole; empty for none.
    pub trouble: RwSignal<&'static str>,
    /// Seconds until the lost connection is retried; `None` while it is open or a try is in progress.
    pub retry_seconds: RwSignal<Option<u32>>,
}

impl Live {
    /// Provides the connection to all pages; it opens when the first page subscribes.
    pub fn provide(build: String) {
        provide_context(Self {
            build: StoredValue::new(build),
            client: StoredValue::new(None),
            is_reloading: StoredValue::new(false),
            trouble: RwSignal::new(""),
            retry_seconds: RwSignal::new(None),
        });
    }

    /// Returns the connection of the application around this component.
    ///
    /// # Panics
    /// Outside of the application.
    #[expect(clippy::expect_used, reason = "every page is inside the application")]
    pub fn of_app() -> Self {
        use_context().expect("Live is provided by App")
    }

    /// Returns the build of the page's program.
    pub fn build(self) -> String {
        self.build.get_value()
    }

    /// Subscribes a screen once the page is alive, until the surrounding component is disposed.
    pub fn show<S: Screen + 'static>(self, begin: impl FnOnce() -> S + 'static) {
        let mut begin = Some(begin);
        let shown: StoredValue<Option<SendWrapper<Rc<dyn Screen>>>> = StoredValue::new(None);
        Effect::new(move |_| {
            let Some(begin) = begin.take() else { return };
            let screen: Rc<dyn Screen> = Rc::new(begin());
            shown.set_value(Some(SendWrapper::new(screen.clone())));
            let client = self.client.try_update_value(|client| {
                client.get_or_insert_with(|| SendWrapper::new(Client::start(self, true))).clone()
            });
            if let Some(client) = client {
                client.follow(screen);
            }
        });
        on_cleanup(move || {
            let Some(screen) = shown.try_update_value(Option::take).flatten() else { return };
            screen.end();
            self.client.with_value(|client| client.iter().for_each(|client| client.leave(&screen)));
        });
    }
}

/// One connection. Clones share it; it ends with [`Client::stop`].
#[derive(Clone)]
pub struct Client(Rc<Inner>);

struct Inner {
    live: Live,
    /// The record that answers instead of a server.
    exported: Option<Exported>,
    /// Whether the live state of the whole page follows this client.
    is_main: bool,
    followed: RefCell<Option<Rc<dyn Screen>>>,
    state: Cell<LinkState>,
    socket: RefCell<Option<Socket>>,
    queue: RefCell<Vec<ServerFrame>>,
    is_over: Cell<bool>,
    /// The timer that checks the connection, and the listeners for the page's return.
    watch: RefCell<Option<(Option<IntervalHandle>, [WindowListenerHandle; 4])>>,
}

impl Client {
    /// Connects the page, or a tile of the wall beside it. With `is_main` the live state of the whole page (`html[data-live]`)
    /// follows this client. Called from effects.
    pub fn start(live: Live, is_main: bool) -> Self {
        let client = Self(Rc::new(Inner {
            live,
            exported: Exported::of_app(),
            is_main,
            followed: RefCell::default(),
            state: Cell::default(),
            socket: RefCell::default(),
            queue: RefCell::default(),
            is_over: Cell::default(),
            watch: RefCell::default(),
        }));
        if client.0.exported.is_some() {
            client.handle_event(LinkEvent::Opened); // and never closes
        } else {
            client.connect();
            client.watch_over();
        }
        client.next_frame();
        client
    }

    /// Keeps the connection to a server open.
    fn watch_over(&self) {
        let client = self.clone();
        let ahead_millis = || browser::now_millis() as f64 - page_millis();
        let known_ahead = Cell::new(ahead_millis());
        let tick = move || {
            let ahead = ahead_millis();
            let has_slept = ahead - known_ahead.replace(ahead) > SLEPT_MILLIS;
            client.handle_event(if has_slept { LinkEvent::Slept } else { LinkEvent::Tick });
            if browser::is_hidden() {
                client.drain(); // frames that arrived before the tab was hidden
            }
        };
        let listener = |event: &str| {
            let client = self.clone();
            browser::listen(event, move |_| {
                if !browser::is_hidden() {
                    client.handle_event(LinkEvent::WokeUp);
                }
            })
        };
        let listeners = ["online", "pageshow", "focus", "visibilitychange"].map(listener);
        self.0.watch.replace(Some((browser::start_interval(TICK, tick), listeners)));
    }

    pub fn stop(&self) {
        self.0.is_over.set(true);
        self.0.followed.replace(None);
        self.0.socket.replace(None);
        if let Some((interval, listeners)) = self.0.watch.take() {
            interval.iter().for_each(IntervalHandle::clear);
            listeners.into_iter().for_each(WindowListenerHandle::remove);
        }
    }

    /// Subscribes another screen.
    pub fn follow(&self, screen: Rc<dyn Screen>) {
        self.follow_nothing();
        self.0.queue.borrow_mut().clear(); // frames of the previous screen
        self.tell_link(&*screen);
        let since = screen.position();
        self.0.followed.replace(Some(screen));
        if self.0.state.get().is_open() {
            self.subscribe(since);
        }
    }

    /// Ends the subscription of a screen, unless another screen has replaced it.
    fn leave(&self, screen: &Rc<dyn Screen>) {
        let is_it = self.0.followed.borrow().as_ref().is_some_and(|known| Rc::ptr_eq(known, screen));
        if is_it {
            self.follow_nothing();
        }
    }

    /// Ends the present subscription, if there is one. Otherwise the server would send the next screen of the same list only
    /// changes, and that screen does not have the earlier rows.
    fn follow_nothing(&self) {
        if self.0.followed.take().is_some() && self.0.state.get().is_open() {
            self.send_frame(&ViewerFrame::Subscribe { scope: Scope::Nothing, since: None });
        }
    }

    fn screen(&self) -> Option<Rc<dyn Screen>> {
        self.0.followed.borrow().clone()
    }

    fn tell_link(&self, screen: &dyn Screen) {
        let state = self.0.state.get();
        screen.link(!state.is_lost(), state.silent_since().unwrap_or_else(page_millis));
    }

    fn handle_event(&self, event: LinkEvent) {
        if self.0.is_over.get() {
            return;
        }
        let before = self.0.state.get();
        let (state, effect) = step(before, event, page_millis(), browser::chance());
        self.0.state.set(state);
        if state != before
            && let Some(screen) = self.screen()
        {
            self.tell_link(&*screen);
        }
        if self.0.is_main {
            set_if_new(&self.0.live.retry_seconds, state.retry_seconds(page_millis()));
            if state.is_live() != before.is_live() {
                browser::note("data-live", if state.is_live() { "true" } else { "false" });
            }
        }
        match effect {
            LinkEffect::None => {}
            LinkEffect::Connect => self.connect(),
            LinkEffect::Greet => {
                self.send_frame(&ViewerFrame::Hello { protocol: PROTOCOL, build: self.0.live.build() });
                self.subscribe(self.screen().and_then(|screen| screen.position()));
            }
        }
    }

    fn connect(&self) {
        self.0.socket.replace(None);
        let (opened, heard, closed) = (self.clone(), self.clone(), self.clone());
        let socket = Socket::open(
            &at(STREAM),
            move || opened.handle_event(LinkEvent::Opened),
            move |bytes| heard.receive(&bytes),
            move |code| closed.handle_close(code),
        );
        self.0.socket.replace(socket);
    }

    fn handle_close(&self, code: u16) {
        match code {
            // The server would refuse again: retried as seldom as with a silent server.
            REFUSED => {}
            OPEN_AGAIN => {
                let client = self.clone();
                // After the callback, because the new socket replaces the one whose callback runs now.
                browser::run_after(Duration::ZERO, move || client.handle_event(LinkEvent::OpenAgain));
            }
            _ => {
                // The viewer is not signed in (any more): the server redirects to sign-in and back. A proxy may authenticate
                // viewers for pages but not for streams: then the page stays and retries, as with a server that does not respond.
                if code == SIGN_IN_REQUIRED && remember_reload(SIGN_IN) {
                    browser::reload();
                }
                self.handle_event(LinkEvent::Closed);
            }
        }
    }

    fn receive(&self, bytes: &[u8]) {
        self.handle_event(LinkEvent::Heard);
        match wire::decode(bytes) {
            // While several servers behind one address are updated, a wall's connections lead to either build: only the main one
            // decides. A server with another protocol refuses a tile, which retries later.
            Ok(ServerFrame::Hello { protocol, build })
                if self.0.is_main && (protocol != PROTOCOL || build != self.0.live.build()) =>
            {
                self.reload_for(&build);
            }
            Ok(frame) => {
                if self.0.is_main && matches!(frame, ServerFrame::Hello { .. }) {
                    browser::remember_here(RELOADED_FOR, None); // the other build may appear again
                }
                self.0.queue.borrow_mut().push(frame);
                if browser::is_hidden() {
                    self.drain(); // timers of a hidden tab may run only once a minute
                }
            }
            // The server uses another encoding now.
            Err(_) => self.reload_for("unreadable"),
        }
    }

    fn subscribe(&self, since: Option<Position>) {
        let scope = self.screen().map_or(Scope::Nothing, |screen| screen.scope());
        self.send_frame(&ViewerFrame::Subscribe { scope, since });
    }

    fn send_frame(&self, frame: &ViewerFrame) {
        if let Some(exported) = &self.0.exported {
            // A page begins with a snapshot, so that only a moment needs a request.
            if let ViewerFrame::Moment { at_millis } = frame {
                let moment = exported.record.moment(*at_millis);
                self.0.queue.borrow_mut().push(ServerFrame::Moment(Box::new(moment)));
            }
        } else if let Some(socket) = self.0.socket.borrow().as_ref() {
            // Frames of viewers can always be encoded.
            if let Ok(bytes) = wire::encode(frame) {
                socket.send(&bytes);
            }
        }
    }

    fn drain(&self) {
        let frames = std::mem::take(&mut *self.0.queue.borrow_mut());
        if let Some(screen) = self.screen().filter(|_| !frames.is_empty()) {
            self.send_request(screen.frames(frames, page_millis()));
        }
    }

    fn send_request(&self, request: Option<ScreenRequest>) {
        match request {
            None => {}
            Some(ScreenRequest::Snapshot) => self.subscribe(None),
            Some(ScreenRequest::Moment(at_millis)) => self.send_frame(&ViewerFrame::Moment { at_millis }),
        }
    }

    fn next_frame(&self) {
        let client = self.clone();
        browser::next_frame(move || {
            if client.0.is_over.get() {
                return;
            }
            client.drain();
            if let Some(screen) = client.screen() {
                client.send_request(screen.animate(page_millis()));
            }
            client.next_frame();
        });
    }

    /// Reloads the page for another build of the server: once, and at a random time, so that not all pages reload together. With
    /// several servers behind one address, the next page may have the old build again; and a tab without storage cannot know that
    /// it reloaded.
    fn reload_for(&self, build: &str) {
        if self.0.live.is_reloading.get_value() {
            return;
        }
        if !remember_reload(build) {
            if set_if_new(&self.0.live.trouble, UNREADABLE) {
                browser::run_after(RELOAD_AGAIN, browser::reload);
            }
            return;
        }
        self.0.live.is_reloading.set_value(true);
        let wait = browser::chance() * RELOAD_SPREAD_MILLIS;
        browser::run_after(Duration::from_millis(wait as u64), browser::reload);
    }
}

/// Stores why the tab reloads; returns false if it reloaded for this reason before, or has no storage.
fn remember_reload(reason: &str) -> bool {
    let is_reloaded = browser::remembered_here(RELOADED_FOR).as_deref() == Some(reason);
    !is_reloaded && browser::remember_here(RELOADED_FOR, Some(reason))
}
