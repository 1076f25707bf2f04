//! Restores the state of a cluster at its last stored observation: from its checkpoint, and the lines after it.
//!
//! A checkpoint is MessagePack with the serializer's setting "human-readable": only such a format can store the whole model. JSON
//! cannot store the keys of the timeline's maps.

use rmp_serde::{Deserializer, Serializer};
use serde::{Deserialize, Serialize};
use timeline::wire::{Position, SaidVersion};
use timeline::{History, Millis, Timeline};

use super::batch;
use super::store::StoredCluster;
use crate::feed::recording::Recording;
use crate::kube::{InitialState, Observed};

/// Arrivals of one run are out of order by less than this.
const OUT_OF_ORDER_MILLIS: Millis = 1_000;
/// Version of the timeline in this program.
pub const FINGERPRINT: &str = env!("ROLLCAST_TIMELINE");
/// Compression level: checkpoints are large and short-lived.
const LEVEL: i32 = 1;

/// Serializes a checkpoint: a timeline, its changes in memory, its epoch, and the times of its first and last observation. `None` if memory
/// is short.
pub fn serialize(
    timeline: &Timeline,
    history: &History,
    epoch: u64,
    observed: Option<(Millis, Millis)>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let state = (timeline, history, epoch, observed);
    state.serialize(&mut Serializer::new(&mut bytes).with_human_readable()).ok()?;
    Some(bytes)
}

/// Compresses a serialized checkpoint, which takes longer than serializing it. `None` if memory is short.
pub fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL).ok()
}

fn decode(checkpoint: &[u8]) -> Option<InitialState> {
    let bytes = batch::decompress(checkpoint).ok()?;
    let mut deserializer = Deserializer::from_read_ref(&bytes).with_human_readable();
    let (timeline, mut history, epoch, observed): (Timeline, History, u64, _) =
        Deserialize::deserialize(&mut deserializer).ok()?;
    history.share_pods(timeline.model());
    // The changes after the checkpoint are computed again, and may differ from those that viewers received.
    let before = Some(Position { epoch, seq: timeline.seq(), said: SaidVersion::default() });
    Some(InitialState { timeline, history, before, observed, ..InitialState::default() })
}

/// Restores a cluster. `None` if its data cannot be read.
pub fn restore(cluster: &str, stored: StoredCluster) -> Option<InitialState> {
    let StoredCluster { heard_millis, checkpoint, batches, .. } = stored;
    let has_checkpoint = checkpoint.is_some();
    let Some(mut initial) = checkpoint.map_or_else(|| Some(InitialState::default()), |known| decode(&known)) else {
        tracing::warn!("ignored the damaged checkpoint of cluster {cluster}");
        return None;
    };
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
            let last = initial.observed.map_or(seen.at_millis, |(_, last)| last);
            // Clocks may be set back between two runs. Within one run, watches stamp their arrivals separately, and not always in order.
            let at_millis = if seen.at_millis + OUT_OF_ORDER_MILLIS < last { last } else { seen.at_millis };
            initial.observe(Observed { at_millis, ..seen });
        }
    }
    if bad > 0 {
        tracing::warn!("ignored {bad} unreadable lines in the history of cluster {cluster}");
    }
    initial.heard_millis = Some(initial.observed.map_or(heard_millis, |(_, last)| last.max(heard_millis)));
    (has_checkpoint || initial.observed.is_some()).then_some(initial)
}
