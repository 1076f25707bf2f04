//! Reads of one object, and lists in pages.

use std::sync::Arc;

use axum::response::Response;
use bytes::BytesMut;
use http::StatusCode;
use serde_json::{Value, json};

use super::target::{Subresource, Target};
use super::{Cluster, answer, scale, table};
use crate::change::Stored;
use crate::fields::{self, Requirement};
use crate::{ApiError, Key, World, meta};
use selector::{Labels, ParseSelectorError};

/// Selectors of a request besides kind and namespace.
#[derive(Debug, Default)]
pub struct Selection {
    labels: Labels,
    fields: Vec<Requirement>,
}

impl Selection {
    /// Reads `labelSelector` and `fieldSelector`.
    pub fn of(target: &Target) -> Result<Self, ApiError> {
        Ok(Self {
            labels: target.option("labelSelector").unwrap_or_default().parse().map_err(refused)?,
            fields: fields::parse(target.option("fieldSelector").unwrap_or_default())?,
        })
    }

    pub fn matches(&self, object: &Stored) -> Result<bool, ApiError> {
        Ok(self.labels.matches(meta::labels(object.object.meta())) && fields::matches(&self.fields, &object.object)?)
    }
}

fn refused(error: ParseSelectorError) -> ApiError {
    ApiError::bad_request(format!("unable to parse requirement: {error}"))
}

pub fn get(cluster: &Cluster, target: &Target) -> Result<Response, ApiError> {
    let found = cluster.with(|world| world.store().existing(target.resource, &target.key()))?;
    Ok(respond_with(cluster, target, StatusCode::OK, &found))
}

pub fn list(cluster: &Cluster, target: &Target) -> Result<Response, ApiError> {
    let (objects, meta, now_millis) = cluster.with(|world| {
        let (objects, meta) = page(world, target)?;
        Ok::<_, ApiError>((objects, meta, world.now_millis()))
    })?;
    if table::is_asked_for(&target.accept) {
        let mut table = table::table(target, &objects, now_millis, true);
        if let Some(table) = table.as_object_mut() {
            table.insert("metadata".to_owned(), meta);
        }
        return Ok(answer::ok(&table));
    }
    let resource = target.resource;
    let head = format!(
        "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{meta},\"items\":[",
        resource.kind(),
        resource.api_version()
    );
    let mut body = BytesMut::from(head.as_bytes());
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            body.extend_from_slice(b",");
        }
        body.extend_from_slice(&object.json());
    }
    body.extend_from_slice(b"]}");
    Ok(answer::json(StatusCode::OK, body.freeze()))
}

/// Returns the objects of a page, and its metadata.
fn page(world: &World, target: &Target) -> Result<(Vec<Arc<Stored>>, Value), ApiError> {
    let selection = Selection::of(target)?;
    let limit = match target.option("limit").map(str::parse::<usize>) {
        None | Some(Ok(0)) => usize::MAX,
        Some(Ok(limit)) => limit,
        Some(Err(_)) => return Err(ApiError::bad_request("limit must be a whole number")),
    };
    let store = world.store();
    let compacted = store.compacted(target.resource);
    // Later pages show the revision of the first page; a watch from that revision reports later changes.
    let (revision, mut passed, after) = match target.option("continue").map(token).transpose()? {
        Some((revision, ..)) if revision < compacted => return Err(ApiError::expired(revision, compacted)),
        Some((revision, passed, key)) => (revision, passed, Some(key)),
        None => (store.revision(), 0, None),
    };
    let mut objects: Vec<Arc<Stored>> = Vec::new();
    // The token of the next page, and the number of remaining objects if it is known without extra work.
    let (mut next, mut left) = (String::new(), None);
    let mut all = store.list(target.resource, target.namespace.as_deref(), after.as_ref()).peekable();
    while let Some(object) = all.next() {
        passed += 1;
        if selection.matches(object)? {
            objects.push(object.clone());
        }
        if objects.len() >= limit && all.peek().is_some() {
            let is_all = target.namespace.is_none() && selection.labels.is_empty() && selection.fields.is_empty();
            left = is_all.then(|| store.count(target.resource).saturating_sub(passed));
            let Key { namespace, name } = object.object.key();
            next = format!("{revision}/{passed}/{namespace}/{name}");
            break;
        }
    }
    let meta = json!({ "resourceVersion": revision.to_string(), "continue": next, "remainingItemCount": left });
    Ok((objects, meta))
}

/// Reads `REVISION/PASSED/NAMESPACE/NAME` of the last object of the previous page.
fn token(text: &str) -> Result<(u64, usize, Key), ApiError> {
    let read = || -> Option<(u64, usize, Key)> {
        let mut parts = text.splitn(4, '/');
        let (revision, passed) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((revision, passed, Key::new(parts.next()?, parts.next()?)))
    };
    read().ok_or_else(|| ApiError::bad_request("continue key is not valid"))
}

/// Responds with an object, with its Scale for that subresource, or with a table row if the client prefers tables.
pub fn respond_with(cluster: &Cluster, target: &Target, status: StatusCode, object: &Arc<Stored>) -> Response {
    if target.part == Subresource::Scale {
        return answer::ok(&scale::of(object));
    }
    if table::is_asked_for(&target.accept) {
        let now = cluster.with(|world| world.now_millis());
        let table = table::table(target, std::slice::from_ref(object), now, true);
        return answer::json(status, table.to_string());
    }
    answer::json(status, object.json())
}
