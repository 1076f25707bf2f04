//! `rollcast check`: does a cluster answer, and what may be read?

use timeline::fact::Kind;

use super::access::Target;
use super::error::RequestError;
use super::request;

/// Results of a check, a line each.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Checks that passed.
    pub passed: Vec<String>,
    /// Checks that failed, and what to do.
    pub failed: Vec<String>,
}

/// Asks a cluster for one object of each kind, and begins a watch of each.
pub async fn check(target: &Target, kinds: &[Kind], namespaces: &[String]) -> CheckReport {
    let mut report = CheckReport::default();
    let scopes: Vec<Option<&str>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().map(|name| Some(name.as_str())).collect() };
    for namespace in scopes {
        let place = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        for kind in kinds {
            let (collection, resource) = (request::collection(*kind, namespace), kind.resource());
            for (verb, parameters) in [("list", "limit=1"), ("watch", "watch=1&timeoutSeconds=1")] {
                match request::get(&target.access, &format!("{collection}?{parameters}")).await {
                    Ok(_) => report.passed.push(format!("{}: can {verb} {resource} in {place}", target.name)),
                    Err(RequestError::Forbidden(_)) => report.failed.push(format!(
                        "{}: no permission to {verb} {resource} in {place}; grant list and watch on {resource}, or choose namespaces with --namespace",
                        target.name
                    )),
                    Err(error) => {
                        report.failed.push(format!("{} at {}: {error}", target.name, target.address));
                        return report; // the next question would end the same way
                    }
                }
            }
        }
    }
    report
}
