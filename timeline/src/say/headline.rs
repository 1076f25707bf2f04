//! The cause that decides, in the few words of a headline; [`super::cause`] has its figures.

use super::cause::quota;
use crate::stall::certain::{PullFailure, pull_failure, told};
use crate::stall::{Cause, CauseKind, Refused};
use crate::view::Assessment;
use crate::words::safe;

/// Longest message that is a headline, in words.
const LONGEST_MESSAGE: usize = 8;

/// What is the matter: "image web:missing is not found", "containers crash with exit code 1".
pub(super) fn matter(cause: &Cause, looked: &Assessment<'_>) -> String {
    let evidence = &cause.evidence;
    match &cause.kind {
        CauseKind::Image { image } => {
            let (one, of) = match image {
                Some(image) => (format!("image {}", safe(image)), format!("image {}", safe(image))),
                None => ("an image".to_owned(), "an image".to_owned()),
            };
            match pull_failure(&evidence.reason, &evidence.message, told(looked, &evidence.object)) {
                PullFailure::NotFound => format!("{one} is not found"),
                PullFailure::Denied => format!("access to {of} is denied"),
                PullFailure::Unusable | PullFailure::Other => format!("{one} cannot be pulled"),
            }
        }
        CauseKind::BadContainer => {
            let message = safe(evidence.message.trim().trim_end_matches('.'));
            let is_short = (1..=LONGEST_MESSAGE).contains(&message.split_whitespace().count());
            if evidence.reason == "CreateContainerConfigError" && is_short {
                message
            } else {
                format!("a container cannot be created ({})", safe(&evidence.reason))
            }
        }
        CauseKind::Crash { is_out_of_memory: true, .. } => "containers run out of memory".to_owned(),
        CauseKind::Crash { exit_code: Some(code), .. } => format!("containers crash with exit code {code}"),
        CauseKind::Crash { .. } => "containers crash".to_owned(),
        CauseKind::Refused(what) => match (quota(&evidence.message), what) {
            (Some(quota), _) => format!("quota {} is used up", quota.name),
            (None, Refused::ReplicaSet) => "the API server refuses the new ReplicaSet".to_owned(),
            (None, Refused::Pods) => "the API server refuses new pods".to_owned(),
            (None, Refused::Deletion) => "the API server refuses to delete pods".to_owned(),
        },
        _ => format!("a container does not start ({})", safe(&evidence.reason)),
    }
}
