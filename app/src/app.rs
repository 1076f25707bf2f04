//! The application: what all pages share, and which page an address leads to.

use std::sync::{Arc, Mutex};

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::{Lazy, path};

use crate::components::elsewhere::Elsewhere;
use crate::components::notices::Notices;
use crate::components::page_keys::PageKeys;
use crate::live::client::Live;
use crate::parts::{self, DeploymentsRoute, DetailRoute, RolloutRoute, WallRoute};
use crate::payload::{Page, Payload};
use crate::rollout::opened::Opened;
#[cfg(feature = "ssr")]
use crate::site::Site;
use crate::zone::Zone;

/// What the document was rendered for: the first page takes it, later ones begin with what the server tells them live.
#[derive(Clone)]
pub struct First(Arc<Mutex<Option<Payload>>>);

impl First {
    /// Takes what the document was rendered for, if it is for the page that asks.
    #[must_use]
    pub fn take<P>(wanted: impl FnOnce(Payload) -> Option<P>) -> Option<P> {
        let first: Self = use_context()?;
        let payload = first.0.lock().ok()?.take()?;
        wanted(payload)
    }
}

/// All of Rollcast's pages.
#[component]
pub fn App(
    /// What the document is rendered for.
    page: Page,
) -> impl IntoView {
    let Page { build, payload, playground, site } = page;
    provide_meta_context();
    provide_context(First(Arc::new(Mutex::new(Some(payload)))));
    Live::provide(build);
    Zone::provide();
    Opened::provide();
    provide_context(site);
    crate::list::memory::provide();
    view! {
        <Notices/>
        <PageKeys/>
        <Router>
            {playground.map(|playground| Suspend::new(parts::strip(playground)))}
            <Routes fallback=Elsewhere>
                <Route path=path!("/") view={Lazy::<DeploymentsRoute>::new()}/>
                <Route path=path!("/wall") view={Lazy::<WallRoute>::new()}/>
                <Route path=path!("/clusters/:cluster") view={Lazy::<DeploymentsRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace") view={Lazy::<DeploymentsRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace/:resource/:name") view={Lazy::<RolloutRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace/:resource/:name/pods/:uid") view={Lazy::<DetailRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace/:resource/:name/revisions/:revision") view={Lazy::<DetailRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace/:resource/:name/rollouts") view={Lazy::<DetailRoute>::new()}/>
                <Route path=path!("/clusters/:cluster/namespaces/:namespace/:resource/:name/share") view={Lazy::<DetailRoute>::new()}/>
            </Routes>
        </Router>
    }
}

/// The program cannot go on: says so instead of leaving a frozen picture. Needs nothing but the document.
#[cfg(feature = "hydrate")]
pub fn stopped() {
    use crate::components::notices::STOPPED;

    if let Some(bar) = document().get_element_by_id(STOPPED) {
        bar.set_class_name("banner");
    }
    crate::browser::note("data-live", "false");
}

/// The application as far as its routes go.
#[cfg(feature = "ssr")]
pub fn routes() -> impl IntoView {
    let payload = Payload::List(Box::default());
    view! { <App page=Page { build: String::new(), payload, playground: None, site: Site::default() }/> }
}
