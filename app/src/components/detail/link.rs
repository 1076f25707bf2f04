//! A link to a detail of a Deployment: a pod, a revision, its rollouts.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use timeline::Workload;
use timeline::address;

use crate::browser::is_plain;
use crate::exported::Exported;
use crate::rollout::controls::Controls;

/// The link. On the page of the Deployment it opens the detail beside the picture. Elsewhere, and in another tab, it requests the page of
/// the detail from the server, with the UID of the workload. In a file it only opens details beside the picture.
#[component]
pub fn DetailLink(
    workload: Workload,
    path: String,
    #[prop(optional)] class: Option<&'static str>,
    /// Accessible name of the link, if it differs from its text.
    #[prop(optional)]
    label: Option<String>,
    children: Children,
) -> impl IntoView {
    let controls = Controls::of_page();
    let is_file = Exported::of_app().is_some();
    let address = if is_file { "#".to_owned() } else { address::below(&workload, &path) };
    let open = move |event: MouseEvent| {
        if let Some(controls) = controls.filter(|_| is_plain(&event)) {
            event.prevent_default();
            controls.open(path.clone());
        }
    };
    view! { <a class=class href=address rel="external" aria-label=label on:click=open>{children()}</a> }
}
