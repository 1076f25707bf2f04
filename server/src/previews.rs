//! Previews that were drawn lately, for whoever asks next.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use timeline::Workload;
use tokio::sync::Semaphore;

/// A picture is used again for this long.
const FRESH: Duration = Duration::from_secs(10);
/// Pictures that are kept.
const MOST: usize = 64;

/// Pictures that were drawn lately.
pub struct Previews {
    drawn: Mutex<BTreeMap<Workload, (Instant, Bytes)>>,
    /// Who draws one: the others wait, and may find it drawn.
    pub turns: Semaphore,
}

impl Default for Previews {
    fn default() -> Self {
        Self { drawn: Mutex::default(), turns: Semaphore::new(1) }
    }
}

impl Previews {
    /// The picture of a workload, as long as it is fresh.
    pub fn get(&self, workload: &Workload) -> Option<Bytes> {
        let mut known = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < FRESH);
        known.get(workload).map(|(_, png)| png.clone())
    }

    /// Keeps a picture.
    pub fn keep(&self, workload: Workload, png: Bytes) {
        let mut known = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST
            && let Some(oldest) = known.iter().min_by_key(|(_, (at, _))| *at).map(|(workload, _)| workload.clone())
        {
            known.remove(&oldest);
        }
        known.insert(workload, (Instant::now(), png));
    }
}
