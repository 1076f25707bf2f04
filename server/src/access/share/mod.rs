//! Share links for people without an account: each opens one scope, for a limited time, with the current permissions of its maker.
//!
//! The secret behind the `#` of a link is its id, encrypted with the session keys. Browsers do not send it; a page exchanges it
//! for a cookie. A link that is revoked or missing from the store opens nothing.
//!
//! ```text
//!   request ──► Shares (copy of all links) ──► make, revoke, prolong ──► LinkStore: a file, memory, or a database that
//!                  ▲                                                      several servers share
//!                  └── changes of other servers: every second, and when an unknown link is opened ◄──┘
//! ```
//! The copy expires one minute after the last response of the database: from then on no link opens anything.

mod file;
mod link;
mod postgres;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use timeline::Millis;
use tokio::time::{Instant, timeout};

use self::file::FileLinkStore;
pub use self::link::{LONGEST_LIFETIME, LinkRequest, SHORTEST_LIFETIME, Share};
use self::postgres::PostgresLinkStore;
pub use self::store::{LinkChanges, LinkStore, LinkStoreError};
use super::Viewer;
use super::cookie::{SealPurpose, SessionKeys};
pub use super::refreshing_cache::RefreshPolicy;
use super::refreshing_cache::RefreshingCache;
use crate::database::address::DatabaseServer;
use crate::telemetry::error_chain;
use crate::telemetry::panics::locked;

/// Most links at once: of all makers, and of one maker.
const MOST_LINKS: usize = 10_000;
const LINKS_PER_MAKER: usize = 100;
/// Links that wait to be removed from the store.
const MOST_PENDING_REMOVALS: usize = 100;
/// Longest wait for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the store when an unknown link is opened.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);

/// Intervals for reading the changes of other servers, successfully or not, and the lifetime of links that were read.
pub const POLICY: RefreshPolicy = RefreshPolicy {
    refresh_after: Duration::from_secs(1),
    expire_after: Duration::from_secs(60),
    retry_after: Duration::from_secs(1),
};

/// Why a link is not created or revoked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ShareError {
    #[error("the lifetime of a link must be between 1 hour and 30 days")]
    Time,
    #[error("there are too many links: revoke some that you no longer need")]
    TooMany,
    #[error("cannot store the links: {0}")]
    Store(#[from] LinkStoreError),
    /// The link is revoked, but the store did not record it.
    #[error(
        "this server has revoked the link, but cannot store this: the link may still work after a restart and on other servers ({0})"
    )]
    Unwritten(LinkStoreError),
    /// The file is of another version, or damaged.
    #[error("{0} is not a valid file of share links: {1}")]
    Unreadable(PathBuf, String),
    /// Only signed-in viewers make links, not those who opened one.
    #[error("only people who signed in can create links")]
    NotSignedIn,
}

/// The link database does not respond, so no link can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the link database does not respond: links cannot be created, and one minute after its last response no link works until it responds again"
)]
pub struct LinksUnavailable;

/// The links that a viewer may list and revoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Their own.
    Own,
    /// All links, for viewers who see everything.
    All,
}

impl Reach {
    fn includes(self, share: &Share, viewer: &Viewer) -> bool {
        self == Self::All || share.is_of(viewer)
    }
}

/// All share links of this server.
pub struct Shares {
    keys: SessionKeys,
    all: Mutex<BTreeMap<String, Share>>,
    /// Links that were revoked here and are not yet removed from the store.
    pending_removals: Mutex<BTreeSet<String>>,
    store: Arc<tokio::sync::Mutex<Box<dyn LinkStore>>>,
    /// Age of the cached links, if other servers change the store as well.
    copy: Option<Mutex<RefreshingCache<(), ()>>>,
}

impl Shares {
    /// Opens the links of a file, or of memory without one; the file is created with the first link.
    pub fn open(keys: SessionKeys, file: Option<PathBuf>) -> Result<Arc<Self>, ShareError> {
        let mut store = FileLinkStore::open(file)?;
        let changes = store.changes()?;
        let shares = Self::from_store(keys, Box::new(store), None);
        shares.apply(changes);
        Ok(Arc::new(shares))
    }

    /// Opens the links of a database, which other servers with the same keys share.
    pub fn in_database(keys: SessionKeys, server: DatabaseServer, policy: RefreshPolicy) -> Arc<Self> {
        let store = PostgresLinkStore::new(server, keys.clone());
        Self::open_shared(keys, Box::new(store), policy)
    }

    /// Opens the links of a store that other servers change as well.
    pub fn open_shared(keys: SessionKeys, store: Box<dyn LinkStore>, policy: RefreshPolicy) -> Arc<Self> {
        let copy = Mutex::new(RefreshingCache::new(policy));
        let shares = Arc::new(Self::from_store(keys, store, Some(copy)));
        let held = Arc::downgrade(&shares);
        tokio::spawn(async move {
            let mut is_away = false;
            while let Some(shares) = held.upgrade() {
                let looked = shares.poll(Instant::now()).await;
                drop(shares);
                match &looked {
                    Ok(()) if is_away => tracing::info!("the link database responds again"),
                    Err(why) if !is_away => tracing::warn!("cannot check the share links: {}", error_chain::join(why)),
                    _ => {}
                }
                is_away = looked.is_err();
                tokio::time::sleep(if is_away { policy.retry_after } else { policy.refresh_after }).await;
            }
        });
        shares
    }

    fn from_store(keys: SessionKeys, store: Box<dyn LinkStore>, copy: Option<Mutex<RefreshingCache<(), ()>>>) -> Self {
        let store = Arc::new(tokio::sync::Mutex::new(store));
        Self { keys, all: Mutex::default(), pending_removals: Mutex::default(), store, copy }
    }

    /// Runs a job at the store, one after the other.
    async fn with_store<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Self, &mut dyn LinkStore) -> Result<T, LinkStoreError> + Send + 'static,
    ) -> Result<T, LinkStoreError> {
        let store = timeout(STORE_TIMEOUT, self.store.clone().lock_owned()).await.map_err(|_| LinkStoreError::Busy)?;
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut store = store;
            this.retry_removals(&mut **store);
            act(&this, &mut **store)
        });
        done.await.unwrap_or(Err(LinkStoreError::Ends))
    }

    /// Removes links from the store whose removal failed before.
    fn retry_removals(&self, store: &mut dyn LinkStore) {
        let pending_removals = locked(&self.pending_removals).clone();
        for id in pending_removals {
            if store.remove(&id).is_err() {
                return; // the removal is retried
            }
            locked(&self.pending_removals).remove(&id);
        }
    }

    /// Applies the result of a read to the copy.
    fn apply(&self, changes: LinkChanges) {
        let pending_removals = locked(&self.pending_removals);
        let mut all = locked(&self.all);
        if changes.are_all {
            all.clear();
        }
        all.extend(changes.made.into_iter().map(|share| (share.id.clone(), share)));
        changes.gone.iter().chain(pending_removals.iter()).for_each(|id| drop(all.remove(id)));
    }

    /// Reads the changes of other servers, unless they were read since `since`.
    async fn poll(self: &Arc<Self>, since: Instant) -> Result<(), LinkStoreError> {
        self.with_store(move |this, store| {
            let Some(copy) = &this.copy else { return Ok(()) };
            if locked(copy).requested_at(&()).is_some_and(|at| at >= since) {
                return Ok(());
            }
            let now = Instant::now();
            let changes = store.changes()?;
            this.apply(changes);
            locked(copy).insert((), now, ());
            Ok(())
        })
        .await
    }

    /// Checks that the cached links are current.
    pub fn check_current(&self) -> Result<(), LinksUnavailable> {
        let is_current = self.copy.as_ref().is_none_or(|copy| locked(copy).get(&()).is_some());
        is_current.then_some(()).ok_or(LinksUnavailable)
    }

    /// Updates the copy of the links.
    pub async fn refresh(self: &Arc<Self>) -> Result<(), LinksUnavailable> {
        self.check_current()?;
        match self.copy {
            None => Ok(()),
            Some(_) => timeout(LOOKUP_TIMEOUT, self.poll(Instant::now()))
                .await
                .ok()
                .and_then(Result::ok)
                .ok_or(LinksUnavailable),
        }
    }

    /// Returns a link that is valid now. An unknown one may be new in the store, which is read then.
    async fn find(self: &Arc<Self>, id: &str, now_millis: Millis) -> Result<Option<Share>, LinksUnavailable> {
        self.check_current()?;
        let known = || locked(&self.all).get(id).cloned();
        let found = match known() {
            None => {
                self.refresh().await?;
                known()
            }
            found => found,
        };
        Ok(found.filter(|share| share.until_millis > now_millis))
    }

    /// Makes a link; returns it with its secret. Links of walls are renewed by their use.
    pub async fn make(
        self: &Arc<Self>,
        maker: &Viewer,
        wanted: LinkRequest,
        now_millis: Millis,
    ) -> Result<(Share, String), ShareError> {
        let Some(subjects) = maker.subjects.as_ref().filter(|_| maker.link.is_none()) else {
            return Err(ShareError::NotSignedIn);
        };
        let share = wanted.into_share(maker, subjects, now_millis).ok_or(ShareError::Time)?;
        let secret = self.keys.seal_value(SealPurpose::Link, &share.id).ok_or(ShareError::NotSignedIn)?;
        let (maker, made) = (maker.clone(), share.clone());
        let is_made = self.with_store(move |this, store| {
            let is_added = store.add(&made, &mut |changes| {
                this.apply(changes);
                let mut all = locked(&this.all);
                all.retain(|_, share| share.until_millis > now_millis);
                let own = all.values().filter(|share| share.is_of(&maker)).count();
                all.len() < MOST_LINKS && own < LINKS_PER_MAKER
            })?;
            if is_added {
                locked(&this.all).insert(made.id.clone(), made);
            }
            Ok(is_added)
        });
        match is_made.await {
            Ok(true) => Ok((share, secret)),
            Ok(false) => Err(ShareError::TooMany),
            Err(why) => {
                tracing::debug!("cannot store a share link: {}", error_chain::join(&why));
                self.remove_later(&share.id); // the store may contain it despite the error
                Err(why.into())
            }
        }
    }

    /// Removes a link that was stored but never shown. If too many wait for their removal, it stays: it opens nothing,
    /// because nobody knows its secret.
    fn remove_later(&self, id: &str) {
        let mut pending_removals = locked(&self.pending_removals);
        if self.copy.is_some() && pending_removals.len() < MOST_PENDING_REMOVALS {
            pending_removals.insert(id.to_owned());
        }
    }

    /// Returns the link of a secret, if it is valid now.
    pub async fn find_by_secret(
        self: &Arc<Self>,
        secret: &str,
        now_millis: Millis,
    ) -> Result<Option<Share>, LinksUnavailable> {
        match self.keys.open_value(SealPurpose::Link, secret) {
            Some(id) => self.find(&id, now_millis).await,
            None => Ok(None),
        }
    }

    /// Returns the viewer of the link cookie of a request. Using the link of a wall renews it.
    pub async fn viewer(
        self: &Arc<Self>,
        headers: &HeaderMap,
        now_millis: Millis,
    ) -> Result<Option<Viewer>, LinksUnavailable> {
        let Some(id) = self.keys.open(SealPurpose::Link, headers) else { return Ok(None) };
        let Some(mut share) = self.find(&id, now_millis).await? else { return Ok(None) };
        if let Some(until_millis) = share.renewed_expiry(now_millis) {
            share.until_millis = until_millis;
            if let Some(known) = locked(&self.all).get_mut(&id) {
                known.until_millis = until_millis;
            }
            let (this, renewed) = (self.clone(), share.clone());
            // If the store cannot record it, the link keeps its expiry or is renewed later.
            tokio::spawn(async move {
                let written = this.with_store(move |_, store| store.prolong(&renewed)).await;
                written.inspect_err(|why| tracing::warn!("cannot renew a share link: {}", error_chain::join(why)))
            });
        }
        Ok(Some(share.viewer()))
    }

    /// Returns whether a request has the cookie of a link that had ended, or was unknown, when the links were last read.
    pub fn is_over(&self, headers: &HeaderMap, now_millis: Millis) -> bool {
        let Some(id) = self.keys.open(SealPurpose::Link, headers) else { return false };
        if self.copy.as_ref().is_some_and(|copy| locked(copy).requested_at(&()).is_none()) {
            return false; // links were never read from the store
        }
        locked(&self.all).get(&id).is_none_or(|share| share.until_millis <= now_millis)
    }

    /// Returns the path segment of the link's preview: it opens the preview and nothing else.
    pub fn preview_of(&self, share: &Share) -> Option<String> {
        let sealed = self.keys.seal_value(SealPurpose::Preview, &share.id).filter(|_| share.allows_preview)?;
        // The encrypted form has characters with another meaning in a path.
        Some(sealed.replace('+', "-").replace('/', "_").replace('=', "."))
    }

    /// Returns the link of a preview, and the viewer whose permissions the preview has.
    ///
    /// The characters that `preview_of` replaces are refused, so that each preview has one address.
    pub async fn find_preview(
        self: &Arc<Self>,
        preview: &str,
        now_millis: Millis,
    ) -> Result<Option<(Share, Viewer)>, LinksUnavailable> {
        if preview.contains(['+', '/', '=']) {
            return Ok(None);
        }
        let sealed = preview.replace('-', "+").replace('_', "/").replace('.', "=");
        let Some(id) = self.keys.open_value(SealPurpose::Preview, &sealed) else { return Ok(None) };
        let found = self.find(&id, now_millis).await?.filter(|share| share.allows_preview);
        Ok(found.map(|share| (share.clone(), share.viewer())))
    }

    /// Returns the new cookie of a link whose cookie an older key encrypted.
    pub fn renewed_cookie(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.keys.reseal(SealPurpose::Link, headers)
    }

    /// Returns the valid links that a viewer may revoke, the one that expires first first.
    pub fn list(&self, viewer: &Viewer, reach: Reach, now_millis: Millis) -> Vec<Share> {
        let all = locked(&self.all);
        let is_shown = |share: &&Share| share.until_millis > now_millis && reach.includes(share, viewer);
        let mut own: Vec<Share> = all.values().filter(is_shown).cloned().collect();
        own.sort_by_key(|share| share.until_millis);
        own
    }

    /// Revokes a link; returns `false` if the viewer may revoke none of that id.
    ///
    /// # Errors
    /// When the store does not record it. The link opens nothing any more while the program runs.
    pub async fn revoke(self: &Arc<Self>, viewer: &Viewer, reach: Reach, id: &str) -> Result<bool, ShareError> {
        if self.copy.is_some() && !locked(&self.all).contains_key(id) {
            let looked = self.poll(Instant::now()).await;
            looked.inspect_err(|why| tracing::debug!("cannot read the share links: {}", error_chain::join(why)))?;
        }
        {
            let mut pending_removals = locked(&self.pending_removals);
            let mut all = locked(&self.all);
            let may_revoke = |share: &Share| reach.includes(share, viewer);
            if viewer.link.is_some() || !all.get(id).is_some_and(may_revoke) {
                return Ok(false);
            }
            all.remove(id);
            pending_removals.insert(id.to_owned());
        }
        let id = id.to_owned();
        // With all earlier links whose removal failed.
        let removed = self.with_store(move |this, store| {
            if locked(&this.pending_removals).contains(&id) {
                store.remove(&id)?;
                locked(&this.pending_removals).remove(&id);
            }
            Ok(())
        });
        removed.await.map(|()| true).map_err(|why| {
            tracing::warn!("cannot delete a revoked share link: {}", error_chain::join(&why));
            ShareError::Unwritten(why)
        })
    }
}

#[cfg(test)]
mod tests;
