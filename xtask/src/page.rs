//! Builds the page into `target/site`: wasm, bindings, style sheet, fonts, icons, each compressed once
//! (`end2end/build/compress.mjs`).

mod parts;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::{fonts, process, setup};

/// Folder of the built page, which the server embeds.
pub const SITE: &str = "target/site";
/// File that is locked while the page is built.
const LOCK: &str = "target/page.lock";
const PROFILE: &str = "wasm-release";
const DEV_PROFILE: &str = "wasm-dev";
const TARGET: &str = "wasm32-unknown-unknown";
/// Below `pkg`: the parts of the program that only some pages need, named after their content, and which files are whose.
const PARTS: &str = "parts";
/// Most bytes of a file of a part that is put into the bindings.
const SMALL: usize = 2_000;
/// Name of the page's program, also that of its files.
const PROGRAM: &str = "rollcast";
/// Says how the page was made ([`Optimization::stamp`]). The file is missing while the page is made.
const STAMP: &str = "target/page/made";
/// Extensions of files that are compressed. Fonts are already.
const COMPRESSIBLE: [&str; 5] = ["css", "js", "svg", "txt", "wasm"];
const COMPRESSED: [&str; 2] = ["br", "gz"];
/// The compressed size counts, and it is not smallest where the plain size is: -Oz and inlining make the code less
/// regular and cost 10 % of it. Functions that only call another part are inlined.
const WASM_OPT: [&str; 10] = [
    "-O2",
    "-s",
    "2",
    "--all-features",
    "--strip-producers",
    "--strip-debug",
    "--low-memory-unused",
    "--flexible-inline-max-function-size=0",
    "--always-inline-max-function-size=1",
    "--one-caller-inline-max-function-size=20",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimization {
    /// By the compiler, `wasm-opt` and the best compression, as it is shipped and tested.
    Full,
    /// By the compiler alone, for browsers on this machine.
    Compiler,
    /// None, for short builds while a component is changed.
    None,
}

impl Optimization {
    /// Returns the stamp of a page that was built with it, with a hash of the build steps after the compiler.
    fn stamp(self) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        let makers = [include_str!("page.rs"), include_str!("page/parts.rs"), include_str!("page/parts.js")];
        (makers, include_str!("../../end2end/build/compress.mjs")).hash(&mut hasher);
        std::fs::read(process::workspace_path("end2end/package-lock.json"))?.hash(&mut hasher);
        Ok(format!("{self:?} {:016x}", hasher.finish()))
    }

    fn profile(self) -> &'static str {
        if self == Self::None { DEV_PROFILE } else { PROFILE }
    }
}

/// Builds the page with one of the optimizations. All builds share one folder, so only one runs at a time. Unchanged
/// files are not built again.
pub fn build(optimization: Optimization) -> Result<()> {
    let site = process::workspace_path(SITE);
    let pkg = site.join("pkg");
    std::fs::create_dir_all(&pkg)?;
    // Locked for as long as it is open; the system releases it however the program ends.
    let lock = File::create(process::workspace_path(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            process::print_note("another command builds the page; waiting until it has");
            lock.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the page's files"),
    }
    let toolchain = setup::ensure_wasm()?;
    setup::ensure_node_modules()?;
    program(&toolchain, optimization, &site)?;
    let fonts = fonts::build(&site)?;
    write(&pkg.join("rollcast.css"), &minified("rollcast.css", &fonts::named(&style()?, &fonts)?)?)?;
    write(&pkg.join("fonts.txt"), &std::fs::read_to_string(process::workspace_path(fonts::MADE).join("fonts.txt"))?)?;
    // Only pages of the playground load this one.
    write(&pkg.join("playground.css"), &minified("playground.css", &part("playground.css")?)?)?;
    // Only pages on which no program runs load this one.
    let still = [part("compare.css")?, part("forms.css")?, part("history.css")?, part("status.css")?].join("\n");
    write(&pkg.join("still.css"), &minified("still.css", &still)?)?;
    // Only exported files contain this one: their content is packed.
    write(&pkg.join("unpack.js"), &unpacking()?)?;
    for path in process::entries(&process::workspace_path("public"))? {
        let name = path.file_name().and_then(OsStr::to_str).context("a file without a name in public")?;
        let text = std::fs::read_to_string(&path)?;
        let is_script = path.extension().is_some_and(|kind| kind == "js");
        write(&site.join(name), &if is_script { minified(name, &text)? } else { text })?;
    }
    // A page that was built with more optimization than requested keeps it in all its files.
    let stamp = read_stamp().map_or_else(|| optimization.stamp(), Ok)?;
    compress(&site, if stamp == Optimization::Full.stamp()? { "best" } else { "fast" })?;
    std::fs::write(process::workspace_path(STAMP), stamp)?;
    Ok(())
}

/// Reads how the page was made last, if that was not interrupted.
fn read_stamp() -> Option<String> {
    std::fs::read_to_string(process::workspace_path(STAMP)).ok()
}

fn program(toolchain: &setup::Toolchain, optimization: Optimization, site: &Path) -> Result<()> {
    let (pkg, profile) = (site.join("pkg"), optimization.profile());
    let of_app = ["rustc", "--package", "app", "--lib", "--features", "hydrate"];
    // Named here alone: beside another kind of library cargo leaves link-time optimisation out.
    let arguments = ["--crate-type", "cdylib", "--target", TARGET];
    // The server, which is built at the same time, takes longer, so the page has the lower priority.
    let mut cargo = process::command("nice", &["-n", "3", "cargo"]);
    cargo.args(of_app).args(arguments);
    cargo.args(["--profile", profile, "--target-dir", "target/page"]);
    // Emits relocations, which are needed to split the program.
    cargo.args(["--", "-Clink-arg=--emit-relocs"]);
    toolchain.configure(&mut cargo);
    process::run(&mut cargo)?;
    let built = process::workspace_path(&format!("target/page/{TARGET}/{profile}/app.wasm"));
    let made = pkg.join(format!("{PROGRAM}_bg.wasm"));
    let known = read_stamp();
    let is_made = |with: Optimization| anyhow::Ok(known == Some(with.stamp()?));
    let is_good = is_made(optimization)? || optimization == Optimization::Compiler && is_made(Optimization::Full)?;
    if process::is_outdated(&made, std::slice::from_ref(&built)) || !is_good {
        for file in process::files_below(site)?.iter().filter(|file| has_extension(file, &COMPRESSED)) {
            process::remove(file)?;
        }
        process::remove(&process::workspace_path(STAMP))?;
        bind(&built, optimization, &pkg)?;
    }
    Ok(())
}

/// Splits the program, makes its JavaScript bindings, and shrinks the wasm where it is to be small.
fn bind(wasm: &Path, optimization: Optimization, pkg: &Path) -> Result<()> {
    process::print_note("splitting the page's program and making its bindings");
    let made = process::workspace_path("target/page/bindings");
    let (folder, lists) = (pkg.join(PARTS), pkg.join(format!("{PARTS}.txt")));
    for old in [&made, &folder] {
        process::remove(old)?;
    }
    std::fs::create_dir_all(&folder)?;
    let split = parts::split(wasm, &made.join(PARTS), optimization != Optimization::None)?;
    let mut bindgen = Bindgen::new();
    bindgen.input_path(&split.shared).out_name(PROGRAM).web(true)?.typescript(false).omit_default_module_path(true);
    // Parts find the table of functions by its name.
    bindgen.keep_lld_exports(true).demangle(false);
    bindgen.generate(&made)?;
    let name = format!("{PROGRAM}_bg.wasm");
    let program = made.join(&name);
    std::fs::write(&program, parts::without_shared_exports(&std::fs::read(&program)?)?)?;
    shrink(&program, optimization, &pkg.join(name))?;
    let new = folder.join("new.wasm");
    let (mut files, mut small): (BTreeMap<String, Vec<String>>, _) = (BTreeMap::new(), Vec::new());
    let mut known: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for (part, of_part) in split.parts {
        let names = files.entry(part.clone()).or_default();
        for file in of_part {
            if !known.contains_key(&file) {
                shrink(&file, optimization, &new)?;
                let bytes = std::fs::read(&new)?;
                let name = (bytes.len() > SMALL).then(|| named_after_content(parts::name(&part, &file), &bytes));
                match &name {
                    Some(name) => std::fs::write(folder.join(name), &bytes)?,
                    None => small.push(bytes),
                }
                known.insert(file.clone(), name);
            }
            names.extend(known.get(&file).cloned().flatten());
        }
    }
    std::fs::remove_file(new)?;
    let line = |(part, files): (&String, &Vec<String>)| format!("{} {}\n", parts::plain(part), files.join(" "));
    std::fs::write(lists, files.iter().map(line).collect::<String>())?;
    let bindings = format!("{PROGRAM}.js");
    let joined = parts::joined(&std::fs::read_to_string(made.join(&bindings))?, &files, &small)?;
    let plain = made.join(&bindings);
    std::fs::write(&plain, joined)?;
    let mut to = OsString::from("--outfile=");
    to.push(pkg.join(bindings));
    let minify = format!("--minify={}", optimization != Optimization::None);
    process::run(esbuild(&["--format=esm", &minify]).arg(to).arg(plain))
}

fn named_after_content(part: &str, bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{part}-{:016x}.wasm", hasher.finish())
}

/// Shrinks a program, if the optimization requires that.
fn shrink(program: &Path, optimization: Optimization, to: &Path) -> Result<()> {
    match optimization {
        Optimization::Full => {
            std::fs::write(program, parts::without_unused(&std::fs::read(program)?)?)?;
            let wasm_opt = process::workspace_path("end2end/node_modules/.bin/wasm-opt");
            process::run(process::command(wasm_opt, &WASM_OPT).arg("-o").arg(to).arg(program))?;
        }
        Optimization::Compiler => std::fs::write(to, parts::without_names(&std::fs::read(program)?)?)?,
        Optimization::None => {
            std::fs::copy(program, to)?;
        }
    }
    Ok(())
}

/// Puts the style sheet together in the order of `style/main.css`.
fn style() -> Result<String> {
    let main = part("main.css")?;
    let lines = main.lines().filter(|line| line.starts_with('@'));
    let names = lines.map(|line| {
        let name = line.strip_prefix("@import \"").and_then(|rest| rest.strip_suffix("\";"));
        name.with_context(|| format!("style/main.css only imports: {line}"))
    });
    let parts = names.map(|name| part(name?)).collect::<Result<Vec<_>>>()?;
    ensure!(!parts.is_empty(), "style/main.css imports nothing");
    Ok(parts.join("\n"))
}

/// Returns the library that unpacks zstd in browsers, with its licence.
fn unpacking() -> Result<String> {
    let of = |name: &str| std::fs::read_to_string(process::workspace_path("end2end/node_modules/fzstd").join(name));
    Ok(format!("/*! fzstd\n{}*/\n{}", of("LICENSE")?, of("umd/index.js")?))
}

fn part(name: &str) -> Result<String> {
    std::fs::read_to_string(process::workspace_path("style").join(name))
        .with_context(|| format!("there is no style/{name}"))
}

/// Returns a style sheet or a script of that name in fewer bytes, for browsers of today: nothing is written in an older way.
fn minified(name: &str, text: &str) -> Result<String> {
    let folder = process::workspace_path("target/page/plain");
    std::fs::create_dir_all(&folder)?;
    let plain = folder.join(name);
    std::fs::write(&plain, text)?;
    let output = esbuild(&["--minify", "--loader:.css=css", "--log-limit=1"]).arg(plain).output()?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && complaints.trim().is_empty(), "{name} is wrong: {complaints}");
    Ok(String::from_utf8(output.stdout)?)
}

fn esbuild(arguments: &[&str]) -> Command {
    let mut command = process::command(process::workspace_path("end2end/node_modules/.bin/esbuild"), arguments);
    command.arg("--log-level=warning");
    command
}

fn write(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    // The compressed files are out of date from here on.
    compressed_paths(path).iter().try_for_each(|file| process::remove(file))?;
    std::fs::write(path, text)?;
    Ok(())
}

fn compressed_paths(file: &Path) -> [PathBuf; 2] {
    COMPRESSED.map(|extension| file.with_added_extension(extension))
}

/// Writes `FILE.br`, and `FILE.gz` for browsers that came without TLS, beside each file that has none.
fn compress(site: &Path, effort: &str) -> Result<()> {
    let is_missing = |file: &PathBuf| compressed_paths(file).iter().any(|file| !file.exists());
    let all = process::files_below(site)?.into_iter();
    let files: Vec<_> = all.filter(|file| has_extension(file, &COMPRESSIBLE) && is_missing(file)).collect();
    if files.is_empty() {
        return Ok(());
    }
    process::run(process::command("node", &["end2end/build/compress.mjs", effort]).args(files))
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().is_some_and(|extension| extensions.iter().any(|other| extension == *other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text between the braces after the first place of a selector.
    fn block<'s>(sheet: &'s str, selector: &str) -> Option<&'s str> {
        let (_, rest) = sheet.split_once(selector)?;
        rest.split_once('{')?.1.split_once('}').map(|(block, _)| block.trim())
    }

    #[test]
    fn the_dark_theme_has_the_same_colours_with_and_without_scripts() {
        let sheet = part("tokens.css").expect("the tokens are there");
        let chosen = block(&sheet, "[data-theme=\"dark\"]").expect("a dark theme");
        assert!(chosen.contains("--bg: #"), "{chosen}");
        assert_eq!(block(&sheet, ":root:not([data-theme])"), Some(chosen));
    }
}
