//! Addresses of the pages and answers that there are, for every test that asks all of them.

use timeline::address::Route;

/// Patterns of all routes, without files.
pub fn patterns() -> Vec<String> {
    Route::ALL.iter().map(|route| route.pattern().to_owned()).collect()
}

/// An address of that pattern: of the Deployment `web` there, its first revision and a pod.
pub fn named(pattern: &str, cluster: &str, namespace: &str) -> String {
    pattern
        .replace("{cluster}", cluster)
        .replace("{namespace}", namespace)
        .replace("{resource}", "deployments")
        .replace("{name}", "web")
        .replace("{preview}", "AAAA")
        .replace("{revision}", "1")
        .replace("{uid}", "00000000-0000-0000-0000-000000000001")
}
