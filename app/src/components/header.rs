//! The header, with the same order on every page: the product and its pages, the place of this page, the actions of this page, and its
//! connection.

use leptos::prelude::*;
use timeline::Workload;
use timeline::address;
use timeline::address::at;
use timeline::episodes::Search;
use timeline::words::safe;

use crate::exported::Exported;
use crate::payload::Site;

/// The section of the header to which the page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The list of Deployments, or a page below it.
    Deployments,
    /// The stored rollouts, or a comparison of one with others.
    History,
    /// The wall.
    Wall,
    /// Share links, for people without an account.
    Links,
    /// Another page.
    Other,
}

/// Path of a page: cluster, namespace, Deployment. Ends at the first empty name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breadcrumbs {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the namespace.
    pub namespace: String,
    /// Name of the workload.
    pub name: String,
    /// Address of the workload's page, if this page is another one.
    pub page: Option<String>,
}

impl Breadcrumbs {
    /// Returns the breadcrumbs of a workload's own page.
    pub fn for_workload(workload: &Workload) -> Self {
        let Workload { cluster, namespace, name, .. } = workload.clone();
        Self { cluster, namespace, name, page: None }
    }

    /// Returns the breadcrumbs of a page below a workload's page.
    pub fn below(workload: &Workload) -> Self {
        Self { page: Some(address::workload(workload)), ..Self::for_workload(workload) }
    }

    /// Returns each part with its address; the last part has none unless the page is below it.
    fn parts(self) -> Vec<(String, Option<String>)> {
        let Self { cluster, namespace, name, page } = self;
        let to_namespace = address::namespace(&cluster, &namespace);
        let to_cluster = address::cluster(&cluster);
        let all = [(cluster, Some(to_cluster)), (namespace, Some(to_namespace)), (name, page.clone())];
        let mut parts: Vec<_> = all.into_iter().filter(|(text, _)| !text.is_empty()).collect();
        if let Some((_, address)) = parts.last_mut() {
            *address = page;
        }
        parts
    }

    /// Returns the address of the history of the workload or namespace of the page.
    pub fn history_address(self) -> String {
        let Self { cluster, namespace, name, .. } = self;
        Search { cluster, namespace, name, ..Search::default() }.address()
    }
}

/// The header of a page.
#[component]
pub fn Header(
    /// The section of the page.
    section: Section,
    /// The breadcrumbs of the page.
    #[prop(optional, into)]
    trail: Signal<Breadcrumbs>,
    /// Address of the wall with the same content; by default the wall of all Deployments.
    #[prop(optional, into)]
    wall: MaybeProp<String>,
    /// Buttons of the page, and its connection.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    // A file has no server, so its header has no links.
    let is_file = Exported::of_app().is_some();
    let current = move |of: Section| {
        let is_itself = || trail.with(|trail| trail.name.is_empty());
        (section == of).then(|| if is_itself() { "page" } else { "true" })
    };
    let Site { has_history, has_links } = Site::of_app();
    let past = move || trail.get().history_address();
    let pages = (!is_file).then(|| {
        view! {
            <nav class="site" aria-label="Rollcast">
                <a href=at("/") aria-current=move || current(Section::Deployments)>"Deployments"</a>
                {has_history.then(|| view! { <a id="history" href=past rel="external" aria-current=move || current(Section::History)>"History"</a> })}
                <a id="wall" href=move || wall.get().unwrap_or_else(|| at("/wall")) aria-current=move || current(Section::Wall)>"Wall"</a>
                {has_links.then(|| view! { <a href=at("/shares") rel="external" aria-current=move || current(Section::Links)>"Links"</a> })}
            </nav>
        }
    });
    let brand = (!is_file).then(|| at("/"));
    view! {
        <header class="top" data-testid="header">
            <a class="brand" href=brand>"Rollcast"</a>
            {pages}
            <nav class="crumb" aria-label="Breadcrumb" hidden=move || trail.read().cluster.is_empty() && trail.read().namespace.is_empty()>{move || crumbs(trail.get(), is_file)}</nav>
            <span class="spread"></span>
            {children.map(|children| children())}
        </header>
    }
}

/// Renders the breadcrumbs. The last part is cut last if there is little room, and each title has the whole name.
fn crumbs(trail: Breadcrumbs, is_file: bool) -> impl IntoView {
    let parts = trail.parts();
    let last = parts.len().saturating_sub(1);
    let part = move |(number, (text, address)): (usize, (String, Option<String>))| {
        let text = safe(&text);
        let title = text.clone();
        let class = if number == last { "here" } else { "above" };
        let gap = (number > 0).then(|| view! { <span class="slash">" / "</span> });
        let href = address.filter(|_| !is_file);
        view! { {gap}<a class=class href=href title=title>{text}</a> }
    };
    parts.into_iter().enumerate().map(part).collect_view()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(cluster: &str, namespace: &str, name: &str) -> Breadcrumbs {
        let [cluster, namespace, name] = [cluster, namespace, name].map(str::to_owned);
        Breadcrumbs { cluster, namespace, name, page: None }
    }

    #[test]
    fn every_part_but_the_last_leads_somewhere() {
        let parts = |trail: Breadcrumbs| {
            let told = |(text, address): (String, Option<String>)| format!("{text}: {}", address.unwrap_or_default());
            trail.parts().into_iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(
            parts(trail("prod", "shop", "web")),
            ["prod: /clusters/prod", "shop: /clusters/prod/namespaces/shop", "web: "]
        );
        assert_eq!(parts(trail("prod", "", "")), ["prod: "]);
        assert!(parts(Breadcrumbs::default()).is_empty());
        let below = Breadcrumbs { page: Some("/its/page".into()), ..trail("prod", "shop", "web") };
        assert_eq!(parts(below).last().map(String::as_str), Some("web: /its/page"));
    }
}
