//! One rollout cut out of everything that was observed: what existed when it began, and what happened to it until it was over.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::{Millis, Uid};

use super::fold::Fold;
use crate::recording::{LineType, RecordedLine};

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
    owner_references: Vec<About>,
}

#[derive(Deserialize)]
struct About {
    #[serde(default)]
    uid: Option<Uid>,
}

/// Cuts the lines of a Deployment from `from_millis` to `to_millis` out of texts that begin with a keyframe, or with everything.
#[must_use]
pub fn cut(texts: &[String], deployment: Uid, from_millis: Millis, to_millis: Millis) -> String {
    let mine = belonging(texts, deployment);
    let (mut before, mut after) = (Fold::default(), String::new());
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) else { continue };
        if read.observed_at_millis > to_millis {
            break;
        }
        let is_mine = read.r#type == LineType::ListDone || related(&read).is_some_and(|object| object.is_of(&mine));
        match is_mine {
            false => {}
            true if read.observed_at_millis < from_millis => before.take(line),
            true => {
                after.push_str(line);
                after.push('\n');
            }
        }
    }
    let (_, mut text) = before.keyframe();
    text.push_str(&after);
    text
}

/// UIDs of the Deployment and of what it ever owned.
fn belonging(texts: &[String], deployment: Uid) -> BTreeSet<Uid> {
    let mut mine = BTreeSet::from([deployment]);
    // Streams of kinds overtake each other: a pod may come before the ReplicaSet that ties it to the Deployment.
    for _ in 0..2 {
        for line in texts.iter().flat_map(|text| text.lines()) {
            let Ok(read) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(line) else { continue };
            let Some(object) = related(&read) else { continue };
            if object.metadata.owner_references.iter().filter_map(|owner| owner.uid).any(|owner| mine.contains(&owner))
            {
                mine.insert(object.metadata.uid);
            }
        }
    }
    mine
}

fn related(line: &RecordedLine<'_, &RawValue>) -> Option<Related> {
    serde_json::from_str(line.object.get()).ok()
}

impl Related {
    fn is_of(&self, mine: &BTreeSet<Uid>) -> bool {
        let about = self.involved_object.as_ref().and_then(|about| about.uid);
        mine.contains(&self.metadata.uid) || about.is_some_and(|about| mine.contains(&about))
    }
}
