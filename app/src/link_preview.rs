//! Titles of pages, and the previews of links to them.

use timeline::words::safe;

/// Preview of a link to a page, as chat clients show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The title of the page.
    pub title: String,
    /// The main statement of the page.
    pub description: String,
    /// The path of its picture; `None` where it has none.
    pub image: Option<String>,
}

/// Formats the title of a Deployment's page, and of the pages below it.
pub fn page_title(statement: &str, namespace: &str, name: &str) -> String {
    format!("{statement}: {} / {} — Rollcast", safe(namespace), safe(name))
}
