//! `rollcast check`: tests whether a cluster responds, and which objects the credentials can read.

use timeline::fact::Kind;

use super::access::Target;
use super::error::RequestError;
use super::request;

/// Requests one object of each kind from a cluster, and begins a watch of each. Returns a line for each request: success, or the
/// error and its remedy.
pub async fn check(target: &Target, namespaces: &[String]) -> Vec<Result<String, String>> {
    let mut lines = Vec::new();
    let scopes: Vec<Option<&str>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().map(|name| Some(name.as_str())).collect() };
    for namespace in scopes {
        let place = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        for kind in Kind::ALL {
            let (collection, resource) = (request::collection(kind, namespace), kind.resource());
            for (verb, parameters) in [("list", "limit=1"), ("watch", "watch=1&timeoutSeconds=1")] {
                match request::get(&target.access, &format!("{collection}?{parameters}")).await {
                    Ok(_) => lines.push(Ok(format!("{}: can {verb} {resource} in {place}", target.name))),
                    Err(RequestError::Forbidden(_)) => lines.push(Err(format!(
                        "{}: no permission to {verb} {resource} in {place}; grant list and watch on {resource}, or choose namespaces with --namespace",
                        target.name
                    ))),
                    Err(error) => {
                        lines.push(Err(format!("{} at {}: {error}", target.name, target.address)));
                        return lines; // the next request would fail the same way
                    }
                }
            }
        }
    }
    lines
}
