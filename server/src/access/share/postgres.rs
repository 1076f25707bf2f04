//! Links in a PostgreSQL database, for several Rollcasts that share them.
//!
//! Each change takes the next number of `links_edition`, one server after the other; servers read the rows with a later
//! number than the last one they know. Rows are encrypted with the session keys: reading the table reveals no link, and
//! writing to it makes none.

use std::time::{Duration, Instant};

use super::link::Share;
use super::store::{LinkChanges, LinkStore, LinkStoreError};
use crate::access::cookie::{SealPurpose, SessionKeys};
use crate::database::address::DatabaseServer;
use crate::database::{Connection, Schema, StoreError};

const SCHEMA: Schema = Schema { table: "links_migrations", migrations: &[include_str!("links.sql")] };

/// Most rows: links, and those that were revoked or expired lately.
const MOST_ROWS: i64 = 20_000;
const AT_A_TIME: i64 = 500;
/// Rows that are encrypted again at a time, with the key that encrypts now.
const SEALED_AT_A_TIME: usize = 100;
/// After this time without a read all rows are read: removed ones may be deleted already.
const ALL_AFTER: Duration = Duration::from_secs(60);
/// Rows that no key decrypts are read again after this time: another server may have had a new key earlier.
const SEALED_AFTER: Duration = Duration::from_secs(10);
/// Removed and expired links stay in the table for this time, in milliseconds.
const REMOVED_KEPT_MILLIS: i64 = 5 * 60_000;
/// The time of the database server.
const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

pub(super) struct PostgresLinkStore {
    server: DatabaseServer,
    keys: SessionKeys,
    connection: Option<Connection>,
    /// The last known edition, and when it was read; `None` if everything is to be read.
    last_edition: Option<(i64, Instant)>,
    /// Time of the last full read with undecryptable rows.
    unopened: Option<Instant>,
}

impl PostgresLinkStore {
    /// Creates a store in a database; connects on first use.
    pub(super) const fn new(server: DatabaseServer, keys: SessionKeys) -> Self {
        Self { server, keys, connection: None, last_edition: None, unopened: None }
    }

    fn with_connection<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, LinkStoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.last_edition = None; // changes during the interruption are unknown
                Connection::connect_to_write(&self.server, &SCHEMA)?
            }
        };
        let done = act(self, &mut connection);
        if done.is_err() {
            self.last_edition = None;
        }
        self.connection = Some(connection).filter(|connection| done.is_ok() || !connection.is_lost);
        Ok(done?)
    }

    /// Changes rows under the next edition. Other changes wait until this one is committed or given up.
    fn change<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &mut Connection, i64) -> Result<T, StoreError>,
    ) -> Result<T, LinkStoreError> {
        self.with_connection(|store, connection| {
            connection.transaction(|database| {
                let next = database.number("UPDATE links_edition SET edition = edition + 1 RETURNING edition", &[])?;
                let edition = next.ok_or_else(|| StoreError::Failed("the table links_edition is empty".to_owned()))?;
                act(store, database, edition)
            })
        })
    }

    /// Reads the rows with a later edition than the known one; all rows without one.
    fn read_changes(&mut self, database: &mut Connection) -> Result<LinkChanges, StoreError> {
        let now = Instant::now();
        let is_sealed = self.unopened.is_some_and(|at| at.elapsed() >= SEALED_AFTER);
        let after = self.last_edition.filter(|(_, at)| at.elapsed() < ALL_AFTER && !is_sealed).map(|(last, _)| last);
        let mut changes = LinkChanges { are_all: after.is_none(), ..LinkChanges::default() };
        let (mut last, mut outdated, mut has_unopened) = (after.unwrap_or_default(), Vec::new(), false);
        loop {
            let rows = "SELECT id, edition, is_revoked, link FROM links WHERE edition > $1 ORDER BY edition LIMIT $2";
            let rows: Vec<(String, i64, i64, String)> = database.rows(rows, &[last.into(), AT_A_TIME.into()])?;
            let is_end = (rows.len() as i64) < AT_A_TIME;
            for (id, edition, is_revoked, held) in rows {
                last = edition;
                if is_revoked != 0 {
                    changes.gone.push(id);
                    continue;
                }
                let opened = self.keys.open_value(SealPurpose::StoredLink, &held);
                let opened = opened.and_then(|text| serde_json::from_str::<Share>(&text).ok());
                // A link under the id of another one is forged.
                match opened.filter(|link| link.id == id) {
                    Some(link) => changes.made.push(link),
                    None => has_unopened = true,
                }
                if let Some(anew) = self.keys.reseal_value(SealPurpose::StoredLink, &held) {
                    outdated.push((id, held, anew));
                }
            }
            if is_end || changes.made.len() + changes.gone.len() > MOST_ROWS as usize {
                break;
            }
        }
        self.last_edition = Some((last, now));
        if has_unopened {
            self.unopened = Some(now);
        } else if after.is_none() {
            self.unopened = None;
        }
        for (id, held, anew) in outdated.iter().take(SEALED_AT_A_TIME) {
            let row = "UPDATE links SET link = $3 WHERE id = $1 AND link = $2";
            database.run(row, &[id.as_str().into(), held.as_str().into(), anew.as_str().into()])?;
        }
        Ok(changes)
    }

    fn sealed(&self, link: &Share) -> Result<String, StoreError> {
        let text = serde_json::to_string(link).ok();
        let sealed = text.and_then(|text| self.keys.seal_value(SealPurpose::StoredLink, &text));
        sealed.ok_or_else(|| StoreError::Failed("cannot encrypt a link".to_owned()))
    }
}

impl LinkStore for PostgresLinkStore {
    fn changes(&mut self) -> Result<LinkChanges, LinkStoreError> {
        self.with_connection(Self::read_changes)
    }

    fn add(&mut self, link: &Share, has_room: &mut dyn FnMut(LinkChanges) -> bool) -> Result<bool, LinkStoreError> {
        self.change(|store, database, edition| {
            let sealed = store.sealed(link)?;
            let old = format!("DELETE FROM links WHERE until_millis < {NOW} - $1");
            database.run(&old, &[REMOVED_KEPT_MILLIS.into()])?;
            let rows = database.number("SELECT count(*) FROM links", &[])?.unwrap_or_default();
            if !has_room(store.read_changes(database)?) || rows >= MOST_ROWS {
                return Ok(false);
            }
            let row = "INSERT INTO links (id, edition, until_millis, is_revoked, link) VALUES ($1, $2, $3, 0, $4)";
            let values = [link.id.as_str().into(), edition.into(), link.until_millis.into(), sealed.as_str().into()];
            database.run(row, &values).map(|_| true)
        })
    }

    fn prolong(&mut self, link: &Share) -> Result<(), LinkStoreError> {
        self.change(|store, database, edition| {
            let sealed = store.sealed(link)?;
            let row = "UPDATE links SET edition = $2, until_millis = $3, link = $4
                 WHERE id = $1 AND is_revoked = 0 AND until_millis < $3";
            let values = [link.id.as_str().into(), edition.into(), link.until_millis.into(), sealed.as_str().into()];
            database.run(row, &values).map(|_| ())
        })
    }

    fn remove(&mut self, id: &str) -> Result<(), LinkStoreError> {
        self.change(|_, database, edition| {
            // The row stays for a while, so that other servers see the removal.
            let row = format!(
                "UPDATE links SET edition = $2, until_millis = {NOW}, is_revoked = 1, link = '' WHERE id = $1 AND is_revoked = 0"
            );
            database.run(&row, &[id.into(), edition.into()]).map(|_| ())
        })
    }
}
