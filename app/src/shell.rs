//! The HTML document around a page. Everything it loads comes from this server and names the build.

use leptos::prelude::*;

use crate::App;
use crate::payload::{self, Payload};

/// The whole document.
#[must_use]
pub fn shell(payload: Payload, build: &str) -> impl IntoView + use<> {
    let versioned = |path: &str| format!("{path}?v={build}");
    let title = payload.title();
    let text = payload.to_text();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{title}</title>
                <link rel="icon" type="image/svg+xml" href=versioned("/icon.svg")/>
                <link rel="stylesheet" href=versioned("/pkg/rollcast.css")/>
                <link rel="modulepreload" href=versioned("/pkg/rollcast.js")/>
                <link rel="preload" r#as="fetch" crossorigin="anonymous" href=versioned("/pkg/rollcast_bg.wasm")/>
                <script src=versioned("/theme.js")></script>
                <script type="module" src=versioned("/start.js")></script>
                <script id=payload::ELEMENT type="application/octet-stream" inner_html=text></script>
            </head>
            <body>
                <App payload=payload/>
            </body>
        </html>
    }
}
