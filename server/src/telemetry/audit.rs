//! The audit log: JSON lines about each request in a file of its own, without search terms and responses.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch as signal;
use tokio::time::timeout;

use crate::telemetry::{clock, print};

/// Lines that wait to be written; more are dropped and counted.
const QUEUE: usize = 4_096;
/// Most characters of an address.
const LONGEST: usize = 512;
/// Longest wait for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The audit log.
#[derive(Debug)]
pub struct Audit {
    lines: SyncSender<String>,
    /// Number of lines that wait to be written.
    waiting: signal::Sender<usize>,
    /// Number of dropped lines.
    pub lost: Arc<AtomicU64>,
}

/// Opens a file to append to it, or creates it for its owner alone.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Audit {
    /// Opens the log in a file, whose content stays.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        drop(open(path)?); // an error stops the start
        let (lines, inbox) = sync_channel::<String>(QUEUE);
        let (path, lost) = (path.to_owned(), Arc::<AtomicU64>::default());
        let waiting = signal::Sender::new(0);
        let (counted, written) = (lost.clone(), waiting.clone());
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            while let Ok(first) = inbox.recv() {
                let all: Vec<String> = std::iter::once(first).chain(inbox.try_iter().take(QUEUE)).collect();
                let text: String = all.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
                // Opened each time: the file may have been moved away, and a new one begins.
                if let Err(why) = open(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
                    tracing::error!("cannot write the audit log: {why}");
                    counted.fetch_add(all.len() as u64, Ordering::Relaxed);
                }
                written.send_modify(|count| *count -= all.len());
            }
        })?;
        Ok(Self { lines, waiting, lost })
    }

    /// Appends a request and the status of its response. Escapes the address: operators print the file in a terminal,
    /// or read it as the log of a pod.
    pub fn record(&self, who: &str, from: Option<IpAddr>, did: &str, at: &str, status: u16) {
        let at: String = at.chars().take(LONGEST).collect();
        let millis = clock::now_millis();
        let line = json!({ "atMillis": millis, "who": who, "from": from, "did": did, "at": at, "status": status });
        // Counted first: the thread may write the line at once.
        self.waiting.send_modify(|count| *count += 1);
        if self.lines.try_send(print::escape_hidden(&line.to_string())).is_err() {
            self.waiting.send_modify(|count| *count -= 1);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until no line waits to be written: the program ends.
    pub async fn flush(&self) {
        let mut waiting = self.waiting.subscribe();
        if timeout(FLUSH_TIMEOUT, waiting.wait_for(|count| *count == 0)).await.is_err() {
            tracing::warn!("cannot write the last lines of the audit log within {FLUSH_TIMEOUT:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_with_hidden_characters_is_written_down_as_a_line_without_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let audit = Audit::open(file.path()).unwrap();
        let at = "/\u{9b}2J\u{85}\u{202e}gnp.exe\u{e0041}\n\"ä";
        audit.record("ann", None, "GET", at, 404);
        audit.flush().await;
        let text = std::fs::read_to_string(file.path()).unwrap();
        let line = r#""at":"/\u009b2J\u0085\u202egnp.exe\udb40\udc41\n\"ä""#;
        assert!(text.contains(line), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["at"], at);
    }

    #[tokio::test]
    async fn the_last_lines_are_written_before_the_program_ends() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let audit = Audit::open(file.path()).unwrap();
        for number in 0..1_000 {
            audit.record("ann", None, "GET", &format!("/{number}"), 200);
        }
        audit.flush().await;
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!((text.lines().count(), audit.lost.load(Ordering::Relaxed)), (1_000, 0));
    }
}
