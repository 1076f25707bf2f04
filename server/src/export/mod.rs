//! Cuts one rollout out of a timeline, and writes it as one HTML file.
//! Owns redaction, the embedded files of the page, and the limit on exports.
//! Must not know the web.
//!
//! One rollout as one file: a page that needs no server and no network, with all its sentences.
//!
//! ```text
//!   hub ──► data (copies, in the hub's task) ──► Export (elsewhere) ──► redacted ──► document: program, style and data inside
//! ```
//!
//! The file contains only the fields of `record`: it is made from the same facts, and shows what pages show.

pub mod assets;
mod document;
mod error;
pub(crate) mod excerpt;
pub mod export_limit;
pub mod redact;
mod rollout_data;

use app::status::ConnectionStatus;
use timeline::Workload;

pub use self::error::ExportError;
use crate::access::permissions::ClusterPermissions;
use crate::hub::Handle;

/// The rollout to export.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// Its workload.
    pub workload: Workload,
    /// The rollout of this revision; without it, the last one.
    pub revision: Option<u64>,
    /// Without the names of namespaces, images and nodes.
    pub is_redacted: bool,
}

/// A rollout in a file.
#[derive(Debug)]
pub struct ExportFile {
    /// File name.
    pub name: String,
    /// Its content.
    pub html: String,
}

/// Makes the file of a rollout from a hub.
///
/// Most of the work cannot be cancelled: callers that may be cancelled run it in a task of its own.
///
/// # Errors
/// When there is no such rollout, or the page cannot be made.
pub async fn html(hub: &Handle, request: ExportRequest) -> Result<ExportFile, ExportError> {
    let ExportRequest { workload, revision, is_redacted } = request;
    // Files are passed on to others, so they contain no errors, which are for operators.
    let told = ClusterPermissions::AllByLink.of_connection(hub.connection().borrow().clone());
    let connection = ConnectionStatus::new(&told, hub.state_since_millis());
    let data = hub.read(move |reader| rollout_data::gather(reader, workload, revision)).await?;
    let data = data.ok_or(ExportError::Unknown)?;
    let Workload { namespace, name, .. } = &data.workload;
    let name = if is_redacted { "rollout".to_owned() } else { format!("{namespace}-{name}") };
    let name = format!("{name}-revision-{}.html", data.revision);
    let export = tokio::task::spawn_blocking(move || {
        let export = data.export();
        let export = if is_redacted { redact::Names::collect(&data, &export)?.redact(&export)? } else { export };
        let enclosed = document::enclose(&export, &connection)?;
        Ok::<_, ExportError>((export, enclosed))
    });
    let (export, enclosed) = export.await.map_err(|error| ExportError::Page(error.to_string()))??;
    Ok(ExportFile { name, html: document::render(export, enclosed).await? })
}
