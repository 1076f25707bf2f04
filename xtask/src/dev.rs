//! `cargo xtask dev`: builds page and server quickly, again after every change, and restarts the program.
//!
//! Components run on both sides, so both are built: the browser's program without optimising its size, the server as in every development
//! build. A page that is open loads itself again when its server has another build.

use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use crate::page::Optimization;
use crate::{build, process};

const SOURCES: [&str; 5] = ["app/src", "timeline/src", "server/src", "style", "public"];
const LOOK: Duration = Duration::from_millis(300);

/// Runs until it is interrupted.
pub fn run(arguments: &[String]) -> Result<()> {
    let mut running: Option<Child> = None;
    let mut seen = None;
    loop {
        let changed = latest();
        if seen != changed {
            seen = changed;
            let began = Instant::now();
            match build::build(Optimization::None) {
                Ok(program) => {
                    stop(running.take());
                    running = Some(build::playground_command(&program, arguments).spawn()?);
                    process::print_note(&format!("built in {:.0} s", began.elapsed().as_secs_f64()));
                }
                Err(error) => process::print_note(&format!("not built: {error:#}")),
            }
        }
        std::thread::sleep(LOOK);
    }
}

fn stop(running: Option<Child>) {
    if let Some(mut running) = running {
        let _ = running.kill(); // it may have ended by itself
        let _ = running.wait();
    }
}

/// Returns the time of the last change.
fn latest() -> Option<SystemTime> {
    let files = SOURCES.iter().filter_map(|folder| process::files_below(&process::workspace_path(folder)).ok());
    files.flatten().filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}
