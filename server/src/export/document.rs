//! The file itself: one HTML document with the page's program, its style sheet, its fonts and the content inside.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use app::parts::Part;
use app::payload::Export;
use app::shell::EmbeddedFiles;
use app::status::ConnectionStatus;
use axum::extract::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use timeline::wire;

use super::error::ExportError;
use crate::export::assets;

/// Starts the program in such a file.
const START: &str = include_str!("start.js");
/// Compression levels: of the program, once, and of the content of each file.
const PROGRAM_LEVEL: i32 = 22;
const CONTENT_LEVEL: i32 = 15;

/// The parts that all files share.
static PARTS: LazyLock<Option<EmbeddedFiles>> = LazyLock::new(parts);

/// The parts of the program that a rollout needs.
const NEEDED: [Part; 2] = [Part::Pictures, Part::Details];

fn parts() -> Option<EmbeddedFiles> {
    let mut program = assets::file("pkg/rollcast_bg.wasm")?.into_owned();
    // Packed together, so that repeated content is compressed once.
    let mut files = vec![("program".to_owned(), program.len())];
    for file in NEEDED.into_iter().flat_map(assets::part) {
        let part = assets::part_file(&file)?;
        files.push((file, part.len()));
        program.extend_from_slice(&part);
    }
    Some(EmbeddedFiles {
        sheet: with_fonts(&text("pkg/rollcast.css")?),
        icon: format!("data:image/svg+xml;base64,{}", STANDARD.encode(assets::file("icon.svg")?)),
        theme: text("theme.js")?,
        start: format!("{};\n{START}", text("pkg/unpack.js")?),
        bindings: packed(&assets::file("pkg/rollcast.js")?, PROGRAM_LEVEL)?,
        program: packed(&program, PROGRAM_LEVEL)?,
        files: serde_json::to_string(&files).ok()?,
        content: String::new(),
        connection: String::new(),
    })
}

fn text(name: &str) -> Option<String> {
    String::from_utf8(assets::file(name)?.into_owned()).ok()
}

/// Embeds the fonts in a style sheet, each once: a second rule for the same font has none.
fn with_fonts(sheet: &str) -> String {
    let mut parts = sheet.split("url(");
    let mut with = parts.next().unwrap_or_default().to_owned();
    let mut known = BTreeSet::new();
    for part in parts {
        let (name, rest) = part.split_once(')').unwrap_or((part, ""));
        let font = Some(name.trim_matches(['"', '\'']))
            .filter(|name| known.insert(*name))
            .and_then(|name| assets::file(&format!("pkg/{name}")));
        let font = font.map(|font| STANDARD.encode(font)).unwrap_or_default();
        with.push_str(&format!("url(data:font/woff2;base64,{font}){rest}"));
    }
    with
}

/// Returns bytes as text, compressed.
fn packed(bytes: &[u8], level: i32) -> Option<String> {
    Some(STANDARD.encode(zstd::bulk::compress(bytes, level).ok()?))
}

/// Packs the content of the file: the program, the rollout, and the connection to the cluster. Takes up to some seconds
/// of CPU.
pub fn enclose(export: &Export, connection: &ConnectionStatus) -> Result<EmbeddedFiles, ExportError> {
    let parts = PARTS.clone().ok_or(ExportError::NoPage)?;
    let content = wire::encode(export).map_err(|error| ExportError::Page(error.to_string()))?;
    let content = packed(&content, CONTENT_LEVEL).ok_or_else(|| ExportError::Page("it is too large".to_owned()))?;
    let connection = serde_json::to_string(connection).map_err(|error| ExportError::Page(error.to_string()))?;
    Ok(EmbeddedFiles { content, connection, ..parts })
}

/// Renders the file.
pub async fn render(export: Export, enclosed: EmbeddedFiles) -> Result<String, ExportError> {
    let _ = any_spawner::Executor::init_tokio(); // fails only if it is already initialised
    let shell = move || app::shell::exported(export.clone(), enclosed.clone());
    let response = leptos_axum::render_app_async_with_context(|| {}, shell)(Request::default()).await;
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    let bytes = bytes.map_err(|error| ExportError::Page(error.to_string()))?;
    String::from_utf8(bytes.to_vec()).map_err(|error| ExportError::Page(error.to_string()))
}
