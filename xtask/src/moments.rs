//! Pictures of the book: one recorded moment for each page of `docs/picture`. `end2end/measure/moments.toml` lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::server::Server;
use crate::{process, shots};

const LIST: &str = "end2end/measure/moments.toml";
/// Folder of the book's pages about the picture, and of their pictures.
pub const FOLDER: &str = "docs/picture";
const RECORDINGS: &str = "server/tests";
const WIDTH: u32 = 1120;
const HEIGHT: u32 = 660;
/// Most bytes of a picture of the book.
const LIMIT_BYTES: u64 = 60_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moment {
    /// Page and picture, without the folder and the ending.
    name: String,
    /// File below `server/tests`, without its ending.
    recording: String,
    /// The file's name, if it is left out.
    namespace: Option<String>,
    deployment: String,
    /// Time since the start of the recording.
    seconds: f64,
    /// Height of the window, for pictures of many revisions.
    height: Option<u32>,
}

impl Moment {
    fn file(&self) -> PathBuf {
        process::workspace_path(RECORDINGS).join(format!("{}.jsonl", self.recording))
    }

    /// Returns the address of its page below that of the server. A recording is a cluster named after its file.
    fn address(&self) -> String {
        let cluster = Path::new(&self.recording).file_name().unwrap_or_default().to_string_lossy();
        let namespace = self.namespace.as_deref().unwrap_or(&cluster);
        format!("/clusters/{cluster}/namespaces/{namespace}/deployments/{}?theme=light&zone=utc", self.deployment)
    }
}

pub fn take(folder: &str) -> Result<()> {
    let (rollcast, browser, folder) = shots::prepare(folder)?;
    for moment in read()? {
        let seconds = moment.seconds.to_string();
        let server = Server::replaying(&rollcast, &seconds, [moment.file()])?;
        let mut take = browser.node("measure/moment.mjs");
        take.arg(format!("{}{}", server.address, moment.address()))
            .arg(folder.join(format!("{}.webp", moment.name)))
            .arg(format!("{WIDTH}x{}", moment.height.unwrap_or(HEIGHT)))
            .arg(LIMIT_BYTES.to_string());
        process::run(&mut take)?;
    }
    Ok(())
}

fn read() -> Result<Vec<Moment>> {
    let text = std::fs::read_to_string(process::workspace_path(LIST)).context(LIST)?;
    let mut file: BTreeMap<String, Vec<Moment>> = toml::from_str(&text).context(LIST)?;
    file.remove("moment").with_context(|| format!("{LIST} has no [[moment]]"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_page_about_the_picture_shows_the_moment_of_its_name() {
        let moments = read().unwrap();
        for moment in &moments {
            let name = &moment.name;
            assert!(moment.file().exists(), "{name}: there is no recording {}", moment.recording);
            let picture = process::workspace_path(FOLDER).join(format!("{name}.webp"));
            let bytes = picture.metadata().map(|data| data.len());
            assert!(bytes.is_ok_and(|bytes| bytes <= LIMIT_BYTES), "{name}: no picture, or one that is too large");
            let page = std::fs::read_to_string(picture.with_extension("md")).unwrap();
            assert!(page.contains(&format!("]({name}.webp)")), "{name}: the page does not show its picture");
        }
        let files = process::workspace_path(FOLDER).read_dir().unwrap().map(|entry| entry.unwrap().path());
        let found: BTreeSet<String> =
            files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(found, moments.into_iter().map(|moment| moment.name).collect());
    }
}
