//! The book: mdBook makes HTML of `docs`. Files outside `docs` that pages link to are copied into it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::{documents, process, setup};

/// Output folder of the book, as in book.toml.
const OUTPUT: &str = "target/book";
/// Folder of the book with copies of files outside `docs`.
const FILES: &str = "files";

/// Checks the links of all documents, and builds the book.
pub fn build() -> Result<()> {
    documents::check()?;
    let mdbook = setup::MDBOOK.ensure().context("the book needs mdBook, which cannot be installed here")?;
    process::run(&mut process::command(mdbook, &["build"]))?;
    let output = process::workspace_path(OUTPUT);
    copy_linked_files(&output)?;
    println!("{}", output.join("index.html").display());
    Ok(())
}

/// Copies files that pages link to outside `docs`, and points the links of the built pages to the copies.
fn copy_linked_files(output: &Path) -> Result<()> {
    let documents = documents::read_documents()?;
    let summary = Path::new(documents::SUMMARY);
    let first =
        documents.get(summary).and_then(|document| document.links.first()).map(String::as_str).unwrap_or_default();
    let first = documents::resolve_link(summary, first).map(|link| link.0).unwrap_or_default();
    for (path, document) in &documents {
        let Ok(page) = path.strip_prefix(documents::BOOK) else { continue };
        let up = "../".repeat(page.components().count().saturating_sub(1));
        let mut moved = BTreeMap::new();
        for link in &document.links {
            let Some((target, _)) = documents::resolve_link(path, link) else { continue };
            if target.starts_with(documents::BOOK) {
                continue;
            }
            let copy = output.join(FILES).join(&target);
            std::fs::create_dir_all(copy.parent().unwrap_or(output))?;
            std::fs::copy(process::root().join(&target), &copy)?;
            // mdBook treats each document as one of its pages.
            let built = format!("href=\"{}\"", link.replace(".md", ".html"));
            moved.insert(built, format!("href=\"{up}{FILES}/{}\"", target.display()));
        }
        let mut files = vec![output.join(page).with_extension("html")];
        if *path == first {
            files.push(output.join("index.html")); // mdBook's copy of the first page
        }
        for file in files.iter().filter(|_| !moved.is_empty()) {
            let mut html = std::fs::read_to_string(file)?;
            for (built, address) in &moved {
                ensure!(html.contains(built), "{}: mdBook wrote a link in another way: {built}", file.display());
                html = html.replace(built, address);
            }
            std::fs::write(file, html)?;
        }
    }
    Ok(())
}
