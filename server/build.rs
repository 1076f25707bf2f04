//! Tells the program which timeline it has: a checkpoint is read by the timeline that made it and by no other.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    find(Path::new("../timeline/src"), &mut files)?;
    files.push("../timeline/Cargo.toml".into());
    files.sort();
    let mut hasher = DefaultHasher::new(); // of fixed keys: the same files give the same number
    for file in files {
        fs::read(&file)?.hash(&mut hasher);
    }
    println!("cargo::rerun-if-changed=../timeline");
    println!("cargo::rustc-env=ROLLCAST_TIMELINE={:016x}", hasher.finish());
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
