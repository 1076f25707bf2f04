//! What a page is about, complete: rendered by the server and carried along in the page for the browser to take over.

use serde::{Deserialize, Serialize};
use timeline::Workload;
use timeline::list::{ListCopy, ListDelta, Query, Window};
use timeline::wire::{Connection, Moment, Snapshot};
#[cfg(feature = "ssr")]
use timeline::words::count;
use timeline::words::safe;

#[cfg(feature = "ssr")]
use crate::address;
use crate::detail::Detail;
use crate::playground::Playground;
use crate::text;

/// Id of the element that carries the payload.
pub const ELEMENT: &str = "payload";

/// A page as its document carries it along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Build of the program that it is for.
    pub build: String,
    /// What it is about.
    pub payload: Payload,
    /// The playground, where there is one.
    pub playground: Option<Playground>,
    /// There is a history to look at.
    pub has_history: bool,
}

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// A list of Deployments.
    List(Box<ListPayload>),
    /// One Deployment.
    Deployment(Box<DeploymentPayload>),
    /// What goes on, for a screen on a wall.
    Wall(Box<WallPayload>),
    /// Something about one Deployment, as a page of its own.
    Detail(Box<DetailPayload>),
}

/// Something about one Deployment, for a page of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetailPayload {
    /// The Deployment.
    pub workload: Workload,
    /// What of it.
    pub detail: Detail,
}

/// A list, for its page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListPayload {
    /// Which Deployments.
    pub query: Query,
    /// Which lines are there from the start.
    pub window: Window,
    /// These lines.
    pub delta: ListDelta,
}

/// A wall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WallPayload {
    /// The list that it shows what goes on of.
    pub list: ListPayload,
    /// Seconds after which the strip tells of others.
    pub rotate_seconds: u32,
    /// Columns of the stage; 0 for as many as suit it.
    pub columns: u8,
    /// Tones when something gets stuck or is done.
    pub has_sound: bool,
}

/// One Deployment, for its page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeploymentPayload {
    /// The Deployment, with a UID where the link names one.
    pub workload: Workload,
    /// The revision that the link names.
    pub revision: Option<u64>,
    /// How the server gets on with the cluster.
    pub connection: Connection,
    /// The Deployment with all that belongs to it, as far as it exists.
    pub snapshot: Snapshot,
    /// The moment that the link names; `None` for the present.
    pub moment: Option<Moment>,
}

/// The title of a Deployment's page, and of pages below it: what is said first, then the Deployment.
#[must_use]
pub fn title(said: &str, namespace: &str, name: &str) -> String {
    format!("{said}: {} / {} — Rollcast", safe(namespace), safe(name))
}

impl DeploymentPayload {
    /// What is said at the moment that the link names.
    #[cfg(feature = "ssr")]
    fn view(&self) -> Option<&timeline::view::View> {
        let then = self.moment.as_ref().and_then(|moment| moment.said.as_ref());
        then.unwrap_or(&self.snapshot.said).view.as_ref()
    }
}

impl ListPayload {
    /// The lines as a viewer knows them.
    #[must_use]
    pub fn copy(&self) -> ListCopy {
        let mut copy = ListCopy::default();
        copy.take(self.delta.clone());
        copy
    }
}

impl Payload {
    /// What the page says, for previews of a link to it.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Self::List(page) => {
                let copy = page.copy();
                let places = count(copy.overall.clusters.len() as u32, "cluster");
                format!("{}, in {places}, live.", crate::list::summary(&copy.overall))
            }
            Self::Wall(page) => format!("{}, live.", crate::list::summary(&page.list.copy().overall)),
            Self::Detail(page) => page.detail.title(),
            Self::Deployment(page) => match page.view() {
                Some(view) => format!("{} {}", view.verdict.sentence, view.explanation()),
                None => "There is no such Deployment.".to_owned(),
            },
        }
    }

    /// The page's title.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Detail(page) => page.detail.page_title(&page.workload),
            Self::List(page) => crate::list::title(&page.copy().overall, &page.query),
            Self::Wall(page) => crate::list::title(&page.list.copy().overall, &page.list.query),
            Self::Deployment(page) => {
                let badge = page.view().map_or("Not found", |view| view.verdict.badge.as_str());
                title(badge, &page.workload.namespace, &page.workload.name)
            }
        }
    }

    /// The picture of the page, as a path.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn image(&self) -> Option<String> {
        match self {
            Self::List(_) | Self::Wall(_) | Self::Detail(_) => None,
            Self::Deployment(page) => {
                let path = address::whatever_bears_the_name(&page.workload);
                page.snapshot.deployment.map(|_| format!("{path}/preview.png"))
            }
        }
    }
}

impl Page {
    /// As text for the document.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn to_text(&self) -> String {
        text::encode(self)
    }

    /// Reads what the server put into the document; `None` where that is not of this program.
    #[must_use]
    pub fn of_document() -> Option<Self> {
        text::decode(&crate::browser::text_of(ELEMENT)?)
    }
}
