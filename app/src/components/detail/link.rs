//! A link from one detail to another.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use timeline::Workload;

use crate::address;
use crate::rollout::controls::Controls;

/// The link. Beside the picture it opens there; as a page of its own the server is asked for it.
#[component]
pub fn DetailLink(
    /// The workload that the detail is of.
    workload: StoredValue<Workload>,
    /// Its path below the page of the Deployment.
    path: String,
    /// What the link says.
    children: Children,
) -> impl IntoView {
    let controls = Controls::of_page();
    let address = workload.with_value(|workload| address::below(workload, &path));
    let open = move |event: MouseEvent| {
        if let Some(controls) = controls {
            controls.open_link(&event, path.clone());
        }
    };
    view! { <a href=address rel="external" on:click=open>{children()}</a> }
}
