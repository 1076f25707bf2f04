//! The header: the same on every page, so that nobody looks for anything. First the product and its pages, then where this page is, then what can be done here,
//! and how live it is.

use leptos::prelude::*;
use timeline::Workload;
use timeline::address;
use timeline::address::at;
use timeline::episodes::Search;
use timeline::words::safe;

use crate::exported::Exported;
use crate::payload::Site;

/// The page of the header that is shown, or that is above the one that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The list of Deployments, or a page below it.
    Deployments,
    /// The rollouts that are kept, or one beside others.
    History,
    /// The wall.
    Wall,
    /// Links for people without an account.
    Links,
    /// Another page.
    Other,
}

/// Path to a page: cluster, namespace, Deployment. The first empty name ends it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breadcrumbs {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the namespace.
    pub namespace: String,
    /// Name of the workload.
    pub name: String,
    /// Address of the workload's page, where the page is another one.
    pub page: Option<String>,
}

impl Breadcrumbs {
    /// The trail of a workload's own page.
    pub fn for_workload(workload: &Workload) -> Self {
        let Workload { cluster, namespace, name, .. } = workload.clone();
        Self { cluster, namespace, name, page: None }
    }

    /// The trail of a page below a workload's.
    pub fn below(workload: &Workload) -> Self {
        Self { page: Some(address::workload(workload)), ..Self::for_workload(workload) }
    }

    /// Each part with the address that it leads to; the last one leads nowhere unless the page is below it.
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

    /// Returns the address of the history of the page.
    pub fn history_address(self) -> String {
        let Self { cluster, namespace, name, .. } = self;
        Search { cluster, namespace, name, ..Search::default() }.address()
    }
}

/// The header of a page.
#[component]
pub fn Header(
    /// The part of the site that the page belongs to.
    section: Section,
    /// Where the page is.
    #[prop(optional, into)]
    trail: Signal<Breadcrumbs>,
    /// Address of the wall that shows what the page shows; the wall of everything where none is given.
    #[prop(optional, into)]
    wall: MaybeProp<String>,
    /// Buttons of the page, and its connection.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    // A file leads nowhere: there is no server behind it.
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

/// The parts of a trail. The last one gives way last, so that it is always there; all of each is in its title.
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
