//! The pages of Rollcast. Rendered complete on the server (`ssr`), then taken over and kept live in the browser
//! (`hydrate`): the same slots and scenes, the same `timeline` code, the same model.
//!
//! ```text
//!   payload (snapshot) ──► board (signals, slots) and scene (lists as rows) ──► components
//!                             ▲
//!   websocket ──► queue ──────┘  drained once per animation frame; lists are kept right by key
//! ```

// The types of nested views are deep.
#![recursion_limit = "512"]
// The program of one kind of page uses a part of what is here.
#![cfg_attr(
    not(all(feature = "page-list", feature = "page-rollout", feature = "page-wall")),
    allow(dead_code, unused_imports, reason = "the program of one kind of page uses a part of what is here")
)]

pub mod address;
pub mod board;
pub mod components;
#[cfg(feature = "ssr")]
pub mod detail;
pub mod list;
pub mod live;
pub mod motion;
pub mod numbers;
pub mod pages;
pub mod payload;
#[cfg(feature = "ssr")]
pub mod playground;
#[cfg(feature = "ssr")]
pub mod preview;
pub mod rows;
pub mod scene;
pub mod score;
#[cfg(feature = "ssr")]
pub mod shell;
pub mod wall;

pub use payload::Payload;

/// Takes over the page that the server rendered: its texts follow signals, its lists follow the model.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    pages::take_over();
}
