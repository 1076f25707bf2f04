//! The book: mdBook makes HTML of `docs`. Files outside `docs` that pages link to are copied into it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{documents, process, setup};

/// Where the book is built; book.toml says so too.
const OUTPUT: &str = "target/book";
/// Folder of the book with copies of files outside `docs`.
const FILES: &str = "files";
/// Pages of mdBook whose links are relative to another place.
const UNCHECKED: [&str; 2] = ["404.html", "toc.html"];

/// Checks the links of all documents, builds the book, and checks the links of its pages.
pub fn build() -> Result<()> {
    documents::check()?;
    let mdbook = setup::MDBOOK.ensure().context("the book needs mdBook, which cannot be installed here")?;
    process::run(&mut process::command(mdbook, &["build"]))?;
    let output = process::workspace_path(OUTPUT);
    copy_linked_files(&output)?;
    let (pages, links) = check_pages(&output)?;
    println!("{}: {pages} pages, {links} relative links", output.join("index.html").display());
    Ok(())
}

/// Copies files that pages link to outside `docs`, and leads the links of the built pages to the copies.
fn copy_linked_files(output: &Path) -> Result<()> {
    let documents = documents::read_documents()?;
    let summary = Path::new(documents::SUMMARY);
    let first =
        documents.get(summary).and_then(|document| document.links.first()).map(String::as_str).unwrap_or_default();
    let first = documents::resolve_link(summary, first).map(|link| link.0).unwrap_or_default();
    for (path, document) in &documents {
        let Ok(page) = path.strip_prefix(documents::BOOK) else { continue };
        let up = "../".repeat(page.components().count().saturating_sub(1));
        let mut moved = Vec::new();
        for link in &document.links {
            let Some((target, _)) = documents::resolve_link(path, link) else { continue };
            if target.starts_with(documents::BOOK) {
                continue;
            }
            let copy = output.join(FILES).join(&target);
            std::fs::create_dir_all(copy.parent().unwrap_or(output))?;
            std::fs::copy(process::root().join(&target), &copy)?;
            // mdBook takes each document for one of its pages.
            let built = format!("href=\"{}\"", link.replace(".md", ".html"));
            moved.push((built, format!("href=\"{up}{FILES}/{}\"", target.display())));
        }
        let mut files = vec![output.join(page).with_extension("html")];
        if *path == first {
            files.push(output.join("index.html")); // mdBook's copy of the first page
        }
        for file in files.iter().filter(|_| !moved.is_empty()) {
            let mut html = std::fs::read_to_string(file)?;
            for (built, address) in &moved {
                html = html.replace(built, address);
            }
            std::fs::write(file, html)?;
        }
    }
    Ok(())
}

/// Counts pages and their relative links. Fails with each link that leads to no file or to no element.
fn check_pages(output: &Path) -> Result<(usize, usize)> {
    let pages = read_pages(output)?;
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, html)| (path, values_of(html, " id=\"").collect())).collect();
    let (mut errors, mut links) = (Vec::new(), 0);
    for (path, html) in &pages {
        for link in values_of(html, " href=\"").chain(values_of(html, " src=\"")) {
            let Some((target, anchor)) = documents::resolve_link(path, link) else { continue };
            links += 1;
            let has_anchor =
                anchor.is_none_or(|anchor| ids.get(&target).is_none_or(|ids| ids.contains(anchor.as_str())));
            if !output.join(&target).exists() || !has_anchor {
                errors.push(format!("{}: {link}", path.display()));
            }
        }
    }
    ensure!(errors.is_empty(), "{} broken links in the book:\n{}", errors.len(), errors.join("\n"));
    Ok((pages.len(), links))
}

fn read_pages(output: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for file in process::files_below(output)? {
        let path = file.strip_prefix(output)?;
        let is_unchecked = path.starts_with(FILES) || UNCHECKED.iter().any(|name| path == Path::new(name));
        if !is_unchecked && path.extension().is_some_and(|extension| extension == "html") {
            pages.insert(path.to_owned(), std::fs::read_to_string(&file)?);
        }
    }
    Ok(pages)
}

/// Returns the values of an attribute of a page: the texts between its opening and the next quote.
fn values_of<'a>(html: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(opening).skip(1).filter_map(|rest| rest.split('"').next())
}
