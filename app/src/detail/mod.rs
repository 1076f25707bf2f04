//! Details of one pod, of one revision, of all rollouts, and links to share. The server creates them as data; pages show them beside the
//! picture or alone (`components::detail`). Times are numbers, so that each viewer reads them in their own time zone; everything else is
//! text.

pub mod history;
pub mod lines;
pub mod pod;
pub mod revision;
pub mod rollouts;
pub mod share;

use std::mem::{Discriminant, discriminant};

use serde::{Deserialize, Serialize};
use timeline::{Millis, Workload};

pub use self::lines::{DetailFact, Value};
pub use self::pod::PodDetail;
pub use self::revision::RevisionDetail;
pub use self::rollouts::RolloutsDetail;
pub use self::share::ShareDetail;
use crate::link_preview;

/// A detail of a Deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Detail {
    /// A pod.
    Pod(Box<PodDetail>),
    /// A revision.
    Revision(Box<RevisionDetail>),
    /// All its rollouts.
    Rollouts(RolloutsDetail),
    /// Links to it.
    Share(ShareDetail),
}

impl Detail {
    /// Returns its subject: its kind, and its pod or revision. While the subject stays the same, only the content changes.
    pub fn subject(&self) -> (Discriminant<Self>, u128) {
        let which = match self {
            Self::Pod(pod) => pod.uid.bits(),
            Self::Revision(revision) => revision.revision.into(),
            Self::Rollouts(_) | Self::Share(_) => 0,
        };
        (discriminant(self), which)
    }

    /// Returns the moment of the detail; `None` for details without one.
    pub fn moment_millis(&self) -> Option<Millis> {
        match self {
            Self::Pod(pod) => Some(pod.now_millis),
            Self::Revision(revision) => Some(revision.now_millis),
            Self::Share(share) => Some(share.at_millis),
            Self::Rollouts(_) => None,
        }
    }

    /// Its heading.
    pub fn title(&self) -> String {
        match self {
            Self::Pod(pod) => pod.name.clone(),
            Self::Revision(revision) => format!("Revision {}", revision.revision),
            // Rollouts past retention belong to the Deployment too, so a count here would differ from the list below.
            Self::Rollouts(all) => format!("Rollouts of {}", all.name),
            Self::Share(_) => "Share".to_owned(),
        }
    }

    /// The title of its page.
    pub fn page_title(&self, workload: &Workload) -> String {
        link_preview::page_title(&self.title(), &workload.namespace, &workload.name)
    }
}
