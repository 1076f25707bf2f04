//! The preview of a link in the document's head, which chat clients read.

use leptos::prelude::*;
use leptos_meta::Meta;

use crate::link_preview::Preview;

/// Origin of this server, such as "https://rollcast.example.com": pictures of previews need absolute addresses. The server sets it for the
/// pages that it renders.
#[derive(Clone)]
pub struct Origin(pub String);

/// Writes into the document's head what chat clients show of a link to the calling page. Those clients run no program, so only the server
/// writes it; in the browser this does nothing.
pub fn preview(of: impl FnOnce() -> Preview) {
    if !cfg!(feature = "ssr") {
        return;
    }
    let Preview { title, description, image } = of();
    let origin = use_context::<Origin>().map(|Origin(origin)| origin).unwrap_or_default();
    let image = image.map(|path| view! { <Meta property="og:image" content=format!("{origin}{path}")/> });
    let metas = view! {
        <Meta name="description" content=description.clone()/>
        <Meta property="og:title" content=title/>
        <Meta property="og:description" content=description/>
        <Meta property="og:type" content="website"/>
        <Meta property="og:site_name" content="Rollcast"/>
        {image}
    };
    // Rendering moves the tags to the head. Nothing remains in the body, and the browser expects nothing there.
    let _ = metas.to_html();
}
