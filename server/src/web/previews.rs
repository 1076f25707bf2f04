//! Caches previews for ten seconds, and limits how many are drawn at once and how many wait for that.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::future::Cache;
use timeline::Workload;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::scope::LinkScope;

/// A picture is used again for this long.
const PICTURE_TTL: Duration = Duration::from_secs(10);
/// Pictures that are cached.
const CACHED_PICTURES: u64 = 128;
/// Most pictures that wait for their turn; further requests are refused and may be repeated later.
const MOST_WAITING: usize = 16;

/// The file format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// As SVG.
    Svg,
    /// As PNG.
    Png,
}

/// A picture: its workload, the part of it that is shown and nothing of the rest, and its format.
pub type PreviewKey = (Workload, Option<LinkScope>, ImageFormat);

/// Why a picture cannot be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewError {
    /// There is no such workload.
    Unknown,
    /// It could not be drawn.
    Failed,
    /// Too many wait for their turn.
    Busy,
}

/// The cache of pictures, and the permits to draw one.
pub struct Previews {
    images: Cache<PreviewKey, Bytes>,
    /// Pictures that are being drawn or wait for that.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// A permit to draw, which work that cannot be cancelled holds.
pub type DrawPermit = [OwnedSemaphorePermit; 2];

impl Default for Previews {
    fn default() -> Self {
        let images = Cache::builder().max_capacity(CACHED_PICTURES).time_to_live(PICTURE_TTL).build();
        let of = |many| Arc::new(Semaphore::new(many));
        Self { images, places: of(1 + MOST_WAITING), turns: of(1) }
    }
}

impl Previews {
    /// Returns a picture, which is drawn once for all concurrent requests.
    ///
    /// # Errors
    /// When too many wait, or it cannot be drawn.
    pub async fn get_or_draw(
        &self,
        of: PreviewKey,
        draw: impl AsyncFnOnce(DrawPermit) -> Result<Bytes, PreviewError>,
    ) -> Result<Bytes, PreviewError> {
        let draw = async { draw(self.draw_permit().await.ok_or(PreviewError::Busy)?).await };
        self.images.try_get_with(of, draw).await.map_err(|why| *why)
    }

    /// Waits for the turn to draw; `None` where too many wait.
    pub async fn draw_permit(&self) -> Option<DrawPermit> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        Some([place, self.turns.clone().acquire_owned().await.ok()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: ImageFormat) -> PreviewKey {
        (Workload::deployment("prod", "shop", "web"), None, format)
    }

    #[tokio::test]
    async fn each_form_is_drawn_by_itself_and_what_failed_is_tried_again() {
        let previews = Previews::default();
        let draw = async |format, drawn| previews.get_or_draw(of(format), async move |_| drawn).await;
        assert_eq!(draw(ImageFormat::Svg, Err(PreviewError::Failed)).await, Err(PreviewError::Failed));
        assert_eq!(draw(ImageFormat::Svg, Ok(Bytes::from_static(b"<svg/>"))).await.as_deref(), Ok(&b"<svg/>"[..]));
        assert_eq!(draw(ImageFormat::Svg, Err(PreviewError::Failed)).await.as_deref(), Ok(&b"<svg/>"[..]));
        assert_eq!(draw(ImageFormat::Png, Err(PreviewError::Unknown)).await, Err(PreviewError::Unknown));
    }
}
