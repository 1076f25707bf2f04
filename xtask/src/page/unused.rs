//! Takes functions out of the page's program that nothing calls, and which the compiler has to keep because a table names them.
//!
//! Every boxed view of Leptos can be hydrated in two ways: at once, or waiting for parts of it. Ours are hydrated at once, because what
//! they need is loaded before (`app::parts::load_for`). A function that is taken out traps when it is called all the same, and
//! the page says that it stopped; the browser tests go through every page.
//!
//! The code keeps its length, and so everything that is said about places in it stays true, except of the functions themselves: what
//! they name is not named any more.

use std::ops::Range;

use anyhow::{Context, Result};
use wasm_encoder::{Encode, Module, RawSection};
use wasmparser::{KnownCustom, Parser, Payload, RelocAddendKind, RelocSectionReader, TypeRef};

/// The names of what waits while it hydrates.
pub const UNUSED: &str = "hydrate_async";
/// Where the code names something.
const RELOCATIONS: &str = "reloc.CODE";
const UNREACHABLE: u8 = 0x00;
const NOP: u8 = 0x01;
const END: u8 = 0x0b;

/// The same program, in which the functions that `is_unused` knows by their numbers only trap.
pub fn without(wasm: &[u8], is_unused: impl Fn(u32) -> bool) -> Result<Vec<u8>> {
    let (mut imported, mut number, mut start) = (0, 0, 0);
    let mut bodies: Vec<Range<usize>> = Vec::new();
    let mut bytes = wasm.to_vec();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionStart { range, .. } => start = range.start as usize,
            Payload::CodeSectionEntry(body) => {
                let range = body.range().start as usize..body.range().end as usize;
                if is_unused(imported + number) && range.len() > 3 {
                    let body = bytes.get_mut(range.clone()).context("a function beyond the end")?;
                    body.fill(NOP);
                    if let [locals, first, .., last] = body {
                        (*locals, *first, *last) = (0, UNREACHABLE, END);
                    }
                    bodies.push(range);
                }
                number += 1;
            }
            _ => {}
        }
    }
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let Some((id, range)) = payload.as_section() else { continue };
        let range = range.start as usize..range.end as usize;
        let named = match &payload {
            Payload::CustomSection(section) if section.name() == RELOCATIONS => match section.as_known() {
                KnownCustom::Reloc(reader) => Some(relocations(reader, start, &bodies)?),
                _ => None,
            },
            _ => None,
        };
        let data = match &named {
            Some(data) => data,
            None => bytes.get(range).context("a section beyond the end")?,
        };
        module.section(&RawSection { id, data });
    }
    Ok(module.finish())
}

/// Where the code names something, without those functions. Places are counted from the start of the code.
fn relocations(reader: RelocSectionReader<'_>, start: usize, without: &[Range<usize>]) -> Result<Vec<u8>> {
    let section = reader.section_index();
    let mut kept = Vec::new();
    let mut count: u32 = 0;
    for entry in reader.entries() {
        let entry = entry?;
        let at = start + entry.offset as usize;
        let next = without.partition_point(|body| body.end <= at);
        if without.get(next).is_some_and(|body| body.contains(&at)) {
            continue;
        }
        count += 1;
        kept.push(entry.ty as u8);
        entry.offset.encode(&mut kept);
        entry.index.encode(&mut kept);
        if entry.ty.addend_kind() != RelocAddendKind::None {
            entry.addend.encode(&mut kept);
        }
    }
    let mut data = Vec::new();
    RELOCATIONS.encode(&mut data);
    section.encode(&mut data);
    count.encode(&mut data);
    data.extend(kept);
    Ok(data)
}
