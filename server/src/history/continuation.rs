//! Observations from a time in which the stored history cannot be read: once they can be written, they continue it.

use std::collections::BTreeSet;

use timeline::Millis;
use timeline::fact::Kind;

use super::batch::Batch;
use super::latest_lines::LatestLines;
use super::sql::CLOCKS_MILLIS;
use super::store::{Commit, Store, StoreError};
use crate::feed::recording::{LineType, RawLine, RecordedLine};

/// Changes commits so that they continue a cluster's history, which was not read.
#[derive(Debug, Default)]
pub(super) struct Continuation {
    /// Last observation in the store, once it is known; the inner `None` means that nothing was stored.
    heard: Option<Option<Millis>>,
    /// Time until which another server stored the observations.
    stored_until_millis: Option<Millis>,
    /// Kinds and namespaces that were listed since then.
    listed: BTreeSet<(String, Option<String>)>,
}

impl Continuation {
    /// Changes a commit so that it continues the stored history. Its checkpoint is dropped, because it lacks that history.
    pub(super) fn apply(&mut self, store: &mut dyn Store, commit: &mut Commit) -> Result<(), StoreError> {
        let heard = match &self.heard {
            Some(known) => known,
            None => &*self.heard.insert(store.last_response(&commit.cluster)?),
        };
        let Some(heard_millis) = *heard else { return Ok(()) };
        commit.checkpoint = None;
        if let Some(lines) = &commit.lines
            && let Ok(text) = lines.text()
            && let Ok(continued) =
                Batch::pack(lines.from_millis, lines.to_millis, &self.replace_stored_lines(heard_millis, &text))
        {
            commit.lines = Some(continued);
        }
        Ok(())
    }

    /// Replaces lines from the stored time by the objects at its end. The first lists afterwards end a gap.
    fn replace_stored_lines(&mut self, heard_millis: Millis, text: &str) -> String {
        let (mut before, mut after) = (LatestLines::default(), String::new());
        for line in text.lines() {
            let Some(read) = RawLine::parse(line) else { continue };
            let stored_until_millis = *self.stored_until_millis.get_or_insert_with(|| {
                let is_overlap = read.observed_at_millis <= heard_millis;
                if is_overlap { heard_millis + CLOCKS_MILLIS } else { heard_millis }
            });
            let scope = || (read.kind.to_string(), read.namespace.as_ref().map(ToString::to_string));
            let is_first = read.r#type == LineType::ListDone && self.listed.insert(scope());
            if read.observed_at_millis <= stored_until_millis {
                before.read(line);
                continue;
            }
            let is_gap = is_first && read.gap_since_millis.is_none() && Kind::from_name(&read.kind).is_some();
            match serde_json::to_string(&RecordedLine { gap_since_millis: Some(heard_millis), ..read }) {
                Ok(with_gap) if is_gap => after.push_str(&with_gap),
                _ => after.push_str(line),
            }
            after.push('\n');
        }
        before.keyframe(None) + &after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_millis: Millis, r#type: &str, name: &str) -> String {
        let object = format!(
            r#"{{"metadata":{{"uid":"00000000-0000-4000-8000-{name:0>12}","name":"{name}","namespace":"n"}}}}"#
        );
        format!(r#"{{"observedAtMillis":{at_millis},"kind":"Pod","type":"{type}","object":{object}}}"#)
    }

    fn text(lines: &[String]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_first_list_after_what_is_kept_has_the_gap_and_no_later_one() {
        let lines = [line(9_000, "LISTED", "1"), line(9_000, "LIST_DONE", "1"), line(9_500, "LIST_DONE", "1")];
        let told = Continuation::default().replace_stored_lines(5_000, &text(&lines));
        let gaps: Vec<bool> = told.lines().map(|line| line.contains("\"blindSinceMillis\":5000")).collect();
        assert_eq!(gaps, [false, true, false]);
    }

    #[test]
    fn of_the_time_that_is_kept_already_only_what_existed_at_its_end_is_told() {
        let lines = [
            line(1_000, "LISTED", "1"),
            line(1_000, "LIST_DONE", "1"),
            line(2_000, "ADDED", "2"),
            line(3_000, "DELETED", "1"),
            line(8_000, "ADDED", "3"),
        ];
        let told = Continuation::default().replace_stored_lines(5_000, &text(&lines));
        let types: Vec<&str> =
            told.lines().map(|line| line.split("\"type\":\"").nth(1).unwrap().split('"').next().unwrap()).collect();
        assert_eq!(types, ["LISTED", "LIST_DONE", "ADDED"], "{told}");
        assert!(!told.contains("\"name\":\"1\"") && !told.contains("blindSince"), "{told}");
    }
}
