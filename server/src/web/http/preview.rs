//! `…/preview.svg` and `…/preview.png`: the score as one picture. Drawn at most once in a while per Deployment, for all
//! clients.

use std::sync::{Arc, LazyLock};

use app::connection::{known_until_millis, last_seen};
use app::preview;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use resvg::{tiny_skia, usvg};
use timeline::Workload;
use timeline::view::Tone;
use timeline::viewer::DeploymentCopy;

use super::extract::NamedWorkload;
use crate::export::assets;
use crate::hub::Handle;
use crate::web::client_view::ClientView;
use crate::web::limits::Limit;
use crate::web::previews::{DrawPermit, ImageFormat, PreviewError};

pub(super) async fn svg(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Response {
    picture(&view, &workload, ImageFormat::Svg).await
}

pub(super) async fn png(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Response {
    picture(&view, &workload, ImageFormat::Png).await
}

/// Returns the picture of a workload; for a link to a rollout or a moment, that of the rollout or moment.
pub(super) async fn picture(view: &ClientView, workload: &Workload, format: ImageFormat) -> Response {
    let part = view.part();
    if !view.can_see(workload) || part.is_some_and(|scope| !scope.is_part_of(workload)) {
        return not_found();
    }
    // A recording is opened before the turn to draw: others draw meanwhile.
    let Some(hub) = view.hub(workload).await else { return not_found() };
    let draw = async |turn| {
        let svg = drawing(&hub, workload).await.ok_or(PreviewError::Unknown)?;
        match format {
            ImageFormat::Svg => Ok(Bytes::from(svg)),
            ImageFormat::Png => {
                let drawing = tokio::task::spawn_blocking(move || {
                    let _turn: DrawPermit = turn; // held even if the request was cancelled
                    pixels(&svg)
                });
                drawing.await.ok().flatten().map(Bytes::from).ok_or(PreviewError::Failed)
            }
        }
    };
    let _turn = view.moment_turn().await; // limits the concurrent requests of each client
    match view.rollcast().previews.get_or_draw((workload.clone(), part.cloned(), format), draw).await {
        Ok(drawn) => image(format, drawn),
        Err(PreviewError::Unknown) => not_found(),
        Err(PreviewError::Failed) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "The preview could not be drawn.\n").into_response()
        }
        Err(PreviewError::Busy) => {
            view.rollcast().limits.count_hit(Limit::Previews);
            let why = "The server is busy drawing previews. Try again in a moment.\n";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

async fn drawing(hub: &Handle, workload: &Workload) -> Option<String> {
    let connection = hub.connection().borrow().clone();
    let snapshot = hub.page(workload).await.ok()?;
    let now_millis = snapshot.now_millis;
    let mut copy = DeploymentCopy::from(snapshot);
    let until_millis = known_until_millis(&copy, &connection).unwrap_or(now_millis);
    if let (Some(view), Some((badge, seen))) = (&mut copy.said.view, last_seen(&connection.state)) {
        view.verdict.badge = badge.to_owned();
        view.verdict.tone = Tone::Quiet;
        view.verdict.sentence.insert_str(0, seen);
    }
    preview::svg(&copy, now_millis.min(until_millis), workload)
}

fn image(format: ImageFormat, bytes: Bytes) -> Response {
    let media_type = match format {
        ImageFormat::Svg => "image/svg+xml",
        ImageFormat::Png => "image/png",
    };
    ([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "public, max-age=10")], bytes).into_response()
}

pub(super) fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "There is no such Deployment.\n").into_response()
}

/// The fonts of pages, whatever this machine has. If the page was not built, a preview has no words; its title has them.
static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    assets::preview_fonts().for_each(|font| fonts.load_font_data(font));
    Arc::new(fonts)
});

fn pixels(svg: &str) -> Option<Vec<u8>> {
    let options = usvg::Options { fontdb: FONTS.clone(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).ok()?;
    let mut pixels = tiny_skia::Pixmap::new(preview::WIDTH, preview::HEIGHT)?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of pixels of a text that are not empty; `None` if the page was not built.
    fn ink(text: &str, weight: &str) -> Option<usize> {
        FONTS.faces().next()?;
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\"><text x=\"20\" y=\"200\" font-size=\"90\" \
             font-family=\"{}\" font-weight=\"{weight}\">{text}</text></svg>",
            preview::WIDTH,
            preview::HEIGHT,
            preview::FONTS
        );
        let drawn = tiny_skia::Pixmap::decode_png(&pixels(&svg)?).ok()?;
        Some(drawn.pixels().iter().filter(|pixel| pixel.alpha() > 128).count())
    }

    #[test]
    fn previews_are_drawn_in_two_weights_with_every_sign_that_is_said() {
        let (Some(regular), Some(bold)) = (ink("Revision 3", "normal"), ink("Revision 3", "bold")) else {
            return; // the page was not built: there are no fonts
        };
        assert!(bold > regular * 11 / 10, "{regular} {bold}");
        // All missing characters are drawn as the same box.
        let missing = ink("公", "normal");
        for sign in ["→", "−", "…", "·", "×", "—", "“", "≥", "é", "ł"] {
            assert_ne!(ink(sign, "normal"), missing, "{sign}");
            assert_ne!(ink(sign, "normal"), Some(0), "{sign}");
        }
    }
}
