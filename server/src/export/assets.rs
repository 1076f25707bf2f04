//! The page's files: embedded in release builds, read from `target/site` in development builds.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::future::{Ready, ready};
use std::io::{self, Cursor, SeekFrom};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use app::parts::Part;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncSeek, ReadBuf};
use tower_http::services::fs::{Backend, File, Metadata};

/// Everything below `target/site`: in `pkg` the program, its parts and bindings, and the style sheet, each with a `.br` and a `.gz` beside it, and fonts, which are compressed already; in `previews` the fonts that previews are drawn with.
#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
#[allow_missing = true]
struct Site;

/// The site as tower-http's `ServeDir` reads a folder.
#[derive(Debug, Clone, Copy)]
pub struct AssetBackend;

/// Returns whether there is a file at that address.
pub fn has(address: &str) -> bool {
    address.strip_prefix('/').is_some_and(|name| Site::get(name).is_some())
}

/// A file that is read, and its metadata.
#[derive(Debug, Clone)]
pub struct AssetReader {
    modified: Option<SystemTime>,
    bytes: Cursor<Cow<'static, [u8]>>,
}

impl AssetReader {
    fn at(path: &Path) -> io::Result<Self> {
        let name = path.strip_prefix(".").unwrap_or(path).to_str();
        let file = name.and_then(Site::get).ok_or(io::ErrorKind::NotFound)?;
        // Embedded files have no time, so that the same sources make the same program: zero stands for it.
        let seconds = file.metadata.last_modified().filter(|seconds| *seconds > 0);
        let modified = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Ok(Self { modified, bytes: Cursor::new(file.data) })
    }
}

impl Backend for AssetBackend {
    type File = AssetReader;
    type Metadata = AssetReader;
    type OpenFuture = Ready<io::Result<AssetReader>>;
    type MetadataFuture = Ready<io::Result<AssetReader>>;

    fn open(&self, path: PathBuf) -> Self::OpenFuture {
        ready(AssetReader::at(&path))
    }

    fn metadata(&self, path: PathBuf) -> Self::MetadataFuture {
        ready(AssetReader::at(&path))
    }
}

impl File for AssetReader {
    type Metadata = Self;
    type MetadataFuture<'a> = Ready<io::Result<Self>>;

    fn metadata(&self) -> Self::MetadataFuture<'_> {
        ready(Ok(self.clone()))
    }
}

impl Metadata for AssetReader {
    fn is_dir(&self) -> bool {
        false // folders are nothing that is asked for
    }

    fn modified(&self) -> io::Result<SystemTime> {
        self.modified.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    fn len(&self) -> u64 {
        self.bytes.get_ref().len() as u64
    }
}

impl AsyncRead for AssetReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_read(cx, into)
    }
}

impl AsyncSeek for AssetReader {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut self.bytes).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.bytes).poll_complete(cx)
    }
}

/// Folder of the lazily loaded parts of the program.
const PARTS: &str = "pkg/parts/";

/// Returns whether a file is named after its content, and so never changes.
pub fn names_content(path: &str) -> bool {
    path.ends_with(".woff2") || path.trim_start_matches('/').starts_with(PARTS)
}

/// Names of the files of a part of the program.
pub fn part(part: Part) -> Vec<String> {
    let lists = file("pkg/parts.txt").unwrap_or_default();
    let lists = std::str::from_utf8(&lists).unwrap_or_default();
    let files = lists.lines().filter_map(|line| line.strip_prefix(part.name())?.strip_prefix(' '));
    files.flat_map(|files| files.split_whitespace().map(str::to_owned)).collect()
}

/// Returns the content of the file of a part.
pub fn part_file(file: &str) -> Option<Cow<'static, [u8]>> {
    self::file(&format!("{PARTS}{file}"))
}

/// Returns a file of the site.
pub fn file(path: &str) -> Option<Cow<'static, [u8]>> {
    Some(Site::get(path)?.data)
}

/// Returns the fonts of previews.
pub fn preview_fonts() -> impl Iterator<Item = Vec<u8>> {
    let names = ["previews/preview-regular.ttf", "previews/preview-bold.ttf"];
    names.into_iter().filter_map(|name| Some(Site::get(name)?.data.into_owned()))
}

/// Names the build of the page: a page of another build reloads itself. Derived from the files' content.
pub fn build() -> &'static str {
    static BUILD: LazyLock<String> = LazyLock::new(|| {
        let names: BTreeSet<_> = Site::iter().collect();
        let digests = names.iter().filter_map(|name| Some(Site::get(name)?.metadata.sha256_hash()));
        let digest: [u8; 32] = Sha256::digest(digests.flatten().collect::<Vec<u8>>()).into();
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    });
    &BUILD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_program_has_files() {
        if file("pkg/parts.txt").is_none() {
            return; // the page was not built
        }
        for part in Part::ALL {
            assert!(!self::part(part).is_empty(), "{part:?}");
            assert!(self::part(part).iter().all(|file| part_file(file).is_some()), "{part:?}");
        }
    }
}
