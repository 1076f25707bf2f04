//! Links in a file of one Rollcast, or in its memory alone: then they end with the program.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ShareError;
use super::link::Share;
use super::store::{LinkChanges, LinkStore, LinkStoreError};
use crate::database::private;

/// Version of the format of the file.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct FileContent {
    version: u32,
    shares: Vec<Share>,
}

pub(super) struct FileLinkStore {
    path: Option<PathBuf>,
    all: BTreeMap<String, Share>,
}

impl FileLinkStore {
    /// Reads the file, if there is one; it is created with the first link.
    pub(super) fn open(path: Option<PathBuf>) -> Result<Self, ShareError> {
        let unreadable = |why: String| ShareError::Unreadable(path.clone().unwrap_or_default(), why);
        let shares = match path.as_ref().map(std::fs::read_to_string) {
            Some(Ok(text)) => {
                let written: FileContent = serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))?;
                if written.version != VERSION {
                    return Err(unreadable(format!("unknown version {}", written.version)));
                }
                written.shares
            }
            Some(Err(why)) if why.kind() != io::ErrorKind::NotFound => return Err(LinkStoreError::from(why).into()),
            _ => Vec::new(),
        };
        let all = shares.into_iter().map(|share| (share.id.clone(), share)).collect();
        Ok(Self { path, all })
    }

    /// Replaces the file by one with all links.
    fn save(&self) -> Result<(), LinkStoreError> {
        let Some(path) = &self.path else { return Ok(()) };
        let written = FileContent { version: VERSION, shares: self.all.values().cloned().collect() };
        let beside = path.with_extension("new");
        // A temporary file was left by a crash, or planted: it may be a symbolic link, or readable by others.
        if let Err(why) = std::fs::remove_file(&beside)
            && why.kind() != io::ErrorKind::NotFound
        {
            return Err(why.into());
        }
        let mut out = private::create_new(&beside)?;
        out.write_all(&serde_json::to_vec(&written).map_err(io::Error::from)?)?;
        out.sync_all()?;
        Ok(std::fs::rename(&beside, path)?)
    }
}

impl LinkStore for FileLinkStore {
    fn changes(&mut self) -> Result<LinkChanges, LinkStoreError> {
        Ok(LinkChanges { are_all: true, made: self.all.values().cloned().collect(), gone: Vec::new() })
    }

    fn add(&mut self, link: &Share, has_room: &mut dyn FnMut(LinkChanges) -> bool) -> Result<bool, LinkStoreError> {
        if !has_room(LinkChanges::default()) {
            return Ok(false);
        }
        self.all.retain(|_, known| known.until_millis > link.made_millis);
        self.all.insert(link.id.clone(), link.clone());
        let saved = self.save();
        if saved.is_err() {
            self.all.remove(&link.id);
        }
        saved.map(|()| true)
    }

    fn prolong(&mut self, link: &Share) -> Result<(), LinkStoreError> {
        if let Some(known) = self.all.get_mut(&link.id) {
            *known = link.clone();
            self.save()?;
        }
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), LinkStoreError> {
        // If this write fails, the next change writes it.
        self.all.remove(id);
        self.save()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_that_lies_beside_the_links_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("links.json"), folder.path().join("other"));
        std::fs::write(&other, "kept").unwrap();
        symlink(&other, path.with_extension("new")).unwrap();
        let links = FileLinkStore::open(Some(path.clone())).unwrap();
        links.save().unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
        std::fs::write(path.with_extension("new"), "left by a crash").unwrap();
        links.save().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(FileLinkStore::open(Some(path)).is_ok());
    }
}
