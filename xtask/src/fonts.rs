//! The fonts of pages and previews, cut out of those of npm by `end2end/build/fonts.mjs`.
//!
//! A page's font is named after its content: browsers cache it for ever, and the style sheet names the current one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process;

/// Folder of the built fonts, with their licences in `fonts.txt`.
pub const MADE: &str = "target/fonts";
const SCRIPT: &str = "end2end/build/fonts.mjs";
/// Fonts that pages load by the plain name in style sheets.
pub const OF_PAGES: [&str; 3] = ["inter", "hyphen", "mono"];
/// Fonts with which the server draws previews.
const OF_PREVIEWS: [&str; 2] = ["preview-regular.ttf", "preview-bold.ttf"];

/// A font of pages: its plain name (`inter`), and the file (`inter-0123456789.woff2`).
pub type Font = (&'static str, String);

/// Builds the fonts and copies them into the site. Unchanged ones are not built again.
pub fn build(site: &Path) -> Result<Vec<Font>> {
    let made = process::workspace_path(MADE);
    // The last one that the script writes.
    let last = made.join("fonts.txt");
    if process::is_outdated(&last, &[SCRIPT, "end2end/node_modules/.package-lock.json"].map(process::workspace_path)) {
        process::print_note("cutting the fonts of the pages");
        process::run(process::command("node", &[SCRIPT]).arg(&made))?;
    }
    let (pkg, previews) = (site.join("pkg"), site.join("previews"));
    std::fs::create_dir_all(&previews)?;
    for name in OF_PREVIEWS {
        put(&made.join(name), &previews.join(name))?;
    }
    let fonts = OF_PAGES.iter().map(|name| Ok((*name, file(&made, name)?))).collect::<Result<Vec<Font>>>()?;
    // Fonts of another build would be shipped, too.
    for old in woff2(&pkg)? {
        if !fonts.iter().any(|(_, file)| old.ends_with(file)) {
            std::fs::remove_file(old)?;
        }
    }
    for (_, file) in &fonts {
        put(&made.join(file), &pkg.join(file))?;
    }
    Ok(fonts)
}

/// Returns the style sheet with the names of the existing files.
pub fn named(sheet: &str, fonts: &[Font]) -> Result<String> {
    let mut named = sheet.to_owned();
    for (name, file) in fonts {
        let plain = format!("\"{name}.woff2\"");
        ensure!(named.contains(&plain), "no style sheet loads the font {name}");
        named = named.replace(&plain, file);
    }
    Ok(named)
}

/// Returns the size of a page's font, which is compressed already.
pub fn weight(name: &str) -> Result<u64> {
    let made = process::workspace_path(MADE);
    Ok(made.join(file(&made, name)?).metadata()?.len())
}

fn file(folder: &Path, name: &str) -> Result<String> {
    let is_it = |path: &Path| Some(path.file_name()?.to_str()?.strip_prefix(name)?.starts_with('-'));
    let path = woff2(folder)?.into_iter().find(|path| is_it(path) == Some(true));
    let file = path.as_deref().and_then(Path::file_name).with_context(|| format!("the font {name} was not made"))?;
    Ok(file.to_string_lossy().into_owned())
}

fn woff2(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut fonts = process::entries(folder)?;
    fonts.retain(|path| path.extension().is_some_and(|extension| extension == "woff2"));
    Ok(fonts)
}

fn put(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).with_context(|| format!("there is no {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    Ok(std::fs::write(to, bytes)?)
}
