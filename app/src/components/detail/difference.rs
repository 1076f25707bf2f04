//! Differences between a revision and those before.

use leptos::prelude::*;
use timeline::Workload;
use timeline::address;

use super::link::DetailLink;
use crate::detail::RevisionDetail;
use crate::detail::revision::Difference as Told;

/// The differences; nothing where none is known.
#[component]
pub fn Difference(
    /// The workload that the revision is of, for links.
    workload: StoredValue<Workload>,
    /// The revision whose template is compared with others.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    let each = move || revision.read().differences.clone();
    let told = move |Told { from, lines }: Told| {
        view! {
            <h3>"Changes from revision "<DetailLink workload=workload.get_value() path=address::revision(from)>{from}</DetailLink></h3>
            <ul class="lines">{lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}</ul>
        }
    };
    view! { <For each key=Clone::clone children=told/> }
}
