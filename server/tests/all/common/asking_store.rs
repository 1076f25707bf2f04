//! A store of history that asks the test before each call, which may wait or fail.

use std::path::Path;

use server::history::options::Limits;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, CommitResult, Store, StoreError, StoredCluster};
use timeline::Millis;

/// A call of the writer.
#[derive(Clone, Copy)]
pub enum Call<'c> {
    Commit(&'c [Commit]),
    Resume,
    Tidy,
}

struct AskingStore<F> {
    store: Sqlite,
    before: F,
}

/// Opens the store in a folder. A call that `before` refuses fails so.
pub fn open(
    folder: &Path,
    limits: Limits,
    before: impl FnMut(Call<'_>) -> Result<(), StoreError> + Send + 'static,
) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(AskingStore { store: Sqlite::open(folder, limits)?, before }))
}

impl<F: FnMut(Call<'_>) -> Result<(), StoreError> + Send> Store for AskingStore<F> {
    fn commit(&mut self, commits: &[Commit]) -> Result<CommitResult, StoreError> {
        (self.before)(Call::Commit(commits))?;
        self.store.commit(commits)
    }

    fn resume(&mut self, cluster: &str, use_checkpoint: bool) -> Result<Option<StoredCluster>, StoreError> {
        (self.before)(Call::Resume)?;
        self.store.resume(cluster, use_checkpoint)
    }

    fn last_response(&mut self, cluster: &str) -> Result<Option<Millis>, StoreError> {
        self.store.last_response(cluster)
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        (self.before)(Call::Tidy)?;
        self.store.tidy(now_millis)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        self.store.bytes()
    }
}
