//! The pages of Rollcast, a Leptos application: rendered complete on the server (feature `ssr`), then taken over and kept live in
//! the browser (feature `hydrate`). The same components run in both; nothing is rendered in two ways.
//!
//! ```text
//!   payload (what the page is about, in the document) ──► pages ──► components
//!                                                           ▲  signals, one per object and value
//!   websocket ──► live::client (queue) ──► the page's screen ┘  drained once per animation frame
//! ```
//!
//! Overview: [`app`] has the routes, [`pages`] one file per page, [`components`] one file per visible part, [`score`] the geometry of the
//! picture and its painters, `live` the connection, [`browser`] all calls of the browser.

#[cfg(not(erase_components))]
compile_error!(
    "server and page are compiled with `--cfg erase_components` (.cargo/config.toml); RUSTFLAGS of your own hides it"
);

pub mod app;
pub mod browser;
#[cfg(feature = "ssr")]
pub mod compare;
pub mod components;
pub mod connection;
pub mod context;
pub mod debounce;
pub mod detail;
pub mod elements;
pub mod exported;
pub mod history;
pub mod images;
pub mod keep_focus;
pub mod link_preview;
pub(crate) mod list;
pub(crate) mod live;
pub mod measure;
pub mod news;
pub mod numbers;
pub mod pages;
pub mod parts;
pub mod payload;
pub mod playground;
pub mod postcard_base64;
#[cfg(feature = "ssr")]
pub mod preview;
pub(crate) mod rollout;
pub mod rows;
pub mod scoped;
pub mod score;
#[cfg(feature = "ssr")]
pub mod shell;
pub mod status;
pub mod wall;
pub mod zone;

pub use payload::{Page, Payload};

/// Hydrates the document that the server rendered, once all required parts of the program are loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub async fn hydrate() {
    say_when_stopped();
    let page: Option<Page> = browser::text_of(payload::ELEMENT).and_then(|text| postcard_base64::decode(&text));
    match page {
        Some(page) => {
            timeline::address::set_base(&browser::base());
            for part in parts::Part::for_page(&page) {
                part.load().await;
            }
            leptos::mount::hydrate_body(move || app::App(app::AppProps { page }));
        }
        None => browser::show_stopped(),
    }
}

/// Hydrates an exported file with the given content.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub async fn hydrate_exported(content: Vec<u8>) {
    use leptos::prelude::Suspend;
    use parts::{Part, PicturePlace, pictures};

    say_when_stopped();
    Part::Pictures.load().await;
    leptos::mount::hydrate_body(move || Suspend::new(pictures(PicturePlace::File(content))));
}

#[cfg(feature = "hydrate")]
fn say_when_stopped() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        browser::show_stopped();
    }));
}
