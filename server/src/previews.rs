//! Previews that were drawn lately, for whoever asks next.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use timeline::Workload;

/// A picture is used again for this long.
const FRESH: Duration = Duration::from_secs(10);
/// Pictures that are kept.
const MOST: usize = 64;

/// Pictures that were drawn lately.
#[derive(Default)]
pub struct Previews(Mutex<BTreeMap<Workload, (Instant, Bytes)>>);

impl Previews {
    /// The picture of a workload, as long as it is fresh.
    pub fn get(&self, workload: &Workload) -> Option<Bytes> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < FRESH);
        known.get(workload).map(|(_, png)| png.clone())
    }

    /// Keeps a picture.
    pub fn keep(&self, workload: Workload, png: Bytes) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(workload, (Instant::now(), png));
    }
}
