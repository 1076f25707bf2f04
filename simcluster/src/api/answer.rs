//! Responses: JSON with a status; errors as `Status` objects.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::Value;

use crate::ApiError;

pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let body: Body = body.into();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Returns a response with status 200 and the JSON of a value.
pub fn ok(value: &Value) -> Response {
    json(StatusCode::OK, value.to_string())
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        json(code, self.status().to_string())
    }
}
