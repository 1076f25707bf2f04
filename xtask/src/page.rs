//! Builds the page into `target/site`: wasm, bindings, style sheet, fonts, icons, each compressed once.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use lightningcss::rules::CssRule;
use lightningcss::stylesheet::{MinifyOptions, ParserOptions, PrinterOptions, StyleSheet};
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
    write(&pkg.join("rollcast.css"), &minified(&fonts::named(&style()?, &fonts)?)?)?;
    write(&pkg.join("fonts.txt"), &std::fs::read_to_string(sh::at(fonts::MADE).join("fonts.txt"))?)?;
    // Only pages of the playground load this one.
    write(&pkg.join("playground.css"), &minified(&part("playground.css")?)?)?;
    // Only pages on which no program runs load this one.
    let still = [part("compare.css")?, part("forms.css")?, part("history.css")?].join("\n");
    write(&pkg.join("still.css"), &minified(&still)?)?;
    // Only files that people export carry this one: what they hold is packed.
    write(&pkg.join("unpack.js"), &unpacking()?)?;
    for entry in std::fs::read_dir(sh::at("public"))? {
        let path = entry?.path();
        let name = path.file_name().context("a file without a name in public")?;
        write(&site.join(name), &std::fs::read_to_string(&path)?)?;
    }
    Ok(())
}

/// Builds the page's program and its bindings.
fn program(toolchain: &setup::Toolchain, speed: Speed, pkg: &Path) -> Result<()> {
    let profile = if speed == Speed::Small { PROFILE } else { DEV_PROFILE };
    let arguments = ["rustc", "--package", "app", "--lib", "--features", "hydrate", "--target", TARGET];
    let mut cargo = sh::command("cargo", &arguments);
    cargo.args(["--profile", profile, "--target-dir", "target/page"]);
    cargo.args(["--", "-Clink-arg=--emit-relocs"]);
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

/// Splits the program, makes its JavaScript bindings, and shrinks the wasm where it is to be small.
fn bind(wasm: &Path, speed: Speed, pkg: &Path) -> Result<()> {
    sh::say("making the bindings of the page's program");
    let made = sh::at("target/page/bindings");
    if made.exists() {
        std::fs::remove_dir_all(&made)?;
    }
    let parts = made.join("parts");
    std::fs::create_dir_all(&parts)?;
    let bytes = std::fs::read(wasm)?;
    let whole = made.join("whole.wasm");
    let mut options = wasm_split_cli_support::Options::new(&bytes);
    options.output_dir = &parts;
    options.main_out_path = &whole;
    options.link_name = "./parts.js";
    options.main_module = "./rollcast.js";
    let split = wasm_split_cli_support::transform(options).map_err(|error| anyhow!("{error:#}"))?;
    println!("{:?}", split.prefetch_map);
    let mut bindgen = Bindgen::new();
    bindgen.input_path(&whole).out_name(PROGRAM).web(true)?.typescript(false).omit_default_module_path(true);
    bindgen.keep_lld_exports(true).demangle(false).remove_name_section(true);
    bindgen.generate(&made)?;
    let (program, name) = (made.join(format!("{PROGRAM}_bg.wasm")), format!("{PROGRAM}_bg.wasm"));
    let bindings = format!("{PROGRAM}.js");
    std::fs::copy(made.join(&bindings), pkg.join(&bindings))?;
    let target = pkg.join("parts");
    std::fs::create_dir_all(&target)?;
    for (from, to) in split.split_modules.iter().map(|part| (part.clone(), target.join(part.file_name().expect("x")))).chain([(program, pkg.join(name))]) {
        if speed == Speed::Soon {
            std::fs::copy(from, to)?;
            continue;
        }
        sh::run(sh::command(sh::at("end2end/node_modules/.bin/wasm-opt"), &WASM_OPT).arg("--strip-debug").arg("-o").arg(&to).arg(from))?;
        compress(&to, speed)?;
        println!("{} {} {}", to.display(), std::fs::metadata(&to)?.len(), std::fs::metadata(format!("{}.br", to.display()))?.len());
    }
    Ok(())
}

/// Puts the style sheet together in the order of `style/main.css`.
fn style() -> Result<String> {
    let main = part("main.css")?;
    let sheet = parsed(&main)?;
    let names = sheet.rules.0.iter().map(|rule| match rule {
        CssRule::Import(import) => Ok(import.url.to_string()),
        _ => bail!("style/main.css has rules of its own; it only imports"),
    });
    let parts = names.map(|name| part(&name?)).collect::<Result<Vec<_>>>()?;
    ensure!(!parts.is_empty(), "style/main.css imports nothing");
    Ok(parts.join("\n"))
}

/// The library that unpacks zstd in browsers, with its licence.
fn unpacking() -> Result<String> {
    let of = |name: &str| std::fs::read_to_string(sh::at("end2end/node_modules/fzstd").join(name));
    Ok(format!("/*! fzstd\n{}*/\n{}", of("LICENSE")?, of("umd/index.js")?))
}

/// A file of `style`.
fn part(name: &str) -> Result<String> {
    std::fs::read_to_string(sh::at("style").join(name)).with_context(|| format!("there is no style/{name}"))
}

fn parsed(sheet: &str) -> Result<StyleSheet<'_>> {
    StyleSheet::parse(sheet, ParserOptions::default()).map_err(|error| anyhow!("the style sheet is wrong: {error}"))
}

/// The same sheet in fewer bytes. No browsers are named as targets: nothing is written in an older way, and nothing left out.
fn minified(sheet: &str) -> Result<String> {
    let mut sheet = parsed(sheet)?;
    sheet.minify(MinifyOptions::default())?;
    Ok(sheet.to_css(PrinterOptions { minify: true, ..Default::default() })?.code)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands between the braces after the first place of some text.
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
