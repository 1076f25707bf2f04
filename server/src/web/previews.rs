//! Previews that were drawn lately, for whoever asks next, and whose turn it is to draw one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use timeline::Workload;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::scope::Scope;

/// A picture is used again for this long.
const FRESH: Duration = Duration::from_secs(10);
/// Pictures that are kept.
const MOST: usize = 128;
/// Who waits for a turn; whoever comes then may come again later.
const MOST_WAITING: usize = 16;

/// In which form a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As SVG.
    Svg,
    /// As PNG.
    Png,
}

/// What a picture is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pictured {
    /// A workload as it is.
    Workload(Workload),
    /// One of its rollouts or moments, and nothing of the rest.
    Part(Scope),
}

/// Pictures that were drawn lately.
pub struct Previews {
    drawn: Mutex<BTreeMap<(Pictured, Form), (Instant, Bytes)>>,
    /// Who may come: the one who draws, and those who wait and may find it drawn.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// Somebody's turn to draw. What cannot be called off keeps it.
pub struct Turn(#[expect(dead_code, reason = "held until the picture is drawn")] [OwnedSemaphorePermit; 2]);

impl Default for Previews {
    fn default() -> Self {
        let of = |many| Arc::new(Semaphore::new(many));
        Self { drawn: Mutex::default(), places: of(1 + MOST_WAITING), turns: of(1) }
    }
}

impl Previews {
    /// The picture of a workload, as long as it is fresh.
    pub fn get(&self, of: &(Pictured, Form)) -> Option<Bytes> {
        let mut known = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < FRESH);
        known.get(of).map(|(_, picture)| picture.clone())
    }

    /// Waits for the turn to draw; `None` where too many wait.
    pub async fn turn(&self) -> Option<Turn> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        Some(Turn([place, self.turns.clone().acquire_owned().await.ok()?]))
    }

    /// Keeps a picture.
    pub fn keep(&self, of: (Pictured, Form), picture: Bytes) {
        let mut known = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST
            && let Some(oldest) = known.iter().min_by_key(|(_, (at, _))| *at).map(|(of, _)| of.clone())
        {
            known.remove(&oldest);
        }
        known.insert(of, (Instant::now(), picture));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_draws_some_wait_and_the_others_are_turned_away() {
        let previews = Arc::new(Previews::default());
        let turn = previews.turn().await;
        assert!(turn.is_some());
        let waiting: Vec<_> = (0..MOST_WAITING)
            .map(|_| {
                let previews = previews.clone();
                tokio::spawn(async move { previews.turn().await.is_some() })
            })
            .collect();
        while previews.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(previews.turn().await.is_none(), "one too many");
        drop(turn);
        for one in waiting {
            assert!(one.await.unwrap());
        }
        assert!(previews.turn().await.is_some());
    }

    #[test]
    fn each_form_is_kept_by_itself() {
        let (previews, web) = (Previews::default(), Pictured::Workload(Workload::deployment("prod", "shop", "web")));
        previews.keep((web.clone(), Form::Svg), Bytes::from_static(b"<svg/>"));
        assert_eq!(previews.get(&(web.clone(), Form::Svg)).as_deref(), Some(&b"<svg/>"[..]));
        assert_eq!(previews.get(&(web, Form::Png)), None);
    }
}
