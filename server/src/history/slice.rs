//! One rollout cut out of everything that was observed: what existed when it began, and what happened to it until it was over.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::{Millis, Uid};

use super::fold::Fold;
use crate::recording::{LineType, RecordedLine};

/// A rollout is shown from this long before it began.
pub const LEAD_MILLIS: Millis = 5_000;
/// And until this long after it was over: pods take their time to end.
pub const TAIL_MILLIS: Millis = 45_000;
/// Of one that never ended this much is shown.
pub const LONGEST_MILLIS: Millis = 6 * 3_600_000;

/// Since when and until when.
pub type Stretch = (Millis, Millis);

/// The stretch of time in which a rollout is shown: from a little before its begin to a little after its end, and not past its last
/// moment, which knows nothing of the next one.
#[must_use]
pub fn stretch(started_millis: Millis, ended_millis: Option<Millis>, last_millis: Option<Millis>) -> Stretch {
    let over_millis = ended_millis.unwrap_or(started_millis + LONGEST_MILLIS) + TAIL_MILLIS;
    // One that was complete before the next one began is shown complete, however soon that one came.
    let complete = |last: Millis| ended_millis.filter(|ended| *ended <= last).unwrap_or(Millis::MIN);
    let to_millis = last_millis.map_or(over_millis, |last| over_millis.min(last).max(complete(last)));
    (started_millis - LEAD_MILLIS, to_millis)
}

/// Until when it can be shown at most: some hours longer, where somebody asks for a moment there, and not into the next one.
#[must_use]
pub fn reach(started_millis: Millis, ended_millis: Option<Millis>, last_millis: Option<Millis>) -> Millis {
    let (_, to_millis) = stretch(started_millis, ended_millis, last_millis);
    let most_millis = ended_millis.unwrap_or(started_millis + LONGEST_MILLIS) + LONGEST_MILLIS;
    last_millis.map_or(most_millis, |last| most_millis.min(last)).max(to_millis)
}

/// The lines that came later than a time.
#[must_use]
pub fn later(text: &str, than_millis: Millis) -> String {
    let lines = text.lines().filter_map(KeptLine::read).filter(|line| line.at_millis > than_millis);
    lines.map(|line| format!("{}\n", line.text)).collect()
}

/// Of an object who it is, whose, and what it is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Related {
    metadata: Relation,
    #[serde(default)]
    involved_object: Option<About>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Relation {
    uid: Uid,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    owner_references: Vec<About>,
}

#[derive(Deserialize)]
struct About {
    #[serde(default)]
    uid: Option<Uid>,
}

/// Cuts the lines of a Deployment out of texts that begin with a keyframe, or with everything. Of what came after `whole_until` only what
/// existed at the end is in it, with a gap before.
#[must_use]
pub fn cut(texts: &[String], deployment: Uid, stretch: Stretch, whole_until: Option<Millis>) -> String {
    let (from_millis, to_millis) = stretch;
    let lines: Vec<KeptLine<'_>> = texts.iter().flat_map(|text| text.lines()).filter_map(KeptLine::read).collect();
    let mine = belonging(&lines, deployment);
    let (mut before, mut after, mut end) = (Fold::default(), String::new(), Fold::default());
    let mut gap_since_millis = None;
    for line in lines.iter().take_while(|line| line.at_millis <= to_millis).filter(|line| line.is_of(&mine)) {
        if whole_until.is_some() {
            end.take(line.text);
        }
        if line.at_millis < from_millis {
            before.take(line.text);
        } else if let Some(until) = whole_until.filter(|until| line.at_millis > *until) {
            gap_since_millis = Some(until);
        } else {
            after.push_str(line.text);
            after.push('\n');
        }
    }
    // A first part may end before it.
    before.reach(from_millis.min(to_millis));
    let (_, mut text) = before.keyframe(None);
    text.push_str(&after);
    if gap_since_millis.is_some() {
        let (_, end) = end.keyframe(gap_since_millis);
        text.push_str(&end);
    }
    text
}

/// A line as far as it is looked at here.
struct KeptLine<'t> {
    text: &'t str,
    at_millis: Millis,
    is_list_done: bool,
    object: Option<Related>,
}

impl<'t> KeptLine<'t> {
    /// `None` when it cannot be read.
    fn read(text: &'t str) -> Option<Self> {
        let read: RecordedLine<'_, &RawValue> = serde_json::from_str(text).ok()?;
        Some(Self {
            text,
            at_millis: read.observed_at_millis,
            is_list_done: read.r#type == LineType::ListDone,
            object: serde_json::from_str(read.object.get()).ok(),
        })
    }

    fn is_of(&self, mine: &BTreeSet<Uid>) -> bool {
        self.is_list_done || self.object.as_ref().is_some_and(|object| object.is_of(mine))
    }
}

/// UIDs of the Deployment and of what it ever owned, in its namespace.
fn belonging(lines: &[KeptLine<'_>], deployment: Uid) -> BTreeSet<Uid> {
    let mut mine = BTreeSet::from([deployment]);
    let mut all = lines.iter().filter_map(|line| line.object.as_ref().map(|object| &object.metadata));
    let here = all.find(|metadata| metadata.uid == deployment).map(|metadata| metadata.namespace.as_str());
    // Streams of kinds overtake each other: a pod may come before the ReplicaSet that ties it to the Deployment.
    for _ in 0..2 {
        for Related { metadata, .. } in lines.iter().filter_map(|line| line.object.as_ref()) {
            let is_here = here.is_none_or(|namespace| metadata.namespace == namespace);
            if is_here
                && metadata.owner_references.iter().filter_map(|owner| owner.uid).any(|owner| mine.contains(&owner))
            {
                mine.insert(metadata.uid);
            }
        }
    }
    mine
}

impl Related {
    fn is_of(&self, mine: &BTreeSet<Uid>) -> bool {
        let about = self.involved_object.as_ref().and_then(|about| about.uid);
        mine.contains(&self.metadata.uid) || about.is_some_and(|about| mine.contains(&about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_begins_with_the_rollout_and_not_with_the_last_list_before_it() {
        let uid = "00000000-0000-4000-8000-000000000001";
        let list = r#"{"observedAtMillis":1000,"kind":"Deployment","type":"LIST_DONE","object":{}}"#;
        let added = format!(
            r#"{{"observedAtMillis":1200000,"kind":"Deployment","type":"ADDED","object":{{"metadata":{{"uid":"{uid}"}}}}}}"#
        );
        let texts = [format!("{list}\n{added}\n")];
        let recording = cut(&texts, uid.parse().unwrap(), (1_195_000, 1_300_000), None);
        let first = recording.lines().next().unwrap_or_default();
        assert!(first.contains("LIST_DONE") && first.contains(r#""observedAtMillis":1195000"#), "{recording}");
        assert!(recording.ends_with(&format!("{added}\n")), "{recording}");
    }
}
