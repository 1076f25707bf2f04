//! Builds the page into `target/site`: wasm, bindings, style sheet, fonts, icons, each compressed once.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::{fonts, setup, sh};

/// Where the built page is; the server embeds this folder.
pub const SITE: &str = "target/site";
const PROFILE: &str = "wasm-release";
const DEV_PROFILE: &str = "wasm-dev";
const TARGET: &str = "wasm32-unknown-unknown";
/// Name of the page's program, also that of its files.
const PROGRAM: &str = "rollcast";
/// What travels is the compressed size, and that is not smallest where the plain one is: -Oz and inlining make the code
/// less regular and cost 10 % of it.
const WASM_OPT: [&str; 9] = [
    "-O2",
    "-s",
    "2",
    "--all-features",
    "--strip-producers",
    "--low-memory-unused",
    "--flexible-inline-max-function-size=0",
    "--always-inline-max-function-size=0",
    "--one-caller-inline-max-function-size=0",
];

/// How the page's program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Small, as it is shipped and tested.
    Small,
    /// Soon, for whoever changes a component and looks at it.
    Soon,
}

/// Builds the page. What did not change is not built again.
pub fn build() -> Result<()> {
    build_as(Speed::Small)
}

/// Builds the page in one of two ways; both put it into the same place.
pub fn build_as(speed: Speed) -> Result<()> {
    let toolchain = setup::ensure_wasm()?;
    setup::ensure_node_modules()?;
    let site = sh::at(SITE);
    let pkg = site.join("pkg");
    std::fs::create_dir_all(&pkg)?;
    program(&toolchain, speed, &pkg)?;
    let fonts = fonts::build(&site)?;
    write(&pkg.join("rollcast.css"), &fonts::named(&style()?, &fonts)?)?;
    write(&pkg.join("fonts.txt"), &std::fs::read_to_string(sh::at(fonts::MADE).join("fonts.txt"))?)?;
    // Only pages of the playground load this one.
    write(&pkg.join("playground.css"), &sheet(&["playground.css".to_owned()])?)?;
    for entry in std::fs::read_dir(sh::at("public"))? {
        let path = entry?.path();
        let name = path.file_name().context("a file without a name in public")?;
        let text = std::fs::read_to_string(&path)?;
        let is_script = path.extension().is_some_and(|extension| extension == "js");
        write(&site.join(name), if is_script { squeezed(&text, &["//"]) } else { text }.as_str())?;
    }
    Ok(())
}

/// Builds the page's program and its bindings.
fn program(toolchain: &setup::Toolchain, speed: Speed, pkg: &Path) -> Result<()> {
    let profile = if speed == Speed::Small { PROFILE } else { DEV_PROFILE };
    let arguments = ["build", "--package", "app", "--lib", "--features", "hydrate", "--target", TARGET];
    let mut cargo = sh::command("cargo", &arguments);
    cargo.args(["--profile", profile, "--target-dir", "target/page"]);
    toolchain.configure(&mut cargo);
    sh::run(&mut cargo)?;
    let built = sh::at(&format!("target/page/{TARGET}/{profile}/app.wasm"));
    let made = pkg.join(format!("{PROGRAM}_bg.wasm"));
    // Which way it was made last.
    let stamp = sh::at("target/page/made");
    let is_made = std::fs::read_to_string(&stamp).is_ok_and(|known| known == profile);
    if is_newer(&built, &made) || !is_made {
        bind(&built, speed, pkg)?;
        compress(&made, speed)?;
        compress(&pkg.join(format!("{PROGRAM}.js")), speed)?;
        std::fs::write(&stamp, profile)?;
    }
    Ok(())
}

/// Makes the JavaScript bindings, and shrinks the wasm where it is to be small.
fn bind(wasm: &Path, speed: Speed, pkg: &Path) -> Result<()> {
    sh::say("making the bindings of the page's program");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).out_name(PROGRAM).web(true)?.typescript(false).omit_default_module_path(true);
    let made = sh::at("target/page/bindings");
    bindgen.generate(&made)?;
    let (program, name) = (made.join(format!("{PROGRAM}_bg.wasm")), format!("{PROGRAM}_bg.wasm"));
    let bindings = std::fs::read_to_string(made.join(format!("{PROGRAM}.js")))?;
    std::fs::write(pkg.join(format!("{PROGRAM}.js")), squeezed(&bindings, &["//", "/*", "*"]))?;
    if speed == Speed::Soon {
        std::fs::copy(program, pkg.join(name))?;
        return Ok(());
    }
    sh::run(
        sh::command(sh::at("end2end/node_modules/.bin/wasm-opt"), &WASM_OPT).arg("-o").arg(pkg.join(name)).arg(program),
    )
}

/// Puts the style sheet together in the order of `style/main.css`.
fn style() -> Result<String> {
    let main = std::fs::read_to_string(sh::at("style/main.css"))?;
    let import = |line: &str| Some(line.strip_prefix("@import \"")?.strip_suffix("\";")?.to_owned());
    let names: Vec<String> = main.lines().filter_map(import).collect();
    ensure!(!names.is_empty(), "style/main.css imports nothing");
    sheet(&names)
}

/// One sheet of these files of `style`.
fn sheet(names: &[String]) -> Result<String> {
    let mut sheet = String::new();
    for name in names {
        let part =
            std::fs::read_to_string(sh::at("style").join(name)).with_context(|| format!("there is no style/{name}"))?;
        sheet.push_str(&squeezed(&part, &["/*"]));
        sheet.push('\n');
    }
    for (long, short) in [(" { ", "{"), (" {", "{"), (" }", "}"), (": ", ":"), ("; ", ";"), (" > ", ">")] {
        sheet = sheet.replace(long, short);
    }
    Ok(sheet)
}

/// Without indentation and comment lines: those that begin with one of the marks.
fn squeezed(text: &str, marks: &[&str]) -> String {
    let is_comment = |line: &str| marks.iter().any(|mark| line.starts_with(mark));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn write(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    std::fs::write(path, text)?;
    compress(path, Speed::Small)
}

/// Writes `FILE.br` beside a file.
fn compress(path: &Path, speed: Speed) -> Result<()> {
    let bytes = std::fs::read(path)?;
    let mut compressed = Vec::new();
    let quality = if speed == Speed::Small { 11 } else { 1 };
    let parameters =
        brotli::enc::BrotliEncoderParams { quality, lgwin: 24, size_hint: bytes.len(), ..Default::default() };
    brotli::BrotliCompress(&mut bytes.as_slice(), &mut compressed, &parameters)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".br");
    Ok(std::fs::write(name, compressed)?)
}

/// A file has to be made again.
pub fn is_newer(source: &Path, made: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(made).is_none_or(|made| time(source).is_none_or(|source| source > made))
}
