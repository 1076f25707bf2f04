//! A rollout beside those before it: what its course was, where it stands among them, and how long it may still take.
//!
//! All times are of arrival here, and all of it is derived from what was observed: a rollout of which the begin or the end was not seen
//! has no duration, and a pod whose creation was not seen no start.

pub mod course;
pub mod earlier;
pub mod startup;

use timeline::episodes::EpisodeRow;
use timeline::{Uid, Workload};

pub use self::course::Course;
use crate::link_preview::{Preview, page_title};

/// The page of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparePayload {
    /// The workload whose rollouts are compared.
    pub workload: Workload,
    /// UID of the workload.
    pub uid: Uid,
    /// Course of the rollout that is compared.
    pub course: Course,
    /// When it began, as it is told.
    pub began: String,
    /// The zone in which times are told: "UTC", or "UTC+02:00".
    pub zone: String,
    /// The one that it is laid over.
    pub other: Option<Course>,
    /// Earlier rollouts, the last one first, each with the formatted time of its begin.
    pub before: Vec<(String, EpisodeRow)>,
    /// Where it stands among them, a sentence each.
    pub said: Vec<String>,
}

impl ComparePayload {
    /// The page's title.
    pub fn title(&self) -> String {
        let Workload { namespace, name, .. } = &self.workload;
        page_title(&format!("Revision {} compared", self.course.revision), namespace, name)
    }

    /// Builds the preview of a link to the page.
    pub fn preview(&self) -> Preview {
        Preview { title: self.title(), description: self.said.join(" "), image: None }
    }
}
