//! The HTML document around a page. Everything it loads comes from this server and names the build.

use leptos::prelude::*;
use leptos_meta::MetaTags;

use crate::app::App;
use crate::components::tokens::Drawings;
use crate::history::HistoryPayload;
use crate::pages::history::HistoryPage;
use crate::pages::missing::Missing;
use crate::payload::{self, Page};

/// The whole document of a page that lives. `origin` is how this server is addressed: previews need whole addresses.
#[must_use]
pub fn shell(page: Page, origin: &str) -> impl IntoView + use<> {
    let build = page.build.clone();
    let versioned = |path: &str| format!("{path}?v={build}");
    let image = page.payload.image().map(|path| preview("og:image", format!("{origin}{path}")));
    let sheet =
        page.playground.as_ref().map(|_| view! { <link rel="stylesheet" href=versioned("/pkg/playground.css")/> });
    let head = view! {
        {image}
        {sheet}
        <link rel="modulepreload" href=versioned("/pkg/rollcast.js")/>
        <link rel="preload" r#as="fetch" crossorigin="anonymous" href=versioned("/pkg/rollcast_bg.wasm")/>
        <script type="module" src=versioned("/start.js")></script>
        <script id=payload::ELEMENT type="application/octet-stream" inner_html=page.to_text()></script>
        <MetaTags/>
    };
    let (title, description) = (page.payload.title(), page.payload.description());
    let head = view! { {previews(title, description)}{head} };
    document(&build, head.into_any(), view! { <App page/> }.into_any())
}

/// The whole document for an address that does not exist; no program runs in it.
#[must_use]
pub fn missing(path: String, why: String, instead: Vec<(String, String)>, build: &str) -> impl IntoView + use<> {
    let body = view! { <Missing path why instead/> };
    document(build, view! { <title>"Not found — Rollcast"</title> }.into_any(), body.into_any())
}

/// The whole document of what is kept; no program runs in it.
#[must_use]
pub fn history(history: HistoryPayload, build: &str) -> impl IntoView + use<> {
    let (title, description) = (history.title(), history.said());
    let head = view! { <title>{title.clone()}</title>{previews(title, description)} };
    document(build, head.into_any(), view! { <HistoryPage history/> }.into_any())
}

fn document(build: &str, head: AnyView, body: AnyView) -> impl IntoView + use<> {
    let versioned = |path: &str| format!("{path}?v={build}");
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" type="image/svg+xml" href=versioned("/icon.svg")/>
                <link rel="stylesheet" href=versioned("/pkg/rollcast.css")/>
                <script src=versioned("/theme.js")></script>
                {head}
            </head>
            <body>{body}<Drawings/></body>
        </html>
    }
}

/// What a chat shows of a link; the title itself is the page's.
fn previews(title: String, description: String) -> impl IntoView {
    view! {
        <meta name="description" content=description.clone()/>
        {preview("og:title", title)}
        {preview("og:description", description)}
        {preview("og:type", "website".to_owned())}
        {preview("og:site_name", "Rollcast".to_owned())}
    }
}

fn preview(property: &'static str, content: String) -> impl IntoView {
    leptos::html::meta().attr("property", property).content(content)
}
