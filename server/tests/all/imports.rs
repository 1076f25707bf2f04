//! Reads the imports of a crate and answers which file depends on which. Nothing is compiled: the sources are split into
//! tokens, so macros are read too.
//!
//! An arrow goes from a file to the file that defines the name which it uses. Re-exports are followed: `crate::view::Tone`
//! is an arrow to `assess/standing.rs` if `view` only hands `Tone` on. So a `mod.rs` that declares and re-exports is in no
//! circle with its files. A re-export is an arrow of its own file only where that file uses the name itself.
//!
//! Not seen: calls of methods (an `impl` of a type may be in any file), names that macros make, and code under
//! `#[cfg(test)]`, which is skipped on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Files of a crate, relative to its `src`, and the files that each depends on.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

struct Import {
    /// The name in this file; `*` for all.
    name: String,
    path: Vec<String>,
    is_public: bool,
}

/// One file as a module.
#[derive(Default)]
struct Module {
    file: String,
    path: Vec<String>,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths of two or more names outside of imports.
    paths: BTreeSet<Vec<String>>,
    /// Names outside of imports.
    names: BTreeSet<String>,
}

/// What a path leads to.
enum Target {
    File(String),
    Module(String),
}

/// The text of each Rust file below a folder, by its path there.
pub fn sources(folder: &Path) -> BTreeMap<String, String> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The modules of a crate by their path.
pub struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

impl Crate {
    /// Reads all files below `folder`.
    pub fn read(folder: &Path) -> Self {
        Self::parse(&sources(folder))
    }

    /// Reads the text of each file, from `lib.rs` or `main.rs` on: a file that no other declares is no part of the crate.
    pub fn parse(files: &BTreeMap<String, String>) -> Self {
        let root = if files.contains_key("lib.rs") { "lib.rs" } else { "main.rs" };
        let mut modules = BTreeMap::new();
        let mut waiting = vec![(root.to_owned(), Vec::new())];
        while let Some((file, path)) = waiting.pop() {
            let module = read_module(&file, path.clone(), &tokens(files.get(&file).map_or("", String::as_str)));
            let folder = if path.is_empty() { String::new() } else { path.join("/") + "/" };
            for child in &module.children {
                let names = [format!("{folder}{child}.rs"), format!("{folder}{child}/mod.rs")];
                let path: Vec<String> = path.iter().chain([child]).cloned().collect();
                waiting.extend(names.into_iter().find(|name| files.contains_key(name)).map(|file| (file, path)));
            }
            modules.insert(path, module);
        }
        Self { modules }
    }

    /// Which file depends on which.
    pub fn arrows(&self) -> Arrows {
        self.modules.values().map(|module| (module.file.clone(), self.targets(module))).collect()
    }

    fn targets(&self, module: &Module) -> BTreeSet<String> {
        let is_used = |import: &&Import| !import.is_public || import.name == "_" || module.names.contains(&import.name);
        let imports = module.imports.iter().filter(is_used).filter_map(|import| {
            let target = self.resolve(&self.absolute(module, &import.path)?, 0)?;
            match target {
                Target::File(file) => Some(file),
                // All of a module is imported; a module alone is a way to its names, which are seen as paths.
                Target::Module(file) => (import.name == "*").then_some(file),
            }
        });
        let paths = module.paths.iter().filter_map(|path| match self.resolve(&self.located(module, path)?, 0)? {
            Target::File(file) => Some(file),
            Target::Module(_) => None,
        });
        imports.chain(paths).filter(|file| *file != module.file).collect()
    }

    /// A path in code from the root of the crate: its first name may be imported.
    fn located(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        self.absolute(module, path).or_else(|| {
            let (first, rest) = path.split_first()?;
            let import = module.imports.iter().find(|import| import.name == *first)?;
            Some(self.absolute(module, &import.path)?.into_iter().chain(rest.iter().cloned()).collect())
        })
    }

    /// A path from the root of the crate; `None` for one of another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, mut rest) = path.split_first()?;
        let mut base = module.path.clone();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop()?;
                while let Some(("super", further)) = rest.split_first().map(|(name, rest)| (name.as_str(), rest)) {
                    base.pop()?;
                    rest = further;
                }
            }
            child if module.children.contains(child) => base.push(child.to_owned()),
            _ => return None,
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// Where a path from the root of the crate leads; `None` out of the crate, or to nowhere.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Target> {
        let mut at = self.modules.get([].as_slice())?;
        for (index, name) in path.iter().enumerate() {
            let (is_last, rest) = (index + 1 == path.len(), &path[index + 1..]);
            let child = at.children.contains(name).then(|| [at.path.as_slice(), std::slice::from_ref(name)].concat());
            let child = child.and_then(|path| self.modules.get(&path));
            if let Some(child) = child.filter(|_| !is_last) {
                at = child;
                continue;
            }
            if at.items.contains(name) {
                return Some(Target::File(at.file.clone()));
            }
            let behind = |import: &Import, rest: &[String]| {
                let path = self.absolute(at, &import.path)?.into_iter().chain(rest.iter().cloned()).collect::<Vec<_>>();
                // A name that is imported from itself leads nowhere.
                (depth < 16).then(|| self.resolve(&path, depth + 1))?
            };
            let mut named = at.imports.iter().filter(|import| import.name == *name);
            if let Some(target) = named.find_map(|import| behind(import, rest)) {
                return Some(target);
            }
            if let Some(child) = child {
                return Some(Target::Module(child.file.clone()));
            }
            let mut all = at.imports.iter().filter(|import| import.name == "*" && import.is_public);
            return all.find_map(|import| behind(import, &path[index..]));
        }
        Some(Target::Module(at.file.clone()))
    }
}

/// The folder at the top in which a file is, or the file itself without its ending.
pub fn folder(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The arrows between the files of one folder, by their path there.
pub fn below(arrows: &Arrows, folder: &str) -> Arrows {
    let inside = |file: &String| file.strip_prefix(folder).map(str::to_owned);
    arrows.iter().filter_map(|(from, to)| Some((inside(from)?, to.iter().filter_map(inside).collect()))).collect()
}

/// Folders at the top and the files beside them, and which others each depends on.
pub fn between_folders(arrows: &Arrows) -> Arrows {
    let mut folders = Arrows::new();
    for (from, to) in arrows {
        let others = to.iter().map(|to| folder(to).to_owned()).filter(|to| to != folder(from));
        folders.entry(folder(from).to_owned()).or_default().extend(others);
    }
    folders
}

/// The groups of files that depend on each other in a circle, of at least two files each.
pub fn circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|from| (from, reach(arrows, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, reached) in &reachable {
        let circle: BTreeSet<String> = reached
            .iter()
            .filter(|to| reachable.get(*to).is_some_and(|back| back.contains(from)))
            .map(|to| (*to).clone())
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reach<'a>(arrows: &'a Arrows, from: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&String> = arrows.get(from).into_iter().flatten().collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(arrows.get(next).into_iter().flatten());
        }
    }
    reached
}

fn read_module(file: &str, path: Vec<String>, tokens: &[String]) -> Module {
    let mut module = Module { file: file.to_owned(), path, ..Module::default() };
    let (mut at, mut depth) = (0, 0usize);
    let is_name =
        |token: Option<&String>| token.is_some_and(|token| token.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1);
        match token.as_str() {
            "#" if tokens.get(at..).is_some_and(is_test) => {
                at = end_of_item(tokens, at);
                continue;
            }
            "use" => {
                let end = at + tokens.get(at..).into_iter().flatten().position(|token| token == ";").unwrap_or(0);
                let is_public = is_public(tokens.get(..at).unwrap_or_default());
                read_import(tokens.get(at + 1..end).unwrap_or_default(), &[], is_public, &mut module.imports);
                at = end + 1;
                continue;
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token == ";") => {
                module.children.extend(next.cloned());
                at += 3;
                continue;
            }
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "fn" | "mod" if depth == 0 => {
                module.items.extend(next.filter(|next| *next != "fn").cloned());
            }
            "macro_rules" => module.items.extend(tokens.get(at + 2).cloned()),
            _ if is_name(Some(token)) => {
                module.names.insert(token.clone());
                let is_start = at == 0 || !matches!(tokens[at - 1].as_str(), "::" | "." | "in");
                let mut path = vec![token.clone()];
                while tokens.get(at + 1).is_some_and(|token| token == "::") && is_name(tokens.get(at + 2)) {
                    path.push(tokens[at + 2].clone());
                    module.names.insert(tokens[at + 2].clone());
                    at += 2;
                }
                if is_start && path.len() > 1 {
                    module.paths.insert(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
    module
}

/// Tokens before an import end with `pub` or `pub(…)`.
fn is_public(before: &[String]) -> bool {
    let before = before.iter().rev().map(String::as_str);
    let open = before.clone().position(|token| token == "(").filter(|_| before.clone().next() == Some(")"));
    before.clone().nth(open.map_or(0, |open| open + 1)) == Some("pub")
}

/// Reads the tree of one import.
fn read_import(tokens: &[String], before: &[String], is_public: bool, imports: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "::" => {}
            "{" => {
                let (mut depth, mut from) = (0, at + 1);
                for (index, token) in tokens.iter().enumerate().skip(at) {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    if depth == 0 || (depth == 1 && token == ",") {
                        read_import(&tokens[from..index], &path, is_public, imports);
                        from = index + 1;
                    }
                }
                return;
            }
            "as" => break,
            "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    let alias = tokens.get(at).and_then(|_| tokens.get(at + 1)).or(path.last());
    if let Some(name) =
        alias.cloned().filter(|_| path.len() > before.len() || tokens.first().is_some_and(|t| t == "self"))
    {
        if name == "*" {
            path.pop();
        }
        imports.push(Import { name, path, is_public });
    }
}

/// The attribute `#[cfg(test)]`.
fn is_test(tokens: &[String]) -> bool {
    tokens.iter().take(7).map(String::as_str).eq(["#", "[", "cfg", "(", "test", ")", "]"])
}

/// The token after the item that begins with the attribute at `from`.
fn end_of_item(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(token.as_str(), ";" | "}") {
            return index + 1;
        }
    }
    tokens.len()
}

/// Names, `::`, brackets and single signs; comments, literals and lifetimes are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    push_tokens(text.parse().unwrap(), &mut tokens);
    tokens
}

fn push_tokens(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut trees = stream.into_iter().peekable();
    let is_colon = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ':');
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace | Delimiter::None => ("{", "}"),
                };
                tokens.push(open.to_owned());
                push_tokens(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(name) => tokens.push(name.to_string()),
            TokenTree::Punct(sign) if sign.as_char() == '\'' => drop(trees.next()), // the name of a lifetime
            TokenTree::Punct(sign) => {
                let is_path = sign.as_char() == ':' && sign.spacing() == Spacing::Joint;
                let second = trees.next_if(|next| is_path && is_colon(next));
                tokens.push(if second.is_some() { "::".to_owned() } else { sign.to_string() });
            }
            TokenTree::Literal(_) => {}
        }
    }
}
