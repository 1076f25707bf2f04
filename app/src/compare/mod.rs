//! Compares a rollout with earlier ones: its course, its rank among them, and the time that it may still take.
//!
//! All times are arrival times at Rollcast, and everything is derived from observations: a rollout whose beginning or end was not observed
//! has no duration, and a pod whose creation was not observed has no startup time.

pub mod course;
pub mod earlier;
pub mod startup;

use timeline::episodes::EpisodeRow;
use timeline::{Uid, Workload};

pub use self::course::Course;
use crate::link_preview::{Preview, page_title};

/// Content of the page that compares a rollout with earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparePayload {
    /// The workload whose rollouts are compared.
    pub workload: Workload,
    /// UID of the workload.
    pub uid: Uid,
    /// Course of the rollout that is compared.
    pub course: Course,
    /// When it began, formatted.
    pub began: String,
    /// The zone of the times: "UTC", or "UTC+02:00".
    pub zone: String,
    /// The rollout that is drawn over the course; `None` if there is none.
    pub other: Option<Course>,
    /// Earlier rollouts, the latest first, each with the formatted time of its beginning.
    pub before: Vec<(String, EpisodeRow)>,
    /// Sentences that compare it with the earlier ones.
    pub said: Vec<String>,
}

impl ComparePayload {
    /// Returns the title of the page.
    pub fn title(&self) -> String {
        let Workload { namespace, name, .. } = &self.workload;
        page_title(&format!("Revision {} compared", self.course.revision), namespace, name)
    }

    /// Builds the preview of a link to the page.
    pub fn preview(&self) -> Preview {
        Preview { title: self.title(), description: self.said.join(" "), image: None }
    }
}
