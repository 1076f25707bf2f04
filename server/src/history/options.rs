//! Location and limits of the history.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use timeline::Millis;

use crate::database::address::DatabaseServer;

const DAY_MILLIS: Millis = 24 * 3_600_000;
/// Maximum age of data that is only limited by size.
pub const UNLIMITED_AGE: Millis = Millis::MAX / 4;

/// Limits of the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum age.
    pub age_millis: Millis,
    /// Maximum size.
    pub bytes: u64,
    /// Size up to which small batches are joined, in bytes.
    pub joined_bytes: u64,
    /// Maximum age of the log, from which a restart continues.
    pub log_millis: Millis,
    /// Largest part of the log that a restart without a usable checkpoint replays before anything is shown, in bytes: the newest part.
    pub replayed_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            age_millis: 30 * DAY_MILLIS,
            bytes: 2_000_000_000,
            joined_bytes: 64 << 10,
            log_millis: DAY_MILLIS,
            replayed_bytes: 16 << 20,
        }
    }
}

impl Limits {
    /// Returns limits, with defaults for absent values.
    pub fn new(age: Option<Duration>, size: Option<ByteSize>) -> Self {
        let default = Self::default();
        Self {
            age_millis: age.and_then(|age| i64::try_from(age.as_millis()).ok()).unwrap_or(default.age_millis),
            bytes: size.map_or(default.bytes, |size| size.as_u64()),
            ..default
        }
    }
}

/// Formats the limits: "for 30 d, at most 2 GB".
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.age_millis {
            UNLIMITED_AGE.. => f.write_str("without an age limit")?,
            age => write!(f, "for {}", timeline::words::duration(age))?,
        }
        write!(f, ", at most {}", ByteSize(self.bytes).display().si())
    }
}

/// Location of the history.
#[derive(Debug, Clone)]
pub enum Location {
    /// A folder, created if it is missing.
    Folder(PathBuf),
    /// A database of a PostgreSQL server.
    Postgres(DatabaseServer),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Postgres(server) => server.fmt(f),
        }
    }
}

/// Location and limits of the history.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder or database.
    pub location: Location,
    /// Maximum age and size.
    pub limits: Limits,
}

/// Formats location and limits: "in FOLDER for 30 d, at most 2 GB".
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {} {}", self.location, self.limits)
    }
}
