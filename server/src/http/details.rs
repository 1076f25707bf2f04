//! Details of one pod or revision, all rollouts, links to share: a page of its own, or with `?part` only what stands beside the picture.

use axum::extract::Request;
use axum::response::Response;

use super::pages::{self, Parameters};
use crate::state::Rollcast;

type Place = (String, String, String);

pub(super) async fn pod(rollcast: &Rollcast, _: Place, _: String, _: &Parameters, request: Request) -> Response {
    pages::not_found(rollcast, request).await
}

pub(super) async fn revision(rollcast: &Rollcast, _: Place, _: String, _: &Parameters, request: Request) -> Response {
    pages::not_found(rollcast, request).await
}

pub(super) async fn rollouts(rollcast: &Rollcast, _: Place, _: &Parameters, request: Request) -> Response {
    pages::not_found(rollcast, request).await
}

pub(super) async fn share(rollcast: &Rollcast, _: Place, _: &Parameters, request: Request) -> Response {
    pages::not_found(rollcast, request).await
}
