//! Screenshots of chosen moments: recordings held at fixed times, both themes, several widths; and a film of one of them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::page::Optimization;
use crate::server::Server;
use crate::setup::{self, Browser};
use crate::{build, process};

/// Where screenshots go if no other folder is named.
pub const FOLDER: &str = "target/shots";
/// A picture: file name, recording, seconds, Deployment, size, theme and more of the query.
const MOMENTS: [(&str, &str, &str, &str, &str, &str); 7] = [
    ("rollout-midway-light", "rolling-one-by-one", "9", "basic", "1440x900", "light"),
    ("stuck-dark", "failing-rollout-halts-then-undo", "8", "test", "1440x900", "dark"),
    ("out-of-rotation-light", "relabel-pod", "7", "nginx", "1440x900", "light"),
    ("killed-pod-dark", "kill-pod", "5.5", "nginx", "1440x900", "dark"),
    ("deadline-light", "deadline-exceeded", "24", "web", "1440x900", "light"),
    ("phone-light", "rollout", "14", "nginx", "390x844", "light"),
    ("moment-light", "rollover", "12", "web", "1440x900", "light&at=2026-11-21T04:53:12.600Z"),
];
/// Recordings for the list and the wall, held where most of them move.
const MANY: [&str; 7] =
    ["quota", "proportional-scaling", "rollover", "pause-midway", "kill-pod", "deleted-and-recreated", "rollout"];
const MANY_HELD_AT: &str = "14";
const SHEET: [&str; 4] = ["rollover", "failing-rollout-halts-then-undo", "quota", "image-missing"];
/// File name, size, and address of pages of all of these.
const OF_MANY: [(&str, &str, &str); 2] =
    [("list-light", "1440x900", "/?theme=light"), ("wall-dark", "1920x1080", "/wall?theme=dark")];

/// The film: recording, Deployment, window, and the scale at which it is drawn.
const FILM: (&str, &str, &str, &str) = ("rollover", "web", "1440x960", "0.75");
/// Its first and last moment and what is between two, in milliseconds: from revision 1 alone until revision 3 is complete.
const FILM_TIMES: [&str; 3] = ["1795236788750", "1795236801250", "250"];
/// No file of the repository has more bytes.
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

pub fn take(folder: &str) -> Result<()> {
    let (rollcast, browser, folder) = prepare(folder)?;
    let shoot = |name: &str, address: &str, size: &str, click: &str, says: &str| {
        let file = folder.join(format!("{name}.png"));
        process::run(browser.node("measure/shoot.mjs").arg(address).arg(file).args([size, click, says]))
    };
    for (name, recording, seconds, deployment, size, theme) in MOMENTS {
        let server = held(&rollcast, seconds, &[recording])?;
        let place = format!("clusters/{recording}/namespaces/{recording}/deployments/{deployment}");
        let click = if theme.contains("&at=") { "#gutter > :last-child a" } else { "" }; // with the current revision opened
        shoot(name, &format!("{}/{place}?theme={theme}", server.address), size, click, "")?;
    }
    let server = held(&rollcast, MANY_HELD_AT, &MANY)?;
    for (name, size, page) in OF_MANY {
        shoot(name, &format!("{}{page}", server.address), size, "", "")?;
    }
    // The playground's third story step, by its own clock; what it shows follows from the seed.
    let server = Server::playground(&rollcast, &std::env::temp_dir().join("rollcast.kubeconfig"), &[])?;
    let address = format!("{}/playground?theme=light", server.address);
    shoot("playground-light", &address, "1440x900", "#play-more > summary", "Revision 1 down 2 → 1")?;
    println!("{}", folder.display());
    Ok(())
}
