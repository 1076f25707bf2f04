//! A link from one detail to another.

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::actions::{Actions, is_plain};
use crate::detail::Home;

/// The link. Beside the picture it opens there; as a page of its own the server is asked for it.
#[component]
pub fn DetailLink(
    /// Where the detail belongs.
    home: StoredValue<Home>,
    /// Its path below the page of the Deployment.
    path: String,
    /// What the link says.
    children: Children,
) -> impl IntoView {
    let actions = use_context::<Actions>();
    let address = home.with_value(|home| home.below(&path));
    let open = move |event: MouseEvent| {
        if let Some(actions) = actions.filter(|_| is_plain(&event)) {
            event.prevent_default();
            actions.open.run(path.clone());
        }
    };
    view! { <a href=address rel="external" on:click=open>{children()}</a> }
}
