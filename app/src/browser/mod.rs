//! The browser's functions in one place: nothing else in the application names them. `server/tests/all/architecture.rs` checks the sources.
//! Types of events and elements may be used anywhere; the painter of the canvas is [`crate::score::canvas`].
//!
//! Everything here runs in browsers only, from effects and event handlers. A function that the browser lacks or refuses (storage,
//! clipboard, sound) returns `None` or `false` and does not panic. Something that lasts is a guard, which ends it when dropped, or a handle
//! of Leptos, which its caller clears.

mod address;
mod answer;
mod awake;
mod clipboard;
mod document;
mod events;
mod frames;
mod notification;
mod socket;
mod sound;
mod storage;
mod stream;
mod time;
mod view;

pub use address::{base, block_links, go_to, load, origin, path, path_with_search, readdress, reload, search};
pub use answer::{HttpResponse, fetch, send_form};
pub use awake::WakeLock;
pub use clipboard::copy;
pub use document::{
    InertPage, STOPPED, all_in, bind_style, bytes_of_base64, focus, focus_in_place, focus_page, focused, has_popup,
    note, show_stopped, style, tab_icon, text_of, toggle_popup,
};
pub use events::{click, closest, has_modifier, is_key, is_on, is_plain, listen, on_key, on_window};
pub use frames::{chance, next_frame, run_after, run_after_effects, run_every, start_interval};
pub use notification::Notifications;
pub use socket::Socket;
pub use sound::Sound;
pub use storage::{remember, remember_here, remembered, remembered_here};
pub use stream::Stream;
pub use time::{behind_utc_millis, date_in, iso, now_millis, page_millis, time_in};
pub use view::{Rect, font_size_px, is_cut, is_hidden, matches, scroll_to_px, scrolled_px, window_height_px};
