//! The HTML document around a page. Everything it loads comes from this server and names the build.

use leptos::prelude::*;
use leptos_meta::MetaTags;
use timeline::address::{at, base};

use crate::app::App;
use crate::compare::ComparePayload;
use crate::components::audience::Footer;
use crate::components::playground::strip::StillStrip;
use crate::components::preview::Origin;
use crate::components::tokens::Drawings;
use crate::detail::share::is_local;
use crate::history::HistoryPayload;
use crate::pages::compare::ComparePage;
use crate::pages::exported::ExportedPage;
use crate::pages::history::HistoryPage;
use crate::pages::missing::Missing;
use crate::pages::shares::{ConfirmPage, SharedPage, SharesPage, SharesPayload};
use crate::pages::sign_in::{SignIn, SignInPayload};
use crate::pages::status::StatusPage;
use crate::parts::Part;
use crate::payload::{self, Export, Page, Preview};
use crate::playground::Playground;
use crate::postcard_base64;
use crate::status::StatusPayload;

const SHARED: &str = "A shared rollout — Rollcast";

/// Returns the address of a file of this build.
fn versioned(path: &str, build: &str) -> String {
    at(&format!("{path}?v={build}"))
}

/// The whole document of a live page. `origin` is the address of this server: previews need absolute addresses. `files` returns the names
/// of the files of a part of the program.
pub fn shell(page: Page, origin: &str, files: fn(Part) -> Vec<String>) -> impl IntoView + use<> {
    let build = page.build.clone();
    let versioned = |path: &str| versioned(path, &build);
    provide_context(Origin(origin.to_owned()));
    let sheet =
        page.playground.as_ref().map(|_| view! { <link rel="stylesheet" href=versioned("/pkg/playground.css")/> });
    // They load in parallel to the program.
    let parts = Part::for_page(&page).flat_map(files).map(
        |file| view! { <link rel="preload" r#as="fetch" crossorigin="anonymous" href=at(&format!("/pkg/parts/{file}"))/> },
    );
    // With this mark, style sheets hide QR codes: no telephone can open an address of this machine only.
    let local = is_local(origin).then(|| view! { <meta name="local"/> });
    let head = view! {
        // First, because some readers read only the beginning of a document.
        <MetaTags/>
        {local}
        {sheet}
        <link rel="modulepreload" href=versioned("/pkg/rollcast.js")/>
        <link rel="preload" r#as="fetch" crossorigin="anonymous" href=versioned("/pkg/rollcast_bg.wasm")/>
        {parts.collect_view()}
        <script type="module" src=versioned("/start.js")></script>
        <script id=payload::ELEMENT type="application/octet-stream" inner_html=postcard_base64::encode(&page)></script>
    };
    document(&build, head.into_any(), view! { <App page/> }.into_any())
}

/// The whole document of an error; the page runs no program. The title has the status code of the response.
pub fn refusal(
    title: &str,
    asked_address: String,
    why: String,
    instead: Vec<(String, String)>,
    build: &str,
) -> impl IntoView + use<> {
    let title = format!("{title} — Rollcast");
    still_document(build, &title, ().into_any(), view! { <Missing asked_address why instead/> }.into_any())
}

/// The whole document of the history; the page runs no program.
pub fn history(history: HistoryPayload, build: &str) -> impl IntoView + use<> {
    document_with_forms(build, HistoryPayload::TITLE, view! { <HistoryPage history/> }.into_any())
}

/// The whole document of a comparison of rollouts; the page runs no program.
pub fn compare(compare: ComparePayload, build: &str) -> impl IntoView + use<> {
    document_with_forms(build, &compare.title(), view! { <ComparePage compare/> }.into_any())
}

fn document_with_forms(build: &str, title: &str, page: AnyView) -> impl IntoView + use<> {
    let head = view! { <MetaTags/>{form_sheet(build)}{script(include_str!("pages/still.js"))} };
    still_document(build, title, head.into_any(), page)
}

/// The whole document of the status page; the page runs no program.
pub fn status(status: StatusPayload, made: String, build: &str) -> impl IntoView + use<> {
    unlisted(build, "Status — Rollcast", None, view! { <StatusPage status made/> }.into_any())
}

/// The whole document of the sign-in page; the page runs no program.
pub fn sign_in(page: SignInPayload, build: &str) -> impl IntoView + use<> {
    unlisted(build, "Sign in — Rollcast", None, view! { <SignIn page/> }.into_any())
}

/// The whole document of the share links; the page runs no program.
pub fn shares(page: SharesPayload, build: &str) -> impl IntoView + use<> {
    let page = view! { <SharesPage page/>{script(include_str!("pages/copy.js"))} };
    unlisted(build, "Share links — Rollcast", None, page.into_any())
}

/// The whole document at the address of a share link. It does not reveal what the link opens, unless the maker allowed a preview: chat
/// clients and search engines see this page. `origin` is the address of this server.
pub fn shared(trouble: String, shown: Option<Preview>, origin: &str, build: &str) -> impl IntoView + use<> {
    let script = versioned("/shared.js", build);
    provide_context(Origin(origin.to_owned()));
    let head = view! { <MetaTags/><script src=script></script> };
    unlisted(build, SHARED, Some(head.into_any()), view! { <SharedPage trouble shown/> }.into_any())
}

/// The whole document that asks a signed-in viewer whether a share link shall replace their access.
pub fn confirm(says: String, secret: String, build: &str) -> impl IntoView + use<> {
    unlisted(build, SHARED, None, view! { <ConfirmPage says secret/> }.into_any())
}

/// Files that an exported page embeds, so that it needs no server.
#[derive(Debug, Clone)]
pub struct EmbeddedFiles {
    /// The style sheet, with its fonts in it.
    pub sheet: String,
    /// The icon, as an address that holds it.
    pub icon: String,
    /// The script that chooses the theme.
    pub theme: String,
    /// The script that decompresses the following fields and starts the program.
    pub start: String,
    /// The program's bindings, compressed for that script.
    pub bindings: String,
    /// The program and the parts of it that a rollout needs, concatenated, in the same form.
    pub program: String,
    /// Their names and lengths in bytes, in that order, as JSON; the program is called "program".
    pub files: String,
    /// The content, in the same form.
    pub content: String,
    /// Connection state of the cluster when the file was made, as JSON.
    pub connection: String,
}

/// The whole document of an exported rollout: it loads nothing.
pub fn exported(export: Export, enclosed: EmbeddedFiles) -> impl IntoView + use<> {
    let EmbeddedFiles { sheet, icon, theme, start, bindings, program, files, content, connection } = enclosed;
    let description = export.deployment.description(true);
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string()).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'nonce-{nonce}'; img-src data:; font-src data:; \
         base-uri 'none'; form-action 'none'"
    );
    let data = |id: &'static str, text: String| {
        view! { <script id=id type="application/octet-stream" inner_html=text></script> }
    };
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta http-equiv="Content-Security-Policy" content=policy/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="description" content=description/>
                <link rel="icon" href=icon/>
                <style nonce=nonce.clone() inner_html=sheet></style>
                <script nonce=nonce.clone() inner_html=theme></script>
                <MetaTags/>
            </head>
            <body>
                <ExportedPage export/>
                <Drawings/>
            </body>
            {data("bindings", bindings)}
            {data("program", program)}
            {data("files", files)}
            {data("content", content)}
            <script id="connection" type="application/json" inner_html=connection></script>
            <script nonce=nonce inner_html=start></script>
        </html>
    }
}

fn document(build: &str, head: AnyView, body: AnyView) -> impl IntoView + use<> {
    let versioned = |path: &str| versioned(path, build);
    let base = Some(base()).filter(|base| !base.is_empty());
    view! {
        <!DOCTYPE html>
        <html lang="en" data-base=base>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" type="image/svg+xml" href=versioned("/icon.svg")/>
                <link rel="stylesheet" href=versioned("/pkg/rollcast.css")/>
                <script src=versioned("/theme.js")></script>
                {head}
            </head>
            <body>{body}<Drawings/><Footer/></body>
        </html>
    }
}

/// The document of a page without a program. The text of the title is not a view, because the renderer would leave a marker in it.
fn still_document(build: &str, title: &str, head: AnyView, body: AnyView) -> impl IntoView + use<> {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let playground = use_context::<Playground>();
    let sheet =
        playground.as_ref().map(|_| view! { <link rel="stylesheet" href=versioned("/pkg/playground.css", build)/> });
    let strip = playground.map(|playground| view! { <StillStrip playground/> });
    let head = view! { <title inner_html=title></title>{sheet}{head} };
    document(build, head.into_any(), view! { {strip}{body} }.into_any())
}

/// The document of a page that search engines leave out.
fn unlisted(build: &str, title: &str, more: Option<AnyView>, page: AnyView) -> impl IntoView + use<> {
    let head = view! { {form_sheet(build)}<meta name="robots" content="noindex"/>{more} };
    still_document(build, title, head.into_any(), page)
}

/// The styles of forms and of pages without a program.
fn form_sheet(build: &str) -> impl IntoView + use<> {
    view! { <link rel="stylesheet" href=versioned("/pkg/still.css", build)/> }
}

fn script(code: &'static str) -> impl IntoView {
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string());
    view! { <script nonce=nonce inner_html=code></script> }
}
