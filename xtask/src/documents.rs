//! Links of the documents: files, anchors, and pages of the book that its summary leaves out. Links to other sites are not fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{BrokenLink, Event, Options, Parser, Tag, TagEnd};

use crate::process;

pub const BOOK: &str = "docs";
/// The page that defines the order of the others.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// Folders and files whose links are checked, relative to the workspace root.
const PLACES: [&str; 7] =
    [BOOK, "deploy", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// A document: its links and the anchors of its headings.
#[derive(Debug, Default)]
pub struct Document {
    pub links: Vec<String>,
    anchors: BTreeSet<String>,
    /// References such as `[a][b]` without a definition of `b`.
    undefined: Vec<String>,
}

/// Reads all documents, by their path relative to the workspace root.
pub fn read_documents() -> Result<BTreeMap<PathBuf, Document>> {
    let mut documents = BTreeMap::new();
    let root = process::root();
    for place in PLACES {
        for path in process::files_below(&root.join(place))? {
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                documents.insert(path.strip_prefix(&root)?.to_owned(), parse(&text));
            }
        }
    }
    Ok(documents)
}

/// Fails with every broken link of the documents, and every page that the summary leaves out.
pub fn check() -> Result<()> {
    let documents = read_documents()?;
    let mut errors = broken_links(&documents, |path| process::root().join(path).exists());
    errors.extend(pages_outside_summary(&documents));
    ensure!(errors.is_empty(), "{} errors in documents:\n{}", errors.len(), errors.join("\n"));
    let links: usize = documents.values().map(|document| document.links.len()).sum();
    println!("{} documents, {links} links: all relative links lead to a file and a heading", documents.len());
    Ok(())
}

/// Resolves a relative link of a document to a path below the workspace root and an anchor. None for links to other sites.
pub fn resolve_link(document: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    let target = match path {
        "" => document.to_owned(),
        path => normalize(&document.parent().unwrap_or(Path::new("")).join(path)),
    };
    Some((target, anchor))
}

/// Reads links and headings of a text. Anchors are those of Git hosts, which mdBook makes too.
fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut heading: Option<String> = None;
    let mut undefined = Vec::new();
    let on_undefined = |link: BrokenLink| {
        // `[x]` alone is a text with brackets, as in usage lines.
        if !matches!(link.link_type, pulldown_cmark::LinkType::Shortcut) {
            undefined.push(link.reference.to_string());
        }
        None
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    for event in Parser::new_with_broken_link_callback(text, options, Some(on_undefined)) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document.links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor_of(&heading.take().unwrap_or_default());
                let is_taken = |candidate: &String| document.anchors.contains(candidate);
                let mut numbered = (1..).map(|number| format!("{anchor}-{number}"));
                let unique =
                    if is_taken(&anchor) { numbered.find(|candidate| !is_taken(candidate)) } else { Some(anchor) };
                document.anchors.extend(unique);
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    document.undefined = undefined;
    document
}

/// Makes the anchor of a heading: lower case, spaces as hyphens, no other punctuation.
fn anchor_of(heading: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ');
    let lower = heading.trim().to_lowercase();
    lower.chars().filter(|letter| kept(*letter)).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Removes `.` and `..` where it can; a path that leaves the workspace keeps its `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.file_name().is_some() => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

fn broken_links(documents: &BTreeMap<PathBuf, Document>, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut errors = Vec::new();
    for (path, document) in documents {
        let mut report = |link: &str, reason: &str| errors.push(format!("{}: {link}: {reason}", path.display()));
        for reference in &document.undefined {
            report(reference, "the reference is not defined");
        }
        for link in &document.links {
            let Some((target, anchor)) = resolve_link(path, link) else { continue };
            if target.starts_with("..") || target.is_absolute() || !exists(&target) {
                report(link, "no such file");
            } else if let Some(anchor) = anchor
                && !documents.get(&target).is_some_and(|target| target.anchors.contains(&anchor))
            {
                report(link, "no such heading");
            }
        }
    }
    errors
}

/// Returns the pages of the book that are not in its summary exactly once.
fn pages_outside_summary(documents: &BTreeMap<PathBuf, Document>) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let links = documents.get(summary).map(|document| document.links.as_slice()).unwrap_or_default();
    let listed: Vec<PathBuf> = links.iter().filter_map(|link| resolve_link(summary, link)).map(|link| link.0).collect();
    let pages = documents.keys().filter(|path| path.starts_with(BOOK) && *path != summary);
    pages
        .filter_map(|page| match listed.iter().filter(|path| *path == page).count() {
            1 => None,
            count => Some(format!("{}: {count} times in {SUMMARY}", page.display())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(texts: &[(&str, &str)]) -> BTreeMap<PathBuf, Document> {
        texts.iter().map(|(path, text)| (PathBuf::from(path), parse(text))).collect()
    }

    #[test]
    fn relative_links_of_all_documents_lead_somewhere_and_the_summary_has_every_page() {
        check().unwrap();
    }

    #[test]
    fn broken_links_are_reported() {
        let documents = documents(&[
            ("README.md", "[a](docs/a.md#two-words) [b](docs/missing.md) ![c](c.png) [d](https://example.com/#x)"),
            ("docs/a.md", "# Two `words`\n\n## Two words\n\n[a](#two-words-1) [b](#three) [c](../../out.md) [d][e]"),
            ("docs/adr/b.md", "[a](docs/a.md) [b](../a.md#two-words) [c](../../README.md)"),
        ]);
        let errors = broken_links(&documents, |path| documents.contains_key(path));
        let expected = [
            "README.md: docs/missing.md: no such file",
            "README.md: c.png: no such file",
            "docs/a.md: e: the reference is not defined",
            "docs/a.md: #three: no such heading",
            "docs/a.md: ../../out.md: no such file",
            "docs/adr/b.md: docs/a.md: no such file",
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn pages_that_the_summary_leaves_out_or_repeats_are_reported() {
        let documents = documents(&[
            (SUMMARY, "- [a](a.md)\n- [a](a.md)\n- [b](b/b.md)"),
            ("docs/a.md", ""),
            ("docs/b/b.md", ""),
            ("docs/c.md", ""),
        ]);
        let expected = ["docs/a.md: 2 times in docs/SUMMARY.md", "docs/c.md: 0 times in docs/SUMMARY.md"];
        assert_eq!(pages_outside_summary(&documents), expected);
    }

    #[test]
    fn anchors_are_those_of_git_hosts() {
        assert_eq!(
            anchor_of("Failing, Blocked, Degraded, and wait --fail-fast"),
            "failing-blocked-degraded-and-wait---fail-fast"
        );
        assert_eq!(anchor_of("What may happen to it"), "what-may-happen-to-it");
        assert_eq!(anchor_of("0.1.0 — unreleased"), "010--unreleased");
    }
}
