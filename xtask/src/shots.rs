//! Screenshots of chosen moments: recordings held at fixed times, both themes, several widths.

use anyhow::Result;

use crate::size::Server;
use crate::{build, setup, sh};

/// What is shown: file name, recording, seconds, Deployment, size, theme and more of the query.
const MOMENTS: [(&str, &str, &str, &str, &str, &str); 8] = [
    ("rollover-dark", "rollover", "9.5", "web", "1440x900", "dark"),
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
/// File name, size, and address of pages of all of these.
const OF_MANY: [(&str, &str, &str); 2] =
    [("list-light", "1440x900", "/?theme=light"), ("wall-dark", "1920x1080", "/wall?theme=dark")];

/// Takes them into a folder.
pub fn take(folder: &str) -> Result<()> {
    let rollcast = build::build()?;
    let browser = setup::ensure_browser()?;
    let folder = sh::at(folder);
    std::fs::create_dir_all(&folder)?;
    let traces = sh::at("server/tests/traces");
    let held = |seconds: &str, names: &[&str]| {
        let mut replay = sh::command(&rollcast, &["replay", "--listen", "127.0.0.1:0", "--hold-at", seconds]);
        replay.args(names.iter().map(|name| traces.join(format!("{name}.jsonl"))));
        Server::start(&mut replay)
    };
    let shoot = |name: &str, address: &str, size: &str, click: &str, says: &str| {
        let file = folder.join(format!("{name}.png"));
        let mut shoot = sh::command("node", &["measure/shoot.mjs", address, &file.display().to_string(), size]);
        shoot.current_dir(sh::at("end2end")).args([click, says]);
        browser.configure(&mut shoot);
        sh::run(&mut shoot)
    };
    for (name, recording, seconds, deployment, size, theme) in MOMENTS {
        let server = held(seconds, &[recording])?;
        let place = format!("clusters/{recording}/namespaces/{recording}/deployments/{deployment}");
        let click = if theme.contains("&at=") { "#gutter > :last-child a" } else { "" }; // with the current revision opened
        shoot(name, &format!("{}/{place}?theme={theme}", server.address), size, click, "")?;
    }
    let server = held(MANY_HELD_AT, &MANY)?;
    for (name, size, page) in OF_MANY {
        shoot(name, &format!("{}{page}", server.address), size, "", "")?;
    }
    // The playground's third story step, by its own clock; what it shows follows from the seed.
    let mut demo = sh::command(&rollcast, &["demo", "--listen", "127.0.0.1:0", "--write-kubeconfig"]);
    let server = Server::start(demo.arg(std::env::temp_dir().join("rollcast.kubeconfig")))?;
    let address = format!("{}/playground?theme=light", server.address);
    shoot("playground-light", &address, "1440x900", "#play-more > summary", "Revision 1 down 2 → 1")?;
    println!("{}", folder.display());
    Ok(())
}
