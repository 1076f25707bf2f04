//! Splits the page's program into what all pages share and the parts of `app/src/parts.rs`, by the library that Leptos splits with.
//!
//! The library puts functions that several parts need into files of their own, one for each set of parts. Many small
//! files compress badly and call each other through a table, so such functions go into the code that all pages share:
//! the program is split twice, and the second time these functions are exported, which binds them to that code. The
//! exports are removed afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wasm_encoder::{CodeSection, ExportKind, ExportSection, Function, Module, RawSection};
use wasmparser::{KnownCustom, Name, Parser, Payload, TypeRef};

const LOADER: &str = include_str!("parts.js");
/// Starts the program where a file carries it (`server/src/export/start.js`): what the bindings are made of has short names by then.
const BEGIN: &str = "globalThis.begin?.(__wbg_init, hydrate_exported);\n";
/// Path from which the program imports the functions that load its parts.
const LINK: &str = "./parts.js";
/// Prefix of the names of exports that exist for the second split only.
const SHARED: &str = "shared ";
/// A panel of details opens beside a picture: code that only these two need stays a file of its own, which lists do not load.
const TOGETHER: [&str; 2] = ["pictures", "details"];
/// Names by which the library marks code of several parts, and calls of other code.
const OF_SEVERAL: &str = "chunk_";
const CALL: &str = " indirect_call_shim";
/// Futures that only `leptos::mount::hydrate_lazy` polls, which no page uses. Tables of boxed views refer to them, so that the compiler keeps
/// them and what they need. The compiler merges equal functions under one of their names: closures in them may be called.
const UNUSED: &str = "8into_any13hydrate_async28_$u7b$$u7b$closure$u7d$$u7d$17h";

pub struct Split {
    /// Code of all pages, before its bindings are made.
    pub shared: PathBuf,
    /// Files of each part, by the name that the compiler gave it.
    pub parts: BTreeMap<String, Vec<PathBuf>>,
}

/// Returns the name of a part as it is written in `app/src/parts.rs`: the compiler appends a number.
pub fn plain(part: &str) -> &str {
    part.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('_')
}

pub fn name<'p>(part: &'p str, file: &Path) -> &'p str {
    if is_of_several(file) { "shared" } else { plain(part) }
}

pub fn split(program: &Path, into: &Path, is_small: bool) -> Result<Split> {
    let bytes = std::fs::read(program)?;
    if !is_small {
        return split_once(&bytes, into);
    }
    let names = functions(&bytes)?;
    ensure!(!names.is_empty(), "the program has no names of functions");
    let first = split_once(&bytes, &into.join("first"))?;
    let needing = |file: &PathBuf| -> Vec<&str> {
        let whose = first.parts.iter().filter(|(_, files)| files.contains(file));
        whose.map(|(part, _)| plain(part)).collect()
    };
    let of_all = |file: &&PathBuf| is_of_several(file) && !needing(file).iter().all(|part| TOGETHER.contains(part));
    let files: BTreeSet<&PathBuf> = first.parts.values().flatten().filter(of_all).collect();
    let mut shared = BTreeSet::new();
    for file in files {
        shared.extend(functions(&std::fs::read(file)?)?.into_values().filter(|name| !name.ends_with(CALL)));
    }
    let shared: BTreeSet<u32> =
        names.iter().filter(|(_, name)| shared.contains(name.as_str())).map(|(index, _)| *index).collect();
    split_once(&exporting(&bytes, &shared)?, into)
}

fn is_of_several(file: &Path) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(OF_SEVERAL))
}

fn split_once(bytes: &[u8], into: &Path) -> Result<Split> {
    std::fs::create_dir_all(into)?;
    let shared = into.join("shared.wasm");
    let mut options = wasm_split_cli_support::Options::new(bytes);
    options.output_dir = into;
    options.main_out_path = &shared;
    options.link_name = LINK;
    let split = wasm_split_cli_support::transform(options).map_err(|error| anyhow!("splitting: {error:#}"))?;
    let files = |names: Vec<String>| names.iter().map(|name| into.join(format!("{name}.wasm"))).collect();
    Ok(Split { shared, parts: split.prefetch_map.into_iter().map(|(part, names)| (part, files(names))).collect() })
}

/// Returns the names of functions, by their numbers.
fn functions(wasm: &[u8]) -> Result<HashMap<u32, String>> {
    let mut functions = HashMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CustomSection(section) = payload? else { continue };
        let KnownCustom::Name(names) = section.as_known() else { continue };
        for name in names {
            let Name::Function(map) = name? else { continue };
            for naming in map {
                let naming = naming?;
                functions.insert(naming.index, naming.name.to_owned());
            }
        }
    }
    Ok(functions)
}

fn exporting(wasm: &[u8], functions: &BTreeSet<u32>) -> Result<Vec<u8>> {
    with_exports(wasm, |exports| {
        for function in functions {
            exports.export(&format!("{SHARED}{function}"), ExportKind::Func, *function);
        }
    })
}

/// Returns the program without the exports that exist for the split only.
pub fn without_shared_exports(wasm: &[u8]) -> Result<Vec<u8>> {
    with_exports(wasm, |_| ())
}

/// Returns the program with functions that are never called trapping at once, so that `wasm-opt` drops what only they need.
pub fn without_unused(wasm: &[u8]) -> Result<Vec<u8>> {
    let (names, mut code) = (functions(wasm)?, CodeSection::new());
    let (mut index, mut left) = (0, 0);
    rewritten(wasm, |payload, module| {
        match payload {
            Payload::CodeSectionStart { count, .. } => left = count,
            Payload::CodeSectionEntry(body) => {
                if names.get(&index).is_some_and(|name| name.contains(UNUSED)) {
                    let mut trap = Function::new([]);
                    trap.instructions().unreachable().end();
                    code.function(&trap);
                } else {
                    code.raw(body.as_bytes());
                }
                (index, left) = (index + 1, left - 1);
                if left == 0 {
                    module.section(&code);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    index += u32::from(matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)));
                }
                return Ok(false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })
}

/// Returns the program without the names of functions, and whatever else does not run.
pub fn without_names(wasm: &[u8]) -> Result<Vec<u8>> {
    rewritten(wasm, |payload, _| Ok(matches!(payload, Payload::CustomSection(_))))
}

/// Copies a program section by section, except for those that `replace` rewrites or leaves out, for which it returns true.
fn rewritten(wasm: &[u8], mut replace: impl FnMut(Payload, &mut Module) -> Result<bool>) -> Result<Vec<u8>> {
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let section = payload.as_section();
        if let (false, Some((id, range))) = (replace(payload, &mut module)?, section) {
            let data = wasm.get(range.start as usize..range.end as usize).context("a section beyond the end")?;
            module.section(&RawSection { id, data });
        }
    }
    Ok(module.finish())
}

fn with_exports(wasm: &[u8], more: impl Fn(&mut ExportSection)) -> Result<Vec<u8>> {
    rewritten(wasm, |payload, module| {
        let Payload::ExportSection(section) = payload else { return Ok(false) };
        let mut exports = ExportSection::new();
        for export in section {
            let export = export?;
            if !export.name.starts_with(SHARED) {
                exports.export(export.name, export.kind.into(), export.index);
            }
        }
        more(&mut exports);
        module.section(&exports);
        Ok(true)
    })
}

/// Returns the bindings with the functions that load parts: `files` are the file names of each part, by the name that
/// the compiler gave it, and `small` the code that is too small for a file.
pub fn joined(bindings: &str, files: &BTreeMap<String, Vec<String>>, small: &[Vec<u8>]) -> Result<String> {
    let is_import = |line: &&str| line.starts_with("import * as ") && line.contains(LINK);
    let is_link = |line: &&str| line.trim_start().starts_with(&format!("\"{LINK}\":"));
    let (mut lines, mut is_linked) = (Vec::new(), false);
    for line in bindings.lines().filter(|line| !is_import(line)) {
        if !is_link(&line) {
            lines.push(line.to_owned());
        } else if !is_linked {
            is_linked = true;
            lines.push(format!("        \"{LINK}\": parts,"));
        }
    }
    ensure!(is_linked, "the bindings import no parts");
    let quoted = |texts: &mut dyn Iterator<Item = String>| {
        texts.map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(", ")
    };
    let of = |(part, files): (&String, &Vec<String>)| {
        format!("  __wasm_split_load_{part}: part({}),\n", quoted(&mut files.iter().cloned()))
    };
    let parts: String = files.iter().map(of).collect();
    let small = quoted(&mut small.iter().map(|bytes| STANDARD.encode(bytes)));
    let lines = lines.join("\n");
    Ok(format!("{lines}\n\nconst small = [{small}];\n{LOADER}const parts = {{\n{parts}}};\n{BEGIN}"))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{EntityType, FunctionSection, ImportSection, NameMap, NameSection, TypeSection};

    use super::*;

    #[test]
    fn the_bindings_load_parts_themselves() {
        let bindings = "import * as import1 from \"./parts.js\"\nimport * as import2 from \"./parts.js\"\nlet wasm;\n\
                        return {\n    \"./parts.js\": import1,\n    \"./parts.js\": import2,\n};\n";
        let files = BTreeMap::from([("lists_1".to_owned(), vec!["lists-0a.wasm".to_owned()])]);
        let joined = joined(bindings, &files, &[vec![0, 97]]).expect("these are bindings");
        assert!(joined.starts_with("let wasm;\nreturn {\n        \"./parts.js\": parts,\n};\n"), "{joined}");
        assert!(joined.contains("\nconst small = [\"AGE=\"];\n"), "{joined}");
        let parts = "const parts = {\n  __wasm_split_load_lists_1: part(\"lists-0a.wasm\"),\n};\n";
        assert!(joined.ends_with(&[parts, BEGIN].concat()), "{joined}");
    }

    #[test]
    fn exports_for_the_split_come_and_go() {
        let mut exports = ExportSection::new();
        exports.export("run", ExportKind::Func, 0);
        let mut module = Module::new();
        module.section(&exports);
        let wasm = module.finish();
        let with = exporting(&wasm, &BTreeSet::from([7])).expect("it is a program");
        assert!(with.len() > wasm.len());
        assert_eq!(without_shared_exports(&with).expect("it is a program"), wasm);
    }

    #[test]
    fn functions_that_are_never_called_are_empty() {
        let number = |value: i32| {
            let mut function = Function::new([]);
            function.instructions().i32_const(value).drop().end();
            function
        };
        let (mut types, mut imports, mut functions) =
            (TypeSection::new(), ImportSection::new(), FunctionSection::new());
        types.ty().function([], []);
        imports.import("page", "log", EntityType::Function(0));
        let (mut code, mut by_number, mut names) = (CodeSection::new(), NameMap::new(), NameSection::new());
        for (index, name) in [(1, "hydrate"), (2, "_ZN8into_any13hydrate_async28_$u7b$$u7b$closure$u7d$$u7d$17h00E")] {
            functions.function(0);
            code.function(&number(70_000 + index));
            by_number.append(index.unsigned_abs(), name);
        }
        names.functions(&by_number);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&code).section(&names);
        let without = without_unused(&module.finish()).expect("it is a program");
        let bodies = Parser::new(0).parse_all(&without).filter_map(|payload| match payload {
            Ok(Payload::CodeSectionEntry(body)) => Some(body.as_bytes().to_vec()),
            _ => None,
        });
        assert_eq!(bodies.collect::<Vec<_>>(), [number(70_001).into_raw_body(), vec![0, 0, 11]]);
    }
}
