//! One rollout cut out of everything that was observed: what existed when it began, and what happened to it until it was over.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::{Millis, Uid};

use super::fold::Fold;
use crate::feed::recording::{LineType, RecordedLine};

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
///
/// The texts are what a whole cluster did: `texts` unpacks them one after the other, each time that it is called, and no two of them are
/// held at once. Returns `None` when the lines of the Deployment alone take more than `most_bytes`.
#[must_use]
pub fn cut<T: AsRef<str>, I: Iterator<Item = T>>(
    texts: impl Fn() -> I,
    deployment: Uid,
    stretch: Stretch,
    whole_until: Option<Millis>,
    most_bytes: usize,
) -> Option<String> {
    let (from_millis, to_millis) = stretch;
    let mine = belonging(texts(), deployment);
    let (mut before, mut after, mut end) = (Fold::default(), String::new(), Fold::default());
    let mut gap_since_millis = None;
    'texts: for text in texts() {
        for line in text.as_ref().lines().filter_map(KeptLine::read) {
            if line.at_millis > to_millis {
                break 'texts;
            }
            if !line.is_of(&mine) {
                continue;
            }
            if whole_until.is_some() {
                end.take(line.text);
            }
            if line.at_millis < from_millis {
                before.take(line.text);
            } else if let Some(until) = whole_until.filter(|until| line.at_millis > *until) {
                gap_since_millis = Some(until);
            } else if after.len() + line.text.len() < most_bytes {
                after.push_str(line.text);
                after.push('\n');
            } else {
                return None;
            }
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
    (text.len() <= most_bytes).then_some(text)
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
fn belonging<T: AsRef<str>>(texts: impl Iterator<Item = T>, deployment: Uid) -> BTreeSet<Uid> {
    // Who owns whom is remembered once for each object, however many lines tell of it.
    let (mut owned, mut here) = (BTreeMap::new(), None);
    for text in texts {
        for Related { metadata, .. } in text.as_ref().lines().filter_map(KeptLine::read).filter_map(|line| line.object)
        {
            let Relation { uid, namespace, owner_references } = metadata;
            if uid == deployment {
                here = Some(namespace);
            } else {
                let owners = owner_references.into_iter().filter_map(|owner| owner.uid);
                owned.extend(owners.map(|owner| ((owner, uid), namespace.clone())));
            }
        }
    }
    owned.retain(|_, namespace| here.as_ref().is_none_or(|here| here == namespace));
    let mut mine = BTreeSet::from([deployment]);
    // A Deployment owns ReplicaSets, and those own pods.
    for _ in 0..2 {
        let more: Vec<Uid> = owned.keys().filter(|(owner, _)| mine.contains(owner)).map(|(_, uid)| *uid).collect();
        mine.extend(more);
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
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_recording_begins_with_the_rollout_and_not_with_the_last_list_before_it() {
        let uid = "00000000-0000-4000-8000-000000000001";
        let list = r#"{"observedAtMillis":1000,"kind":"Deployment","type":"LIST_DONE","object":{}}"#;
        let added = format!(
            r#"{{"observedAtMillis":1200000,"kind":"Deployment","type":"ADDED","object":{{"metadata":{{"uid":"{uid}"}}}}}}"#
        );
        let texts = [format!("{list}\n{added}\n")];
        let recording = cut(|| texts.iter(), uid.parse().unwrap(), (1_195_000, 1_300_000), None, usize::MAX).unwrap();
        let first = recording.lines().next().unwrap_or_default();
        assert!(first.contains("LIST_DONE") && first.contains(r#""observedAtMillis":1195000"#), "{recording}");
        assert!(recording.ends_with(&format!("{added}\n")), "{recording}");
    }

    /// A text that counts how many of its kind are held.
    struct Counted<'c>(String, &'c Cell<(usize, usize)>);

    impl<'c> Counted<'c> {
        fn new(text: &str, counts: &'c Cell<(usize, usize)>) -> Self {
            let (now, most) = counts.get();
            counts.set((now + 1, most.max(now + 1)));
            Self(text.to_owned(), counts)
        }
    }

    impl AsRef<str> for Counted<'_> {
        fn as_ref(&self) -> &str {
            &self.0
        }
    }

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            let (now, most) = self.1.get();
            self.1.set((now - 1, most));
        }
    }

    #[test]
    fn what_a_whole_cluster_did_is_held_one_batch_at_a_time_and_a_result_that_is_too_large_is_refused() {
        let uid = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
        let line = |at: u32, number: u32, owner: u32| {
            let (uid, owner) = (uid(number), uid(owner));
            format!(
                r#"{{"observedAtMillis":{at},"kind":"Pod","type":"ADDED","object":{{"metadata":{{"uid":"{uid}","ownerReferences":[{{"uid":"{owner}"}}]}}}}}}"#
            )
        };
        // A pod may come before the ReplicaSet that ties it to the Deployment.
        let mine = [line(10, 3, 2), line(11, 2, 1)];
        let others = (20..1_020).map(|number| line(12, number, 9)).collect::<Vec<_>>().join("\n");
        let texts = [mine[0].clone(), others, mine[1].clone()];
        let counts = Cell::new((0, 0));
        let deployment = uid(1).parse().unwrap();
        let cut_within = |most_bytes| {
            let texts = || texts.iter().map(|text| Counted::new(text, &counts));
            cut(texts, deployment, (5, 100), None, most_bytes)
        };
        let whole = cut_within(10_000).unwrap();
        assert!(whole.ends_with(&format!("{}\n{}\n", mine[0], mine[1])), "{whole}");
        assert_eq!(counts.get(), (0, 1), "no two texts are held at once");
        assert_eq!(cut_within(whole.len()), Some(whole.clone()));
        assert_eq!(cut_within(whole.len() - 1), None);
    }
}
