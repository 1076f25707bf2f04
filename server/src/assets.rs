//! The page's files: embedded in release builds, read from `target/site` in development builds.

use std::borrow::Cow;
use std::sync::LazyLock;

/// Everything below `target/site`: in `pkg` a program and its bindings per kind of page and the style sheet, each with a
/// `.br` beside it, and fonts, which are compressed already; in `previews` the fonts that previews are drawn with.
#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
#[allow_missing = true]
struct Site;

/// A file of the page.
pub struct Asset {
    /// Its bytes.
    pub bytes: Cow<'static, [u8]>,
    /// Its media type.
    pub media_type: &'static str,
    /// The bytes are compressed with brotli.
    pub is_brotli: bool,
}

/// Finds a file, compressed if the client takes that.
#[must_use]
pub fn find(path: &str, takes_brotli: bool) -> Option<Asset> {
    let media_type = match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    };
    if takes_brotli && let Some(file) = Site::get(&format!("{path}.br")) {
        return Some(Asset { bytes: file.data, media_type, is_brotli: true });
    }
    Site::get(path).map(|file| Asset { bytes: file.data, media_type, is_brotli: false })
}

/// The file is named after what is in it, and so never changes.
#[must_use]
pub fn names_content(path: &str) -> bool {
    path.ends_with(".woff2")
}

/// The fonts that previews are drawn with.
pub fn fonts_of_previews() -> impl Iterator<Item = Vec<u8>> {
    let names = ["previews/preview-regular.ttf", "previews/preview-bold.ttf"];
    names.into_iter().filter_map(|name| Some(Site::get(name)?.data.into_owned()))
}

/// Names the build of the page: a page of another build reloads itself. Derived from the files' content.
pub fn build() -> &'static str {
    static BUILD: LazyLock<String> = LazyLock::new(|| {
        let mut names: Vec<_> = Site::iter().collect();
        names.sort();
        let digests = names.iter().filter_map(|name| Some(Site::get(name)?.metadata.sha256_hash()));
        let folded = digests.fold([0u8; 8], |mut sum, digest| {
            for (index, byte) in digest.iter().enumerate() {
                if let Some(place) = sum.get_mut(index % 8) {
                    *place = place.rotate_left(3) ^ byte;
                }
            }
            sum
        });
        folded.iter().map(|byte| format!("{byte:02x}")).collect()
    });
    &BUILD
}
