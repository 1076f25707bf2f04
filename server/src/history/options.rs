//! Where history is kept, and how much of it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use timeline::Millis;

use crate::database::server::Server;

/// Kept this long by default.
pub const AGE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Takes at most this much by default, in bytes.
pub const BYTES: u64 = 2_000_000_000;

/// A start resumes from what was observed in this time.
pub const LOG: Duration = Duration::from_secs(24 * 3_600);

/// Kept as long as there is room for it.
pub const WHATEVER_ITS_AGE: Millis = Millis::MAX / 4;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// What is older goes.
    pub age_millis: Millis,
    /// What is oldest goes when there is more than this.
    pub bytes: u64,
    /// Small batches are joined until they are this large, in bytes.
    pub joined_bytes: u64,
    /// The log, from which a start resumes, has lines no older than this.
    pub log_millis: Millis,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            age_millis: AGE.as_millis() as Millis,
            bytes: BYTES,
            joined_bytes: 64 << 10,
            log_millis: LOG.as_millis() as Millis,
        }
    }
}

impl Limits {
    /// Of recordings: what they tell of is as old as they are, and goes for its size alone.
    #[must_use]
    pub fn of_recordings() -> Self {
        Self { age_millis: WHATEVER_ITS_AGE, ..Self::default() }
    }

    /// What is said, and what is usual where nothing is.
    #[must_use]
    pub fn of(age: Option<Duration>, size: Option<ByteSize>) -> Self {
        let usual = Self::default();
        Self {
            age_millis: age.and_then(|age| i64::try_from(age.as_millis()).ok()).unwrap_or(usual.age_millis),
            bytes: size.map_or(usual.bytes, |size| size.as_u64()),
            ..usual
        }
    }
}

/// Where it is kept.
#[derive(Debug, Clone)]
pub enum Location {
    /// In a folder; made when it is not there.
    Folder(PathBuf),
    /// In a database of a PostgreSQL server.
    Postgres(Server),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Postgres(server) => server.fmt(f),
        }
    }
}

/// Where it is kept, and how much of it.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file or database that holds it.
    pub location: Location,
    /// How long and how many bytes of it are kept.
    pub limits: Limits,
}

/// The folder of this platform for what programs keep. `None` where there is none, as for users without a home.
#[must_use]
pub fn usual_folder() -> Option<PathBuf> {
    dirs::state_dir().or_else(dirs::data_local_dir).map(|folder| folder.join("rollcast"))
}
