//! The top line: brand, where this is, how live it is.

#[cfg(feature = "ssr")]
pub use markup::*;

#[cfg(feature = "ssr")]
mod markup {
    use leptos::prelude::*;
    use timeline::words::safe;

    use crate::address;
    use crate::board::Place;
    use crate::components::slots::Slots;

    /// The name, a link to the list.
    #[component]
    pub fn Brand() -> impl IntoView {
        view! { <a class="brand" href="/">"Rollcast"</a> }
    }

    /// The top line of a Deployment's page.
    pub fn header(place: &Place, slots: &Slots) -> impl IntoView + use<> {
        let page = address::deployment(&place.cluster, &place.namespace, &place.name);
        view! {
            <header class="top">
                <Brand/>
                <nav class="crumb" aria-label="Where this is">
                    <a class="above" href=address::cluster(&place.cluster)>{safe(&place.cluster)}</a>
                    <span class="above">" / "</span>
                    <a class="above" href=address::namespace(&place.cluster, &place.namespace)>{safe(&place.namespace)}</a>
                    <span class="above">" / "</span>
                    <b>{safe(&place.name)}</b>
                </nav>
                <span class="spread"></span>
                <a class="choice" href=format!("{page}/rollouts") data-open="rollouts">"Rollouts"</a>
                <a class="choice" href=format!("{page}/share") data-open="share">"Share"</a>
                <button id="notify" class="choice" aria-pressed="false" title="A notification when this rollout is complete or gets stuck" hidden>"Notify me"</button>
                <span id="chip" class=slots.attribute_now("chip", "class") role="status" data-testid="live">{slots.now("chip")}</span>
            </header>
        }
    }
}
