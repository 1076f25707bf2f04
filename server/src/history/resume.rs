//! A cluster as it was known when the last observation was written: the checkpoint, and what came after it.
//!
//! A checkpoint is MessagePack that says that it is human-readable: only such a format holds the whole model, and the maps of a
//! timeline have keys that JSON cannot hold.

use rmp_serde::{Deserializer, Serializer};
use serde::{Deserialize, Serialize};
use timeline::{History, Millis, Timeline};

use super::store::{Checkpoint, Stored};
use crate::feed::recording::Recording;
use crate::kube::{InitialState, Observed};

/// Arrivals of one run are told this far out of order at most.
const OUT_OF_ORDER_MILLIS: Millis = 1_000;
/// Which timeline this program has.
pub const FINGERPRINT: &str = env!("ROLLCAST_TIMELINE");
/// Checkpoints are large and short-lived.
const LEVEL: i32 = 1;

/// A hub's state, to be put away.
#[derive(Serialize)]
pub struct Standing<'h> {
    /// The timeline as it is.
    pub timeline: &'h Timeline,
    /// Everything that changed in it, as far as it is kept.
    pub history: &'h History,
    /// First and last observation.
    pub observed: Option<(Millis, Millis)>,
}

#[derive(Default, Deserialize)]
struct Stood {
    timeline: Timeline,
    history: History,
    observed: Option<(Millis, Millis)>,
}

/// Puts a hub's state away. `None` when there is not enough memory for it.
#[must_use]
pub fn checkpoint(standing: &Standing<'_>) -> Option<Checkpoint> {
    let mut bytes = Vec::new();
    standing.serialize(&mut Serializer::new(&mut bytes).with_human_readable()).ok()?;
    Some(Checkpoint { made_by: FINGERPRINT.to_owned(), body: zstd::bulk::compress(&bytes, LEVEL).ok()? })
}

fn stood(checkpoint: &Checkpoint) -> Option<Stood> {
    let bytes = zstd::stream::decode_all(checkpoint.body.as_slice()).ok()?;
    Stood::deserialize(&mut Deserializer::from_read_ref(&bytes).with_human_readable()).ok()
}

/// Takes a cluster up again. `None` when nothing of it can be read.
#[must_use]
pub fn resume(cluster: &str, stored: Stored) -> Option<InitialState> {
    let Stored { heard_millis, checkpoint, batches, .. } = stored;
    let has_checkpoint = checkpoint.is_some();
    let stood = checkpoint.as_ref().map(stood);
    if matches!(stood, Some(None)) {
        tracing::warn!("ignored the damaged checkpoint of cluster {cluster}");
        return None;
    }
    let Stood { mut timeline, mut history, mut observed } = stood.flatten().unwrap_or_default();
    let mut bad = 0;
    for batch in &batches {
        let text = match batch.text() {
            Ok(text) => text,
            Err(why) => {
                tracing::warn!(
                    "cannot read the history of cluster {cluster} from {} to {} (Unix milliseconds): {why}",
                    batch.from_millis,
                    batch.to_millis
                );
                continue;
            }
        };
        let recording = Recording::read(&text);
        bad += recording.bad_lines.len();
        for seen in recording.observed {
            let last = observed.map_or(seen.at_millis, |(_, last): (Millis, Millis)| last);
            // Clocks may be set back between two runs. Within one, watches tell arrivals by themselves, and not always in order.
            let at_millis = if seen.at_millis + OUT_OF_ORDER_MILLIS < last { last } else { seen.at_millis };
            observed = Some((observed.map_or(at_millis, |(first, _)| first), at_millis.max(last)));
            history.note(at_millis, &Observed { at_millis, ..seen }.apply(&mut timeline));
        }
    }
    if bad > 0 {
        tracing::warn!("ignored {bad} unreadable lines in the history of cluster {cluster}");
    }
    let heard_millis = Some(observed.map_or(heard_millis, |(_, last)| last.max(heard_millis)));
    let initial = InitialState { timeline, history, observed, looking_since_millis: None, heard_millis };
    (has_checkpoint || observed.is_some()).then_some(initial)
}
