//! `/clusters/…/deployments/{name}/export`: one rollout as a file, as a page (`format=html`) or as a recording (`format=jsonl`).

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use timeline::Workload;
use timeline::address;
use timeline::words::safe;
use tokio::task::JoinError;

use super::extract::{NamedWorkload, RequestAddress, file_name};
use super::respond::{Refusal, lost_rollout, refuse, unreadable_history};
use crate::access::clients::{ClientKey, UsageGuard};
use crate::export::export_limit::ExportJob;
use crate::export::redact::Names;
use crate::export::{self, ExportError, ExportRequest};
use crate::history::store::{EpisodeRecording, EpisodeSelector, StoreError};
use crate::web::client_view::ClientView;
use crate::web::rollouts;
use crate::web::send_queue::owned_bytes;

pub(super) const UNKNOWN: &str = "No such rollout. Its history may have expired.";

pub(super) async fn download(
    view: ClientView,
    NamedWorkload(workload): NamedWorkload,
    RequestAddress(asked_for): RequestAddress,
    request: Request,
) -> Response {
    let name = safe(&workload.name);
    let instead = vec![(address::whatever_bears_the_name(&workload), format!("The page of {name}"))];
    let file = async {
        let is_recording = |text: &str| matches!(text, "html" | "jsonl").then_some(text == "jsonl");
        let is_recording = asked_for.check("format", is_recording)?.unwrap_or_default();
        let revision = asked_for.parse("revision")?;
        let is_redacted = asked_for.check("redact", |text| (text == "yes").then_some(()))?.is_some();
        let why = "The server is creating other files, or still sending one to you. Try again in a moment.";
        let busy = || Refusal(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
        let (job, shown) = (view.begin_export().ok_or_else(busy)?, view.clone());
        let asked = ExportRequest { workload, revision, is_redacted };
        let file = create(job, async move {
            match is_recording {
                true => lines(&shown, asked).await,
                false => html(&shown, asked).await,
            }
        });
        file.await
    };
    match file.await {
        Ok(response) => response,
        Err(refusal) => refuse(&view, refusal, instead, request).await,
    }
}

/// Creates a file in a task of its own: most of the work cannot be cancelled, and it counts although its client may have left.
pub(super) async fn create(
    job: ExportJob,
    file: impl Future<Output = Result<Attachment, Refusal>> + Send + 'static,
) -> Result<Response, Refusal> {
    let made = tokio::spawn(async move { file.await.map(|file| file.into_attachment(job.finish())) });
    made.await.map_err(export_failed)?
}

fn export_failed(_: JoinError) -> Refusal {
    Refusal(StatusCode::INTERNAL_SERVER_ERROR, "The file could not be created.".to_owned())
}

fn unknown() -> Refusal {
    Refusal(StatusCode::NOT_FOUND, UNKNOWN.to_owned())
}

fn not_created(why: ExportError) -> Refusal {
    match why {
        ExportError::Unknown => unknown(),
        other => Refusal(StatusCode::SERVICE_UNAVAILABLE, format!("The file cannot be created: {other}.")),
    }
}

async fn html(view: &ClientView, request: ExportRequest) -> Result<Attachment, Refusal> {
    let known = match view.hub(&request.workload).await {
        Some(hub) => export::html(&hub, request.clone()).await,
        None => Err(ExportError::Unknown),
    };
    let made = match known {
        // A rollout that no hub holds any more may be stored.
        Err(ExportError::Unknown) => {
            let kept = stored_rollout(view, &request.workload, request.revision).await?;
            let hub = view.hub_at(&kept, None).await.map_err(|why| lost_rollout(view, &why, UNKNOWN))?;
            export::html(&hub, ExportRequest { workload: kept, ..request }).await
        }
        made => made,
    };
    let made = made.map_err(not_created)?;
    // The file is downloaded, not opened here: it has a content security policy of its own.
    Ok(Attachment { kind: "text/html; charset=utf-8", name: made.name, text: made.html })
}

/// Returns the stored rollout of a workload, with its number.
async fn stored_rollout(view: &ClientView, workload: &Workload, revision: Option<u64>) -> Result<Workload, Refusal> {
    if workload.rollout.is_some() {
        return Ok(workload.clone());
    }
    let unreadable = |why: StoreError| unreadable_history(view, &why);
    let uid = rollouts::find_uid(view, workload).await.map_err(unreadable)?.ok_or_else(unknown)?;
    let sought = revision.map_or(EpisodeSelector::Last, EpisodeSelector::Revision);
    let cluster = workload.cluster.clone();
    let found = view.read_stored(workload, uid, move |reader| reader.find(&cluster, uid, sought)).await;
    let (rollout, _) = found.map_err(unreadable)?.flatten().ok_or_else(unknown)?;
    Ok(Workload { uid: Some(uid), rollout: Some(rollout), ..workload.clone() })
}

pub(super) async fn lines(view: &ClientView, request: ExportRequest) -> Result<Attachment, Refusal> {
    if !view.has_history() {
        let why = "This server stores no history, so it has no recording. Create one with `rollcast record`.";
        return Err(Refusal(StatusCode::NOT_FOUND, why.to_owned()));
    }
    let kept = stored_rollout(view, &request.workload, request.revision).await?;
    let (Some(uid), Some(number)) = (kept.uid, kept.rollout) else { return Err(unknown()) };
    let cluster = kept.cluster.clone();
    let cut = view.read_stored(&kept, uid, move |reader| reader.recording(&cluster, uid, number, None)).await;
    let cut = cut.map_err(|why| unreadable_history(view, &why))?.flatten();
    let EpisodeRecording { revision, text, .. } = cut.ok_or_else(unknown)?;
    let (place, text) = match request.is_redacted {
        true => {
            // Looks for each name in up to 16 MB, so it runs beside other requests.
            let redact = move || Names::of_lines(&text).map(|names| names.redact_lines(&text));
            let redacted = tokio::task::spawn_blocking(redact).await.map_err(export_failed)?;
            ("rollout".to_owned(), redacted.map_err(not_created)?)
        }
        false => (format!("{}-{}", kept.namespace, kept.name), text),
    };
    Ok(Attachment { kind: "application/jsonl", name: format!("{place}-revision-{revision}.jsonl"), text })
}

pub(super) struct Attachment {
    kind: &'static str,
    name: String,
    text: String,
}

impl Attachment {
    /// Returns a response that holds the client's turn until it was sent.
    fn into_attachment(self, turn: UsageGuard<ClientKey>) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.kind.to_owned()),
            (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", file_name(&self.name))),
            (header::CACHE_CONTROL, "no-store".to_owned()),
        ];
        (headers, owned_bytes(self.text, turn)).into_response()
    }
}
