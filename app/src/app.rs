//! The application: what all pages share, and which page an address leads to.

use leptos::ev;
use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::hooks::use_url;
use leptos_router::location::{BrowserUrl, LocationChange, LocationProvider};
use leptos_router::{Lazy, path};
use timeline::address;

use crate::browser;
use crate::components::notices::Notices;
use crate::components::page_keys::PageKeys;
use crate::context::{OpenedPod, ReachedTitle, provide_payload};
use crate::live::client::Live;
use crate::parts::{self, DeploymentsRoute, DetailRoute, RolloutRoute, WallRoute};
use crate::payload::Page;
#[cfg(feature = "ssr")]
use crate::payload::{Payload, Site};
use crate::zone::Zone;

/// All of Rollcast's pages.
#[component]
pub fn App(
    /// Payload and settings of the document.
    page: Page,
) -> impl IntoView {
    let Page { build, payload, playground, site } = page;
    provide_meta_context();
    provide_payload(payload);
    Live::provide(build);
    Zone::provide();
    OpenedPod::provide();
    let reached = ReachedTitle::provide();
    provide_context(site);
    crate::list::memory::provide();
    // The server takes the base off a request before it renders the page.
    let base = if cfg!(feature = "hydrate") { address::base() } else { "" };
    view! {
        <Notices/>
        <PageKeys/>
        <p class="aside" role="status" data-testid="reached">{move || reached.text.get()}</p>
        <Router base>
            <ForwardSteps/>
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

/// Renders the routes of the application.
#[cfg(feature = "ssr")]
pub fn routes() -> impl IntoView {
    let payload = Payload::List(Box::default());
    view! { <App page=Page { build: String::new(), payload, playground: None, site: Site::default() }/> }
}

/// Reports steps forward in the browser's history to the router.
///
/// The router recognises steps back only. After a step forward, a link to the last address that the router knows would leave the address
/// bar unchanged. Renders nothing.
#[component]
fn ForwardSteps() -> impl IntoView {
    let router: Option<BrowserUrl> = use_context();
    Effect::new(move |_| {
        let Some(router) = router.clone() else { return };
        let is_back = router.is_back();
        // The router's listener ran before this one and has already decided whether the step was one back.
        browser::on_window(ev::popstate, move |_| {
            if !is_back.get_untracked() {
                let value = browser::path() + &browser::search();
                router.complete_navigation(&LocationChange { value, scroll: false, ..LocationChange::default() });
            }
        });
    });
}

/// Loads an unknown address from the server, which knows more addresses and has an error page for the others.
#[component]
fn Elsewhere() -> impl IntoView {
    let url = use_url();
    Effect::new(move |_| url.with_untracked(browser::load));
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use leptos::prelude::*;
    use leptos_router::location::RequestUrl;
    use timeline::list::{ClusterState, Common, Group, Head, ListDelta, Overall, Query, Row, RowDelta, Window};
    use timeline::view::{Summary, Tone, Verdict};
    use timeline::wire::ConnectionState;

    use super::{App, AppProps};
    use crate::list::test_data;
    use crate::payload::{ListPayload, Page, Payload, Site};

    fn list(query: Query) -> ListPayload {
        let plain = test_data::summary(Tone::Busy);
        let summary = Summary {
            replaces: Some(1),
            verdict: Verdict {
                badge: "Rolling out".into(),
                sentence: "Revision 2 <b>is</b> replacing revision 1.".into(),
                why: "Since 14:02:05 UTC.".into(),
                ..plain.verdict
            },
            next: "The next pod is created.".into(),
            pods: [1, 2, 1, 0, 0],
            desired: 4,
            since_millis: 50_000,
            ..plain
        };
        let cluster = test_data::cluster("prod/eu", ConnectionState::Live);
        let overall = Overall {
            clusters: vec![ClusterState { accent: 3, now_millis: 62_000, ..cluster }],
            counts: [0, 1, 0, 0],
            all: 90,
            heads: vec![Head { of: Common::Group(Group::InProgress), lines: 1 }],
            ..Overall::default()
        };
        let delta = ListDelta {
            is_anew: true,
            now_millis: vec![62_000],
            overall: Some(overall),
            order: Some((0, vec![1])),
            lines: vec![(1, RowDelta::Whole(Box::new(Row { cluster: 0, summary })))],
        };
        ListPayload { query, window: Window { from: 0, to: 50 }, delta }
    }

    fn rendered(address: &str, payload: Payload) -> String {
        let owner = Owner::new();
        owner.with(|| {
            provide_context(RequestUrl::new(address));
            App(AppProps { page: Page { build: "b".into(), payload, playground: None, site: Site::default() } })
                .to_html()
        })
    }

    #[test]
    fn the_server_renders_the_list_that_the_address_asks_for() {
        let query = Query { text: "we\"b".into(), cluster: Some("prod/eu".into()), ..Query::default() };
        let html = rendered("/clusters/prod%2Feu?q=we%22b", Payload::List(Box::new(list(query))));
        for part in [
            "href=\"/clusters/prod%2Feu/namespaces/shop/deployments/web\"",
            "href=\"/clusters/prod%2Feu/namespaces/shop/deployments/web/rollouts\"",
            "data-testid=\"head\"",
            "we&quot;b",
            "Deployments of prod/eu",
            "&lt;b&gt;is&lt;/b&gt;",
            "1/4",
            "aria-current=\"true\"",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("style="), "styles in markup are forbidden: {html}");
    }

    #[test]
    fn the_server_renders_the_wall_and_its_free_seats() {
        let html = rendered("/wall?columns=3&sound=on", Payload::Wall(Box::new(list(Query::default()))));
        for part in [
            "columns-3",
            "data-sound=\"on\"",
            "id=\"t3-tile\"",
            "data-count=\"0\"",
            "0 stable",
            "prod/eu live",
            "inert",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("style="), "styles in markup are forbidden: {html}");
    }

    #[test]
    fn the_server_counts_trouble_that_the_plain_list_of_the_wall_leaves_out() {
        let mut wall = list(Query::default());
        if let Some(overall) = &mut wall.delta.overall {
            overall.counts = [5, 0, 0, 0];
        }
        let html = rendered("/wall", Payload::Wall(Box::new(wall)));
        assert!(html.contains("href=\"/?show=trouble\"") && html.contains("4 more in trouble"), "{html}");
    }
}
