//! Screenshots and the film of the README: recordings held at fixed times. Sheets of all pages.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::page::Optimization;
use crate::server::Server;
use crate::setup::{self, Browser};
use crate::{build, process};

/// Folder of screenshots, if no other one is named.
pub const FOLDER: &str = "target/shots";
/// A picture: file name, recording, seconds, Deployment, query, and the selector of a link that is clicked first.
const MOMENTS: [(&str, &str, &str, &str, &str, &str); 2] = [
    ("out-of-rotation-light", "relabel-pod", "7", "nginx", "theme=light", ""),
    // With the current revision opened.
    ("moment-light", "rollover", "12", "web", "theme=light&at=2026-11-21T04:53:12.600Z", "#gutter > :last-child a"),
];
/// Recordings for the wall, held where most of them move.
const MANY: [&str; 7] =
    ["quota", "proportional-scaling", "rollover", "pause-midway", "kill-pod", "deleted-and-recreated", "rollout"];
const MANY_HELD_AT: &str = "14";
const SHEET: [&str; 4] = ["rollover", "failing-rollout-halts-then-undo", "quota", "image-missing"];

/// The film: recording, Deployment, window, and the scale at which it is drawn.
const FILM: (&str, &str, &str, &str) = ("rollover", "web", "1440x960", "0.75");
/// Its first and last moment and what is between two, in milliseconds: from revision 1 alone until revision 3 is complete.
const FILM_TIMES: [&str; 3] = ["1795236788750", "1795236801250", "250"];
/// Most bytes of a file of the repository.
const FILM_LIMIT: &str = "1000000";

/// Builds the program, finds a browser and makes the folder for pictures.
pub fn prepare(folder: &str) -> Result<(PathBuf, Browser, PathBuf)> {
    let prepared = (build::build(Optimization::Full)?, setup::ensure_browser()?, process::workspace_path(folder));
    std::fs::create_dir_all(&prepared.2)?;
    Ok(prepared)
}

/// Plays recordings until so many seconds after their begin.
fn held(rollcast: &Path, seconds: &str, names: &[&str]) -> Result<Server> {
    let traces = process::workspace_path("server/tests/traces");
    Server::replaying(rollcast, seconds, names.iter().map(|name| traces.join(format!("{name}.jsonl"))))
}

/// Makes the film into a folder.
pub fn film(folder: &str) -> Result<()> {
    let (rollcast, browser, folder) = prepare(folder)?;
    let (recording, deployment, size, scale) = FILM;
    // Held after the last moment of the film, so that the slider comes near its end.
    let server = held(&rollcast, "16", &[recording])?;
    let address =
        format!("{}/clusters/{recording}/namespaces/{recording}/deployments/{deployment}?theme=dark", server.address);
    let file = folder.join(format!("{recording}.webp"));
    let mut film = browser.node("measure/film.mjs");
    film.arg(address).arg(&file).args([size, scale]).args(FILM_TIMES).arg(FILM_LIMIT);
    process::run(&mut film)?;
    println!("{}", file.display());
    Ok(())
}

/// Makes the sheets into a folder: all pages of the playground and some of recordings.
pub fn sheet(folder: &str) -> Result<()> {
    let (rollcast, browser, folder) = prepare(folder)?;
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    let stored = format!("--data-dir={}", data.display());
    let playground = Server::playground(&rollcast, &data.join("kubeconfig"), &[&stored])?;
    let recordings = held(&rollcast, MANY_HELD_AT, &SHEET)?;
    let mut sheet = browser.node("measure/sheet.mjs");
    process::run(sheet.args([&playground.address, &recordings.address]).arg(&folder))
}

/// Takes the screenshots of the README into a folder.
pub fn take(folder: &str) -> Result<()> {
    let (rollcast, browser, folder) = prepare(folder)?;
    let shoot = |name: &str, address: &str, size: &str, click: &str, says: &str| {
        let file = folder.join(format!("{name}.png"));
        process::run(browser.node("measure/shoot.mjs").arg(address).arg(file).args([size, click, says]))
    };
    for (name, recording, seconds, deployment, query, click) in MOMENTS {
        let server = held(&rollcast, seconds, &[recording])?;
        let place = format!("clusters/{recording}/namespaces/{recording}/deployments/{deployment}");
        shoot(name, &format!("{}/{place}?{query}", server.address), "1440x900", click, "")?;
    }
    let server = held(&rollcast, MANY_HELD_AT, &MANY)?;
    shoot("wall-dark", &format!("{}/wall?theme=dark", server.address), "1920x1080", "", "")?;
    // The playground's third story step, by its own clock; what it shows follows from the seed.
    let server = Server::playground(&rollcast, &std::env::temp_dir().join("rollcast.kubeconfig"), &[])?;
    let address = format!("{}/playground?theme=light", server.address);
    shoot("playground-light", &address, "1440x900", "#play-more > summary", "Revision 1 down 2 → 1")?;
    println!("{}", folder.display());
    Ok(())
}
