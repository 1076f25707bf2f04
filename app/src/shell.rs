//! The HTML document around a page. Everything it loads comes from this server and names the build.

use leptos::prelude::*;

use crate::components::header::Brand;
use crate::pages::missing::{Missing, MissingProps};
use crate::payload::{self, Payload};
use crate::playground::{self, Playground};
use crate::scene::token::DRAWINGS;

/// The whole document of a page that lives; in the playground with its strip.
#[must_use]
pub fn shell(payload: Payload, build: &str, origin: &str, playground: Option<&Playground>) -> impl IntoView + use<> {
    let versioned = |path: &str| format!("{path}?v={build}");
    let (text, name) = (payload.to_text(), payload.program().name());
    let image = payload.image().map(|path| preview("og:image", format!("{origin}{path}")));
    let beside = match payload {
        Payload::List(_) => None,
        Payload::Deployment(_) => Some("/notify.js"),
        Payload::Wall(_) => Some("/wall.js"),
    };
    let beside = beside.into_iter().chain(playground.map(|_| "/playground.js"));
    let beside = beside.map(|path| view! { <script type="module" src=versioned(path)></script> }).collect_view();
    let strip = playground.map(|playground| match &payload {
        // The strip is about one Deployment; elsewhere it only tells.
        Payload::Deployment(of) if playground.page == of.path() => playground::strip(playground),
        _ => playground::caption(playground),
    });
    let sheet = playground.map(|_| view! { <link rel="stylesheet" href=versioned("/pkg/playground.css")/> });
    let program = view! {
        {image}
        {sheet}
        <link rel="modulepreload" href=versioned(&format!("/pkg/{name}.js"))/>
        <link rel="preload" r#as="fetch" crossorigin="anonymous" href=versioned(&format!("/pkg/{name}_bg.wasm"))/>
        <script type="module" src=versioned("/start.js")></script>
        {beside}
        <script id=payload::ELEMENT type="application/octet-stream" data-program=name inner_html=text></script>
    };
    let (title, description) = (payload.title(), payload.description());
    let body = view! { {strip}{crate::pages::page(payload)} };
    document(title, description, build, program.into_any(), body.into_any())
}

/// The whole document for an address that does not exist; no program runs in it.
#[must_use]
pub fn missing(path: String, why: String, instead: Vec<(String, String)>, build: &str) -> impl IntoView + use<> {
    let body = Missing(MissingProps { path, why, instead }).into_any();
    document("Not found — Rollcast".to_owned(), String::new(), build, ().into_any(), body)
}

/// A document around markup that was rendered before; no program runs in it.
#[must_use]
pub fn plain(title: String, markup: String, build: &str) -> impl IntoView + use<> {
    let body = view! {
        <header class="top"><Brand/></header>
        <main><h1 class="aside">{title.clone()}</h1><div class="alone" inner_html=markup></div></main>
        <svg class="drawings" aria-hidden="true" inner_html=DRAWINGS></svg>
    };
    document(title, String::new(), build, ().into_any(), body.into_any())
}

fn document(title: String, description: String, build: &str, program: AnyView, body: AnyView) -> impl IntoView + use<> {
    let versioned = |path: &str| format!("{path}?v={build}");
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{title.clone()}</title>
                <meta name="description" content=description.clone()/>
                {preview("og:title", title)}
                {preview("og:description", description)}
                {preview("og:type", "website".to_owned())}
                {preview("og:site_name", "Rollcast".to_owned())}
                <link rel="icon" type="image/svg+xml" href=versioned("/icon.svg")/>
                <link rel="stylesheet" href=versioned("/pkg/rollcast.css")/>
                <script src=versioned("/theme.js")></script>
                {program}
            </head>
            <body>{body}</body>
        </html>
    }
}

/// What a chat shows of a link.
fn preview(property: &'static str, content: String) -> impl IntoView {
    leptos::html::meta().attr("property", property).content(content)
}
