//! Who looked at what, as JSON lines in a file of its own: addresses without what was searched for, and nothing of what was shown.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use serde_json::json;

use crate::telemetry::clock;

/// Lines that wait to be written; what is more is counted and lost.
const QUEUE: usize = 4_096;
/// Longest address that is written, in characters.
const LONGEST: usize = 512;

/// Writes down who looked at what.
#[derive(Debug)]
pub struct Audit {
    lines: SyncSender<String>,
    /// Lines that were lost.
    pub lost: Arc<AtomicU64>,
}

/// Opens a file to write to its end; one that is not there is made for nobody else to read.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Audit {
    /// Into that file, after what is there.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        drop(open(path)?); // what cannot be written is said at once
        let (lines, inbox) = sync_channel::<String>(QUEUE);
        let (path, lost) = (path.to_owned(), Arc::<AtomicU64>::default());
        let counted = lost.clone();
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            while let Ok(first) = inbox.recv() {
                let all: Vec<String> = std::iter::once(first).chain(inbox.try_iter().take(QUEUE)).collect();
                let text: String = all.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
                // Opened each time: the file may have been moved away, and a new one begins.
                if let Err(why) = open(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
                    tracing::error!("cannot write the audit log: {why}");
                    counted.fetch_add(all.len() as u64, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { lines, lost })
    }

    /// Somebody did something and got that answer.
    pub fn note(&self, who: &str, from: Option<IpAddr>, did: &str, at: &str, status: u16) {
        let at: String = at.chars().take(LONGEST).collect();
        let millis = clock::now_millis();
        let line = json!({ "atMillis": millis, "who": who, "from": from, "did": did, "at": at, "status": status });
        if self.lines.try_send(line.to_string()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
