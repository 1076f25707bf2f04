//! What a page is about, complete: rendered by the server and carried along in the page for the browser to take over.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use timeline::frame::{self, ClusterList, Connection, Snapshot};

/// Id of the element that carries the payload.
pub const ELEMENT: &str = "payload";

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// The list of Deployments.
    Overview {
        /// Build of the page.
        build: String,
        /// The list.
        clusters: Vec<ClusterList>,
    },
    /// One Deployment.
    Deployment(Box<DeploymentPayload>),
}

/// One Deployment, for its page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeploymentPayload {
    /// Build of the page.
    pub build: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub name: String,
    /// How the server gets on with the cluster.
    pub connection: Connection,
    /// The Deployment with all that belongs to it, as far as it exists.
    pub snapshot: Snapshot,
}

impl Payload {
    /// The page's title.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Overview { .. } => "Deployments — Rollcast".to_owned(),
            Self::Deployment(page) => format!("{} / {} — Rollcast", page.namespace, page.name),
        }
    }

    /// As text for the page.
    #[must_use]
    pub fn to_text(&self) -> String {
        frame::encode(self).map(|bytes| STANDARD_NO_PAD.encode(bytes)).unwrap_or_default()
    }

    /// From the text of the page.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let bytes = STANDARD_NO_PAD.decode(text.trim()).ok()?;
        let mut payload = frame::decode(&bytes).ok()?;
        if let Self::Deployment(page) = &mut payload {
            page.snapshot.model.index();
        }
        Some(payload)
    }
}

/// Reads the payload that the server put into the page.
#[cfg(feature = "hydrate")]
pub fn from_page() -> Option<Payload> {
    let element = web_sys::window()?.document()?.get_element_by_id(ELEMENT)?;
    Payload::from_text(&element.text_content()?)
}
