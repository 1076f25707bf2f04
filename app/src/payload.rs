//! Payload of a page: rendered by the server and embedded in the document for the browser to take over.

use leptos::prelude::use_context;
use serde::{Deserialize, Serialize};
use timeline::address;
use timeline::list::{ListCopy, ListDelta, Overall, Query, Window};
use timeline::wire::{Connection, Moment, Snapshot};
use timeline::words::count;
use timeline::{Workload, say};

use crate::connection::{last_seen, missing_badge, missing_description};
use crate::detail::Detail;
use crate::exported::Record;
pub use crate::link_preview::Preview;
use crate::link_preview::page_title;
use crate::playground::Playground;

/// Id of the element that carries the payload.
pub const ELEMENT: &str = "payload";

/// A page with the data that its document contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Build of the program for this page.
    pub build: String,
    /// Content of the page.
    pub payload: Payload,
    /// The playground, if the server has one.
    pub playground: Option<Playground>,
    /// Pages that exist besides those of Deployments.
    pub site: Site,
}

/// Pages that depend on the settings or the viewer; the header links to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Whether rollouts are stored beyond the life of the server: the history page exists.
    pub has_history: bool,
    /// Whether the viewer can make share links.
    pub has_links: bool,
}

impl Site {
    /// Returns the site around this component; without any of these pages if none was provided.
    pub fn of_app() -> Self {
        use_context().unwrap_or_default()
    }
}

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// A list of Deployments.
    List(Box<ListPayload>),
    /// One Deployment.
    Deployment(Box<DeploymentPayload>),
    /// The wall: Deployments in progress or in trouble, for a large screen.
    Wall(Box<ListPayload>),
    /// A detail of one Deployment, as its own page.
    Detail(Box<DetailPayload>),
}

/// Content of the page of a detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetailPayload {
    /// The Deployment of the detail.
    pub workload: Workload,
    /// The detail.
    pub detail: Detail,
}

/// A list, for its page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListPayload {
    /// Which Deployments are listed, and in which order.
    pub query: Query,
    /// The rows that the document contains.
    pub window: Window,
    /// The rows of that window, as a change of an empty list.
    pub delta: ListDelta,
}

/// One Deployment, for its page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeploymentPayload {
    /// The Deployment, with a UID if the link names one.
    pub workload: Workload,
    /// The revision that the link names.
    pub revision: Option<u64>,
    /// Connection of the server to the cluster.
    pub connection: Connection,
    /// The Deployment with its objects; empty if it does not exist.
    pub snapshot: Snapshot,
    /// The moment that the link names; `None` for the present.
    pub moment: Option<Moment>,
    /// Whether a rollout in progress is shown as it was when the page was opened.
    pub is_snapshot: bool,
}

/// The content of a rollout's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// The Deployment at the end of the rollout.
    pub deployment: DeploymentPayload,
    /// The record that answers in place of a server, for every moment of the rollout.
    pub record: Record,
}

impl DeploymentPayload {
    /// Returns the verdict at the moment that the link names.
    fn view(&self) -> Option<&timeline::view::View> {
        let then = self.moment.as_ref().and_then(|moment| moment.said.as_ref());
        then.unwrap_or(&self.snapshot.said).view.as_ref()
    }

    /// Formats the verdict of the present, or of a past moment.
    pub fn description(&self, is_past: bool) -> String {
        match self.view() {
            Some(view) if is_past => format!("{} {}", say::past(&view.verdict.sentence), view.explanation_then()),
            Some(view) => format!("{} {}", view.verdict.sentence, view.explanation()),
            None => missing_description(&self.connection.state).to_owned(),
        }
    }

    /// Builds the preview of a link to the page.
    pub fn preview(&self) -> Preview {
        let last_seen = if self.moment.is_none() { last_seen(&self.connection.state) } else { None };
        let (badge, seen) = match (self.view(), last_seen) {
            (None, _) => (missing_badge(&self.connection.state), ""),
            (Some(_), Some(last_seen)) => last_seen,
            (Some(view), None) => (view.verdict.badge.as_str(), ""),
        };
        // Pictures exist for Deployments and rollouts, but not for moments.
        let is_of_moment = self.moment.is_some() && self.workload.rollout.is_none();
        let is_drawn = self.snapshot.deployment.is_some() && !is_of_moment;
        Preview {
            title: page_title(badge, &self.workload.namespace, &self.workload.name),
            description: format!(
                "{seen}{}",
                self.description(self.moment.is_some() || self.workload.rollout.is_some())
            ),
            image: is_drawn.then(|| address::below(&self.workload, "preview.png")),
        }
    }
}

impl DetailPayload {
    /// Builds the preview of a link to the page.
    pub fn preview(&self) -> Preview {
        Preview { title: self.detail.page_title(&self.workload), description: self.detail.title(), image: None }
    }
}

impl ListPayload {
    /// Returns the viewer's copy of the list.
    pub fn copy(&self) -> ListCopy {
        let mut copy = ListCopy::default();
        copy.take(self.delta.clone());
        copy
    }

    /// Builds the preview of a link to the page.
    pub fn preview(&self) -> Preview {
        let copy = self.copy();
        let clusters = if self.query.cluster.is_some() { 1 } else { copy.overall.clusters.len() as u32 };
        let places = count(clusters, "cluster");
        let live = self.live_words(&copy.overall);
        Preview {
            title: crate::list::title(&copy.overall, &self.query),
            description: format!("{}, in {places}{live}.", crate::list::summary(&copy.overall)),
            image: None,
        }
    }

    /// Builds the preview of a link to the wall of the list.
    pub fn wall_preview(&self) -> Preview {
        let overall = self.copy().overall;
        let (summary, live) = (crate::list::summary(&overall), self.live_words(&overall));
        Preview { description: format!("{summary}{live}."), ..self.preview() }
    }

    /// Formats the end of a description; empty unless all clusters of the list are live.
    fn live_words(&self, overall: &Overall) -> &'static str {
        if crate::list::is_live(overall, &self.query) { ", live" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use timeline::list::ClusterState;
    use timeline::wire::ConnectionState;

    use super::*;
    use crate::list::test_data::cluster;

    #[test]
    fn a_preview_of_a_list_says_live_only_where_all_its_clusters_are() {
        let said = |clusters: Vec<ClusterState>, query: Query| {
            let overall = Some(Overall { clusters, ..Overall::default() });
            let delta = ListDelta { is_anew: true, overall, ..ListDelta::default() };
            let list = ListPayload { query, delta, ..ListPayload::default() };
            [list.preview().description, list.wall_preview().description]
        };
        let stale = ConnectionState::Stale { since_millis: 0, retry_at_millis: None, why: "silent".into() };
        let (well, silent) = (cluster("well", ConnectionState::Live), cluster("silent", stale));
        let of_well = Query { cluster: Some("well".into()), ..Query::default() };
        let live = ["0 Deployments, in 1 cluster, live.", "0 Deployments, live."];
        assert_eq!(said(vec![well.clone()], Query::default()), live);
        let both = vec![well, silent];
        assert_eq!(said(both.clone(), Query::default()), ["0 Deployments, in 2 clusters.", "0 Deployments."]);
        assert_eq!(said(both, of_well), live, "the other one is not listed");
    }
}
