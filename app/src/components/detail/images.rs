//! The containers of a revision with their images.

use leptos::prelude::*;

use super::following::numbered;
use crate::detail::RevisionDetail;
use crate::detail::revision::ImageDetail;

/// The images of a revision, one for each container.
#[component]
pub fn Images(
    /// The revision whose images are shown.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    let line = |(_, ImageDetail { container, image }): (usize, ImageDetail)| {
        view! { <tr><td>{container}</td><td class="mono">{image}</td></tr> }
    };
    view! {
        <h3>"Containers"</h3>
        <table><tbody><For each=move || numbered(&revision.read().images) key=Clone::clone children=line/></tbody></table>
    }
}
