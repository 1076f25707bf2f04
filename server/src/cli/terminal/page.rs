//! The page of a Deployment on a running Rollcast server.

use timeline::{Workload, address};

use super::Origin;
use super::options::FollowOptions;

/// Returns the URL of a Deployment's page, of the list of a namespace, or of everything, on the server that the options name.
///
/// # Errors
/// When the server does not respond, or watches several clusters and the options name none of them.
pub async fn page(from: &FollowOptions, deployment: Option<&str>, has_all: bool) -> anyhow::Result<String> {
    let server = from.server.as_deref().unwrap_or_default().trim_end_matches('/');
    if has_all && deployment.is_none() {
        return Ok(format!("{server}/"));
    }
    let origin = Origin::open(from).await?;
    Ok(format!("{server}{}", path(origin.cluster(), origin.namespace(), deployment)))
}

/// Returns the path of a Deployment's page, or of the list of a namespace.
#[must_use]
pub fn path(cluster: &str, namespace: &str, deployment: Option<&str>) -> String {
    match deployment {
        Some(name) => address::workload(&Workload::deployment(cluster, namespace, name)),
        None => address::namespace(cluster, namespace),
    }
}
