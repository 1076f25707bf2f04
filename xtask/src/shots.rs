//! Screenshots of chosen moments: recordings held at fixed times, both themes, several widths.

use anyhow::Result;

use crate::size::Server;
use crate::{build, setup, sh};

/// What is shown: file name, recording, seconds, Deployment, size, theme and more of the query.
const MOMENTS: [(&str, &str, &str, &str, &str, &str); 9] = [
    ("rollover-dark", "rollover", "9.5", "web", "1440x900", "dark"),
    ("rollout-midway-light", "rolling-one-by-one", "9", "basic", "1440x900", "light"),
    ("stuck-dark", "failing-rollout-halts-then-undo", "8", "test", "1440x900", "dark"),
    ("out-of-rotation-light", "relabel-pod", "7", "nginx", "1440x900", "light"),
    ("killed-pod-dark", "kill-pod", "5.5", "nginx", "1440x900", "dark"),
    ("deadline-light", "deadline-exceeded", "24", "web", "1440x900", "light"),
    ("phone-light", "rollout", "14", "nginx", "390x844", "light"),
    ("moment-light", "rollover", "12", "web", "1440x900", "light&at=2026-11-21T04:53:12.600Z"),
    ("wall-dark", "rollover", "9.5", "web", "1920x1080", "dark"),
];

/// Takes them into a folder.
pub fn take(folder: &str) -> Result<()> {
    let rollcast = build::build()?;
    let chromium = setup::ensure_browser()?;
    let folder = sh::at(folder);
    std::fs::create_dir_all(&folder)?;
    for (name, recording, seconds, deployment, size, theme) in MOMENTS {
        let trace = sh::at("server/tests/traces").join(format!("{recording}.jsonl"));
        let server = Server::start(
            sh::command(&rollcast, &["replay", "--listen", "127.0.0.1:0", "--hold-at", seconds]).arg(trace),
        )?;
        let page = format!(
            "{}/clusters/{recording}/namespaces/{recording}/deployments/{deployment}?theme={theme}",
            server.address
        );
        let file = folder.join(format!("{name}.png"));
        let mut shoot = sh::command("node", &["measure/shoot.mjs", &page, &file.display().to_string(), size]);
        shoot.current_dir(sh::at("end2end"));
        if let Some(chromium) = &chromium {
            shoot.env("CHROMIUM", chromium);
        }
        if theme.contains("&at=") {
            shoot.arg("#gutter > :last-child a"); // with the current revision opened
        }
        sh::run(&mut shoot)?;
    }
    println!("{}", folder.display());
    Ok(())
}
