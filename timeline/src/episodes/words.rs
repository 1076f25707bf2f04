//! A rollout that is kept, in words: how it ended, why it had trouble, and its extremes.

use crate::EpisodeKind;
use crate::Millis;
use crate::rollout::{Outcome, Trigger};
use crate::say::past;
use crate::words::{capitalized, duration, grouped, grouped_count};

use super::EpisodeRow;

/// Durations shorter than this have no number.
const AT_ONCE_MILLIS: Millis = 100;

/// Names an outcome inside a sentence: "progress deadline passed".
pub const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::ScaledToZero => "scaled to zero",
        Outcome::Superseded => "superseded",
        Outcome::DeadlineExceeded => "progress deadline passed",
        Outcome::Deleted => "Deployment deleted",
        Outcome::Progressing => "in progress",
    }
}

impl EpisodeRow {
    /// Formats the result: "Complete after 12 s".
    pub fn result_words(&self) -> String {
        let end = capitalized(outcome_name(self.outcome).to_owned());
        let passed = self.deadline_millis.filter(|_| self.outcome != Outcome::DeadlineExceeded);
        let passed = passed.map(|_| ", progress deadline passed").unwrap_or_default();
        let unseen = if self.is_part_unseen || self.has_gap { ", part not observed" } else { "" };
        match self.took_millis() {
            Some(took) if took < AT_ONCE_MILLIS => format!("{end} at once{passed}{unseen}"),
            Some(took) => format!("{end} after {}{passed}{unseen}", duration(took)),
            None => format!("{end}{passed}{unseen}"),
        }
    }

    /// Formats the duration for a column: "12 s"; empty while it goes on.
    pub fn duration_words(&self) -> String {
        match self.took_millis() {
            Some(took) if took < AT_ONCE_MILLIS => format!("< {}", duration(AT_ONCE_MILLIS)),
            Some(took) => duration(took),
            None => String::new(),
        }
    }

    /// Returns the status or the result.
    pub fn status(&self) -> Status {
        let had_trouble = !self.trouble().is_empty();
        if !self.is_rollout() {
            let over = if had_trouble { StatusMark::Late } else { StatusMark::Ok };
            let (word, over, going_on) = match self.episode {
                EpisodeKind::Scaling if had_trouble => ("Scaling", over, StatusMark::Bad),
                EpisodeKind::Scaling => ("Scaling", over, StatusMark::Busy),
                EpisodeKind::Recovery => ("Recovery", over, StatusMark::Busy),
                EpisodeKind::Rollout | EpisodeKind::Failure => ("Failure", StatusMark::Late, StatusMark::Bad),
                EpisodeKind::Deletion => ("Deletion", StatusMark::Quiet, StatusMark::Quiet),
            };
            let (mark, note) = if self.is_going_on() { (going_on, "in progress") } else { (over, "") };
            return Status { mark, word, note };
        }
        Status::of_rollout(self.outcome, self.deadline_millis.is_some(), had_trouble)
    }

    /// The events of an episode without a rollout, with its cause where they do not say it. Of a rollout why it had trouble, where its
    /// revision stands beside it: "Could not create pods: quota pods was used up.", and the losses after it was complete. What is over is
    /// told as past.
    pub fn cause_words(&self) -> String {
        let in_tense = |cause: &str| if self.is_going_on() { cause.to_owned() } else { past(cause) };
        if !self.is_rollout() {
            let cause = Some(self.cause.as_str()).filter(|cause| !cause.is_empty() && *cause != self.title);
            return cause.map_or_else(|| self.title.clone(), |cause| format!("{}. {}", self.title, in_tense(cause)));
        }
        let (trouble, own) = (self.trouble(), format!("Revision {} ", self.revision));
        let cause = capitalized(in_tense(trouble.strip_prefix(&own).unwrap_or(trouble)));
        match self.losses_words() {
            None => cause,
            Some(losses) if cause.is_empty() => losses,
            Some(losses) => format!("{cause} {losses}."),
        }
    }

    /// Why it had trouble, as a sentence: its cause, or else the trouble before it began; empty without trouble.
    pub fn trouble(&self) -> &str {
        if self.cause.is_empty() { self.refusal.as_deref().unwrap_or_default() } else { &self.cause }
    }

    /// The losses after it was complete and the refusal of the next revision: "Pod q4xzb deleted after the rollout was complete. The next
    /// revision could not start: quota sets was used up". `None` without any.
    pub fn losses_words(&self) -> Option<String> {
        let told = [&self.losses, &self.next_refusal].into_iter().flatten().cloned();
        told.reduce(|losses, refusal| format!("{losses}. {refusal}"))
    }

    /// Names the trigger.
    pub const fn trigger_words(&self) -> &'static str {
        match self.trigger {
            Trigger::Unknown => "Already running",
            Trigger::Rollback => "Rollback",
            Trigger::Adopted => "ReplicaSet adopted",
            Trigger::Created => "Created",
            Trigger::Restart => "Restart",
            Trigger::Template => "New template",
        }
    }

    /// Its extremes: "3 replicas, observed peak 4 pods (ceiling: 4 desired), lowest 3 available (floor: 3)". A gap may hide others.
    pub fn extremes(&self) -> String {
        if self.is_part_unseen || self.has_gap {
            return grouped_count(self.replicas, "replica");
        }
        let lowest = Some(self.min_available).filter(|_| replaces(self.trigger, self.revision));
        let limits = self.ceiling.zip(self.floor);
        format!("{}, observed {}", grouped_count(self.replicas, "replica"), extremes(self.peak_pods, lowest, limits))
    }
}

/// Returns whether a rollout replaces pods; of revision 1 that is known also where its begin was not observed.
pub fn replaces(trigger: Trigger, revision: u64) -> bool {
    trigger != Trigger::Created && revision > 1
}

/// Most pods at once and fewest available ones, as they were observed, each beside its limit. `lowest` is `None` for a rollout that
/// replaced nothing: it begins with none.
pub fn extremes(peak_pods: u32, lowest: Option<u32>, limits: Option<(u32, u32)>) -> String {
    let number = |pods: u32| grouped(pods.into());
    let (ceiling, floor) = limits.unzip();
    let floor = floor.map(|floor| format!(" (floor: {})", number(floor))).unwrap_or_default();
    // A new pod may be there before the old one that makes room for it is asked to go.
    let ceiling = ceiling.map(|ceiling| format!(" (ceiling: {} desired)", number(ceiling))).unwrap_or_default();
    let lowest = lowest.map(|lowest| format!(", lowest {} available{floor}", number(lowest))).unwrap_or_default();
    format!("peak {}{ceiling}{lowest}", grouped_count(peak_pods, "pod"))
}

/// Status or result of a rollout in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sign before the word.
    pub mark: StatusMark,
    /// "Complete", "Deadline passed".
    pub word: &'static str,
    /// Addition to the word: "then superseded"; may be empty.
    pub note: &'static str,
}

impl Status {
    /// Returns the status of a rollout.
    pub const fn of_rollout(outcome: Outcome, is_past_deadline: bool, had_trouble: bool) -> Self {
        let (mark, word, note) = match (outcome, is_past_deadline) {
            (Outcome::Complete, true) => (StatusMark::Late, "Complete", "after its deadline"),
            (Outcome::Complete, false) if had_trouble => (StatusMark::Late, "Complete", "with trouble"),
            (Outcome::Complete, false) => (StatusMark::Ok, "Complete", ""),
            (Outcome::DeadlineExceeded, _) => (StatusMark::Bad, "Deadline passed", ""),
            (Outcome::Superseded, true) => (StatusMark::Bad, "Deadline passed", "then superseded"),
            (Outcome::ScaledToZero, true) => (StatusMark::Bad, "Deadline passed", "then scaled to zero"),
            (Outcome::Deleted, true) => (StatusMark::Bad, "Deadline passed", "then deleted"),
            (Outcome::ScaledToZero, false) if had_trouble => (StatusMark::Bad, "Scaled to zero", "after trouble"),
            (Outcome::ScaledToZero, false) => (StatusMark::Quiet, "Scaled to zero", ""),
            (Outcome::Superseded, false) if had_trouble => (StatusMark::Bad, "Superseded", "after trouble"),
            (Outcome::Superseded, false) => (StatusMark::Quiet, "Superseded", ""),
            (Outcome::Deleted, false) if had_trouble => (StatusMark::Bad, "Deleted", "after trouble"),
            (Outcome::Deleted, false) => (StatusMark::Quiet, "Deleted", ""),
            (Outcome::Progressing, true) => (StatusMark::Bad, "In progress", "after its deadline"),
            (Outcome::Progressing, false) if had_trouble => (StatusMark::Bad, "In progress", "with trouble"),
            (Outcome::Progressing, false) => (StatusMark::Busy, "In progress", ""),
        };
        Self { mark, word, note }
    }
}

/// Sign before a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMark {
    /// Complete without trouble.
    Ok,
    /// Complete, with trouble before or soon after.
    Late,
    /// In progress without trouble.
    Busy,
    /// In trouble, or ended so.
    Bad,
    /// Ended before it was complete, without trouble.
    Quiet,
}

impl StatusMark {
    /// All signs with their meanings.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Ok, "Complete"),
        (Self::Late, "Complete with trouble"),
        (Self::Busy, "In progress"),
        (Self::Bad, "Failed or had trouble"),
        (Self::Quiet, "Superseded, deleted or scaled to zero"),
    ];

    /// Class name of the sign.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late => "late",
            Self::Busy => "busy",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_passed_is_told_whatever_came_after() {
        let status = |outcome, deadline_millis, cause: &str| {
            let rollout = EpisodeRow { outcome, deadline_millis, cause: cause.to_owned(), ..EpisodeRow::default() };
            let Status { mark, word, note } = rollout.status();
            (mark, word, note)
        };
        let passed = Some(3_000);
        assert_eq!(status(Outcome::Superseded, passed, "why"), (StatusMark::Bad, "Deadline passed", "then superseded"));
        assert_eq!(status(Outcome::Deleted, passed, "why"), (StatusMark::Bad, "Deadline passed", "then deleted"));
        assert_eq!(status(Outcome::Complete, passed, "why"), (StatusMark::Late, "Complete", "after its deadline"));
        assert_eq!(status(Outcome::Complete, None, "why"), (StatusMark::Late, "Complete", "with trouble"));
        assert_eq!(status(Outcome::Complete, None, ""), (StatusMark::Ok, "Complete", ""));
        assert_eq!(status(Outcome::Superseded, None, ""), (StatusMark::Quiet, "Superseded", ""));
        assert_eq!(status(Outcome::Superseded, None, "why"), (StatusMark::Bad, "Superseded", "after trouble"));
        let to_zero = |passed, cause| status(Outcome::ScaledToZero, passed, cause);
        assert_eq!(to_zero(passed, "why"), (StatusMark::Bad, "Deadline passed", "then scaled to zero"));
        assert_eq!(to_zero(None, "why"), (StatusMark::Bad, "Scaled to zero", "after trouble"));
        assert_eq!(to_zero(None, ""), (StatusMark::Quiet, "Scaled to zero", ""));
        assert_eq!(status(Outcome::Deleted, None, "why"), (StatusMark::Bad, "Deleted", "after trouble"));
        assert_eq!(status(Outcome::Progressing, None, ""), (StatusMark::Busy, "In progress", ""));
        assert_eq!(status(Outcome::Progressing, None, "why"), (StatusMark::Bad, "In progress", "with trouble"));
        for outcome in [Outcome::Complete, Outcome::Progressing, Outcome::Superseded, Outcome::Deleted] {
            let (mark, ..) = status(outcome, None, "why");
            let (_, meaning) = StatusMark::ALL.into_iter().find(|(known, _)| *known == mark).unwrap();
            assert!(meaning.contains("trouble"), "{outcome:?}: {meaning}");
        }
        let recovery = |cause: &str| {
            let cause = cause.to_owned();
            EpisodeRow { episode: EpisodeKind::Recovery, outcome: Outcome::Complete, cause, ..Default::default() }
                .status()
        };
        assert_eq!([recovery("").mark, recovery("why").mark], [StatusMark::Ok, StatusMark::Late]);
        let superseded = EpisodeRow {
            trigger: Trigger::Template,
            outcome: Outcome::Superseded,
            deadline_millis: passed,
            ended_millis: Some(5_000),
            ..EpisodeRow::default()
        };
        assert_eq!(superseded.result_words(), "Superseded after 5.0 s, progress deadline passed");
    }

    #[test]
    fn causes_of_what_is_over_are_told_as_past() {
        let told = |cause: &str, outcome| {
            EpisodeRow { revision: 8, cause: cause.to_owned(), outcome, ..EpisodeRow::default() }.cause_words()
        };
        assert_eq!(
            told("Revision 8 cannot create pods: quota pods is used up.", Outcome::Complete),
            "Could not create pods: quota pods was used up."
        );
        assert_eq!(told("Revision 8 cannot start: no image.", Outcome::Complete), "Could not start: no image.");
        assert_eq!(told("Revision 8 cannot start: no image.", Outcome::Progressing), "Cannot start: no image.");
        assert_eq!(told("The next revision cannot start.", Outcome::Complete), "The next revision could not start.");
        assert_eq!(
            told(
                "Revision 8 is replacing revision 7: no pod is available. Node a has not been ready for 12 s: 1 old pod on \
                 it does not count.",
                Outcome::Superseded
            ),
            "Was replacing revision 7: no pod was available. Node a had not been ready for 12 s: 1 old pod on it did not \
             count."
        );
        let paused = "Paused: no pod is available. 1 new pod is running but not ready for 12 s.";
        assert_eq!(told(paused, Outcome::Progressing), paused);
        assert_eq!(
            told(paused, Outcome::Complete),
            "Paused: no pod was available. 1 new pod was running but not ready for 12 s."
        );
        let lost = |cause: &str| {
            let (cause, losses) = (cause.to_owned(), Some("2 pods deleted after the rollout was complete".to_owned()));
            EpisodeRow { cause, losses, outcome: Outcome::Complete, ..EpisodeRow::default() }.cause_words()
        };
        assert_eq!(lost(""), "2 pods deleted after the rollout was complete");
        assert_eq!(lost("No progress."), "No progress. 2 pods deleted after the rollout was complete.");
        let refused = |losses: Option<&str>| {
            let (losses, next_refusal) =
                (losses.map(str::to_owned), Some("The next revision could not start".to_owned()));
            EpisodeRow { losses, next_refusal, outcome: Outcome::Complete, ..EpisodeRow::default() }.cause_words()
        };
        assert_eq!(refused(None), "The next revision could not start");
        assert_eq!(refused(Some("2 pods deleted")), "2 pods deleted. The next revision could not start");
        let before = |cause: &str| {
            let (cause, refusal) = (cause.to_owned(), Some("Revision 8 could not start: no.".to_owned()));
            let outcome = Outcome::Complete;
            let rollout = EpisodeRow { revision: 8, cause, refusal, outcome, ..EpisodeRow::default() };
            (rollout.status().mark, rollout.cause_words())
        };
        assert_eq!(before(""), (StatusMark::Late, "Could not start: no.".to_owned()));
        assert_eq!(before("Containers crash."), (StatusMark::Late, "Containers crash.".to_owned()));
    }

    #[test]
    fn a_scaling_is_told_with_its_cause() {
        let told = |outcome, cause: &str| {
            let (title, cause) = ("Scaled from 2 to 4".to_owned(), cause.to_owned());
            let scaling = EpisodeRow { episode: EpisodeKind::Scaling, title, cause, outcome, ..Default::default() };
            (scaling.status().mark, scaling.cause_words())
        };
        let cause = "Revision 1 has 2 of 4 available: quota q is used up.";
        let open = "Scaled from 2 to 4. Revision 1 has 2 of 4 available: quota q is used up.".to_owned();
        assert_eq!(told(Outcome::Progressing, cause), (StatusMark::Bad, open.clone()));
        assert_eq!(told(Outcome::Complete, cause), (StatusMark::Late, past(&open)));
        let alone = "Scaled from 2 to 4".to_owned();
        assert_eq!(told(Outcome::Progressing, ""), (StatusMark::Busy, alone.clone()));
        assert_eq!(told(Outcome::Complete, &alone), (StatusMark::Late, alone), "it says its outage");
    }

    #[test]
    fn extremes_stand_beside_their_limits() {
        let (limits, lowest) = (Some((13, 8)), Some(8));
        assert_eq!(extremes(14, lowest, limits), "peak 14 pods (ceiling: 13 desired), lowest 8 available (floor: 8)");
        let many = extremes(6_250, Some(3_750), Some((6_250, 3_750)));
        assert_eq!(many, "peak 6,250 pods (ceiling: 6,250 desired), lowest 3,750 available (floor: 3,750)");
        assert_eq!(extremes(1, lowest, None), "peak 1 pod, lowest 8 available");
        let trigger = Trigger::Created;
        let created =
            EpisodeRow { trigger, replicas: 3, peak_pods: 4, ceiling: Some(4), floor: Some(3), ..Default::default() };
        assert_eq!(created.extremes(), "3 replicas, observed peak 4 pods (ceiling: 4 desired)", "it begins with none");
        let running = |revision| EpisodeRow { revision, ..EpisodeRow::default() };
        assert!(!running(1).extremes().contains("lowest") && running(2).extremes().contains("lowest 0 available"));
    }
}
