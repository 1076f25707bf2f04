//! Links for people without an account: each opens one thing, for a while, with no more rights than its maker has at the time.
//!
//! What stands behind the `#` of a link is the name of an entry here, sealed with the key of sessions: browsers send it to nobody, and
//! a page hands it in for a cookie. Entries are what counts: one that is revoked, or not here any more, opens nothing.
//!
//! ```text
//!   request ──► Shares (what is known of all links) ──► make, revoke, prolong ──► Place: a file, memory, or
//!                  ▲                                                              a database that several Rollcasts share
//!                  └──────── what the others did: every second, and whenever a link is not known ◄──────┘
//! ```
//! What others may have taken away meanwhile is believed for a minute: without word from the database for longer no link opens anything.

mod file;
mod link;
mod place;
mod postgres;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use timeline::Millis;
use tokio::time::{Instant, timeout};

use self::file::File;
pub use self::link::{LONGEST, SHORTEST, Share, Wanted};
pub use self::place::{Changes, Place, PlaceError};
use self::postgres::Postgres;
use super::Viewer;
use super::checked::{Checked, Terms};
use super::cookie::{Keys, Name};
use crate::database::server::Server;

/// Links that there may be, of all people and of one of them.
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 100;
/// Who asks a place waits for others who do for no longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// Who opens a link that is not known waits for a place to tell of it for no longer than this.
const LOOK: Duration = Duration::from_secs(3);

/// How links that others share are kept up with.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// What others did is looked for this often.
    pub look_every: Duration,
    /// What is known is believed for so long after it was looked at.
    pub believed_for: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { look_every: Duration::from_secs(1), believed_for: Duration::from_secs(60) }
    }
}

/// A link that is not made.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// It would last too long, or not long enough.
    #[error("the lifetime of a link must be between 1 hour and 30 days")]
    Time,
    /// There are too many.
    #[error("there are too many links: revoke some that you no longer need")]
    TooMany,
    /// It cannot be written down.
    #[error("cannot store the links: {0}")]
    Place(#[from] PlaceError),
    /// It was taken away, and that cannot be written down.
    #[error(
        "this server has revoked the link, but cannot store this: the link may still work after a restart and on other servers ({0})"
    )]
    Unwritten(PlaceError),
    /// The file is of another version, or damaged.
    #[error("{0} is not a valid file of share links: {1}")]
    Unreadable(PathBuf, String),
    /// Only who signed in makes links, and not who came by one.
    #[error("only people who signed in can create links")]
    Stranger,
}

/// What links open cannot be told: the database that they are kept in does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the link database does not respond: links cannot be created, and one minute after its last response no link works until it responds again"
)]
pub struct Unchecked;

/// Signs of what is sealed, and those that stand for them in the path of an address.
const OF_ADDRESSES: [(char, char); 3] = [('+', '-'), ('/', '_'), ('=', '.')];

fn swapped(sign: char, signs: [(char, char); 3]) -> char {
    signs.iter().find(|(from, _)| *from == sign).map_or(sign, |(_, to)| *to)
}

/// The links that there are.
pub struct Shares {
    keys: Keys,
    all: Mutex<BTreeMap<String, Share>>,
    /// Those that were taken away here, and are not taken away where they are kept.
    doomed: Mutex<BTreeSet<String>>,
    place: Arc<tokio::sync::Mutex<Box<dyn Place>>>,
    /// How fresh our copy of a place is that others change as well.
    copy: Option<Mutex<Checked<(), ()>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shares {
    /// Those of a file, or of the memory of this program; a file is made with the first link.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(keys: Keys, file: Option<PathBuf>) -> Result<Arc<Self>, ShareError> {
        let mut place = File::open(file)?;
        let changes = place.changes()?;
        let shares = Self::of(keys, Box::new(place), None);
        shares.take(changes);
        Ok(Arc::new(shares))
    }

    /// Those of a database, with others who share them and have the same keys.
    #[must_use]
    pub fn in_database(keys: Keys, server: Server, pace: Pace) -> Arc<Self> {
        let place = Postgres::new(server, keys.clone());
        Self::shared(keys, Box::new(place), pace)
    }

    /// Those of a place that others change as well.
    #[must_use]
    pub fn shared(keys: Keys, place: Box<dyn Place>, pace: Pace) -> Arc<Self> {
        let Pace { look_every, believed_for } = pace;
        let copy = Checked::new(Terms { ask_again: look_every, good_for: believed_for, ask_the_silent: look_every });
        let shares = Arc::new(Self::of(keys, place, Some(Mutex::new(copy))));
        let held = Arc::downgrade(&shares);
        tokio::spawn(async move {
            let mut is_away = false;
            while let Some(shares) = held.upgrade() {
                let looked = shares.look(Instant::now()).await;
                drop(shares);
                match &looked {
                    Ok(()) if is_away => tracing::info!("the link database responds again"),
                    Err(why) if !is_away => tracing::warn!("cannot check the share links: {}", said(why)),
                    _ => {}
                }
                is_away = looked.is_err();
                tokio::time::sleep(look_every).await;
            }
        });
        shares
    }

    fn of(keys: Keys, place: Box<dyn Place>, copy: Option<Mutex<Checked<(), ()>>>) -> Self {
        let place = Arc::new(tokio::sync::Mutex::new(place));
        Self { keys, all: Mutex::default(), doomed: Mutex::default(), place, copy }
    }

    /// Does something at the place, one after the other.
    async fn at_place<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Self, &mut dyn Place) -> Result<T, PlaceError> + Send + 'static,
    ) -> Result<T, PlaceError> {
        let place = timeout(PATIENCE, self.place.clone().lock_owned()).await.map_err(|_| PlaceError::Busy)?;
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut place = place;
            this.settle(&mut **place);
            act(&this, &mut **place)
        });
        done.await.unwrap_or(Err(PlaceError::Ends))
    }

    /// Takes away what could not be taken away before.
    fn settle(&self, place: &mut dyn Place) {
        let doomed = locked(&self.doomed).clone();
        for id in doomed {
            if place.remove(&id).is_err() {
                return; // it is tried again
            }
            locked(&self.doomed).remove(&id);
        }
    }

    /// Keeps in mind what happened.
    fn take(&self, changes: Changes) {
        let doomed = locked(&self.doomed);
        let mut all = locked(&self.all);
        if changes.are_all {
            all.clear();
        }
        all.extend(changes.made.into_iter().map(|share| (share.id.clone(), share)));
        changes.gone.iter().chain(doomed.iter()).for_each(|id| drop(all.remove(id)));
    }

    /// Looks what others did, unless somebody has looked since.
    async fn look(self: &Arc<Self>, since: Instant) -> Result<(), PlaceError> {
        self.at_place(move |this, place| {
            let Some(copy) = &this.copy else { return Ok(()) };
            if locked(copy).answered_at(&()).is_some_and(|at| at >= since) {
                return Ok(());
            }
            let now = Instant::now();
            let changes = place.changes()?;
            this.take(changes);
            locked(copy).answer((), now, ());
            Ok(())
        })
        .await
    }

    /// What is known may be believed: nobody else can have changed it, or not for long.
    ///
    /// # Errors
    /// When nobody can tell what was changed.
    pub fn checked(&self) -> Result<(), Unchecked> {
        if self.copy.as_ref().is_none_or(|copy| locked(copy).get(&()).is_some()) { Ok(()) } else { Err(Unchecked) }
    }

    /// Brings what is known up to date.
    ///
    /// # Errors
    /// When that cannot be done now.
    pub async fn refresh(self: &Arc<Self>) -> Result<(), Unchecked> {
        self.checked()?;
        match self.copy {
            None => Ok(()),
            Some(_) => timeout(LOOK, self.look(Instant::now())).await.ok().and_then(Result::ok).ok_or(Unchecked),
        }
    }

    /// A link that opens something now. One that is not known may have been made by another one a moment ago.
    async fn find(self: &Arc<Self>, id: &str, now_millis: Millis) -> Result<Option<Share>, Unchecked> {
        self.checked()?;
        let known = || locked(&self.all).get(id).cloned();
        let found = match known() {
            None if self.copy.is_some() => {
                self.refresh().await?;
                known()
            }
            found => found,
        };
        Ok(found.filter(|share| share.until_millis > now_millis))
    }

    /// Makes a link; returns it with its secret. Walls renew themselves for as long as they are looked at.
    ///
    /// # Errors
    /// When it is not made.
    pub async fn make(
        self: &Arc<Self>,
        maker: &Viewer,
        wanted: Wanted,
        now_millis: Millis,
    ) -> Result<(Share, String), ShareError> {
        let Some(subjects) = maker.subjects.as_ref().filter(|_| maker.link.is_none()) else {
            return Err(ShareError::Stranger);
        };
        let share = wanted.made(maker, subjects, now_millis).ok_or(ShareError::Time)?;
        let secret = self.keys.seal_value(Name::Link, &share.id).ok_or(ShareError::Stranger)?;
        let (maker, made) = (maker.clone(), share.clone());
        let is_made = self.at_place(move |this, place| {
            let is_added = place.add(&made, &mut |changes| {
                this.take(changes);
                let mut all = locked(&this.all);
                all.retain(|_, share| share.until_millis > now_millis);
                let own = all.values().filter(|share| share.is_of(&maker)).count();
                all.len() < MOST && own < MOST_OF_ONE
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
                tracing::debug!("cannot store a share link: {}", said(&why));
                self.doom(&share.id); // it may have been written down
                Err(why.into())
            }
        }
    }

    /// A link of which nobody was told is taken away; where there are too many of these, it stays and opens nothing, as nobody knows it.
    fn doom(&self, id: &str) {
        let mut doomed = locked(&self.doomed);
        if self.copy.is_some() && doomed.len() < MOST_OF_ONE {
            doomed.insert(id.to_owned());
        }
    }

    /// What a secret opens now.
    ///
    /// # Errors
    /// When that cannot be told.
    pub async fn of_secret(self: &Arc<Self>, secret: &str, now_millis: Millis) -> Result<Option<Share>, Unchecked> {
        match self.keys.open_value(Name::Link, secret) {
            Some(id) => self.find(&id, now_millis).await,
            None => Ok(None),
        }
    }

    /// Who came by the link whose cookie a request carries. Who uses a wall's link makes it last.
    ///
    /// # Errors
    /// When it cannot be told whether that link opens anything.
    pub async fn viewer(
        self: &Arc<Self>,
        headers: &HeaderMap,
        now_millis: Millis,
    ) -> Result<Option<Viewer>, Unchecked> {
        let Some(id) = self.keys.open_as(Name::Link, headers) else { return Ok(None) };
        let Some(mut share) = self.find(&id, now_millis).await? else { return Ok(None) };
        if let Some(until_millis) = share.renewed(now_millis) {
            share.until_millis = until_millis;
            if let Some(known) = locked(&self.all).get_mut(&id) {
                known.until_millis = until_millis;
            }
            let (this, renewed) = (self.clone(), share.clone());
            // Where it is not written down it lasts as long as what is known, or is renewed again.
            tokio::spawn(async move {
                let written = this.at_place(move |_, place| place.prolong(&renewed)).await;
                written.inspect_err(|why| tracing::warn!("cannot renew a share link: {}", said(why)))
            });
        }
        Ok(Some(share.viewer()))
    }

    /// What stands before the `#` of a link that has a preview: it opens the preview and nothing else.
    #[must_use]
    pub fn preview_of(&self, share: &Share) -> Option<String> {
        let sealed = self.keys.seal_value(Name::Preview, &share.id).filter(|_| share.allows_preview)?;
        Some(sealed.chars().map(|sign| swapped(sign, OF_ADDRESSES)).collect())
    }

    /// The link of which a preview is asked for, and who it is looked at by.
    ///
    /// A preview has one spelling: what is written with signs that addresses have no use for is none.
    ///
    /// # Errors
    /// When it cannot be told whether there is one.
    pub async fn previewed(
        self: &Arc<Self>,
        preview: &str,
        now_millis: Millis,
    ) -> Result<Option<(Share, Viewer)>, Unchecked> {
        if preview.contains(OF_ADDRESSES.map(|(sealed, _)| sealed)) {
            return Ok(None);
        }
        let sealed: String = preview.chars().map(|sign| swapped(sign, OF_ADDRESSES.map(|(a, b)| (b, a)))).collect();
        let Some(id) = self.keys.open_value(Name::Preview, &sealed) else { return Ok(None) };
        let found = self.find(&id, now_millis).await?.filter(|share| share.allows_preview);
        Ok(found.map(|share| {
            let viewer = share.viewer();
            (share, viewer)
        }))
    }

    /// The cookie of a link that a request carries, where an older key sealed it.
    #[must_use]
    pub fn resealed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.keys.resealed(Name::Link, headers)
    }

    /// The links that somebody made, or everybody, the one that ends first first.
    #[must_use]
    pub fn made_by(&self, maker: &Viewer, is_everybodys: bool, now_millis: Millis) -> Vec<Share> {
        let all = locked(&self.all);
        let is_shown = |share: &&Share| share.until_millis > now_millis && (is_everybodys || share.is_of(maker));
        let mut own: Vec<Share> = all.values().filter(is_shown).cloned().collect();
        own.sort_by_key(|share| share.until_millis);
        own
    }

    /// Takes a link away, somebody's own or anybody's; `false` where there is none of that name.
    ///
    /// # Errors
    /// When that cannot be written down; it opens nothing any more for as long as the program runs.
    pub async fn revoke(self: &Arc<Self>, maker: &Viewer, is_everybodys: bool, id: &str) -> Result<bool, ShareError> {
        if self.copy.is_some() && !locked(&self.all).contains_key(id) {
            let looked = self.look(Instant::now()).await;
            looked.inspect_err(|why| tracing::debug!("cannot read the share links: {}", said(why)))?;
        }
        {
            let mut doomed = locked(&self.doomed);
            let mut all = locked(&self.all);
            let may_revoke = |share: &Share| is_everybodys || share.is_of(maker);
            if maker.link.is_some() || !all.get(id).is_some_and(may_revoke) {
                return Ok(false);
            }
            all.remove(id);
            doomed.insert(id.to_owned());
        }
        let id = id.to_owned();
        // With all that were taken away and are there still.
        let removed = self.at_place(move |this, place| {
            if locked(&this.doomed).contains(&id) {
                place.remove(&id)?;
                locked(&this.doomed).remove(&id);
            }
            Ok(())
        });
        let removed =
            removed.await.inspect_err(|why| tracing::warn!("cannot delete a revoked share link: {}", said(why)));
        removed.map_err(ShareError::Unwritten)?;
        Ok(true)
    }
}

/// Why a place does not do what it is asked, for logs.
fn said(why: &PlaceError) -> String {
    match why {
        PlaceError::Database(why) => why.to_string(),
        why => why.to_string(),
    }
}

#[cfg(test)]
mod tests;
