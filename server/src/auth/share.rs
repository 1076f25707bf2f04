//! Links for people without an account: each opens one thing, for a while, with no more rights than its maker has at the time.
//!
//! What stands behind the `#` of a link is the name of an entry here, sealed with the key of sessions: browsers send it to nobody, and
//! a page hands it in for a cookie. Entries are what counts: one that is revoked, or not here any more, opens nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use timeline::Millis;

use super::cookie::{Keys, Name};
use super::{Opened, Subjects, Viewer};
use crate::scope::Scope;

/// Links that there may be, of all people and of one of them.
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 100;
/// How long a link may last, in milliseconds.
pub const SHORTEST: Millis = 3_600_000;
/// How long at most.
pub const LONGEST: Millis = 30 * 24 * SHORTEST;
/// How long a link that renews itself may last in all, in milliseconds.
const LONGEST_IN_ALL: Millis = 90 * 24 * SHORTEST;
/// The version of the file, for those who come later.
const VERSION: u32 = 2;
/// The first one, in which links opened workloads and walls only; it is read as the present one is.
const FIRST_VERSION: u32 = 1;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Which one it is; no secret.
    pub id: String,
    /// Who made it.
    pub maker: String,
    /// As whom clusters know them.
    subjects: Subjects,
    /// What it opens.
    pub scope: Scope,
    /// Where it leads: an address of this server.
    pub to: String,
    /// When it was made, in milliseconds since 1970.
    pub made_millis: Millis,
    /// Until when it opens anything.
    pub until_millis: Millis,
    /// It lasts this long again when it is used, as walls do.
    renews_millis: Option<Millis>,
    /// Whoever is shown the link may see a preview of what it opens, without opening it.
    #[serde(default)]
    pub allows_preview: bool,
}

/// A link as somebody wants it.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What it opens.
    pub scope: Scope,
    /// Where it leads: an address of this server.
    pub to: String,
    /// How long it lasts.
    pub lasts_millis: Millis,
    /// Whether it has a preview.
    pub allows_preview: bool,
}

/// A link that is not made.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// It would last too long, or not long enough.
    #[error("a link lasts between one hour and 30 days")]
    Time,
    /// There are too many.
    #[error("there are too many links: revoke some that are not needed any more")]
    TooMany,
    /// It cannot be written down.
    #[error("the links cannot be written down: {0}")]
    File(#[from] io::Error),
    /// It was taken away, and that cannot be written down.
    #[error(
        "the link opens nothing any more, but that cannot be written down: after a restart it may open again ({0})"
    )]
    Unwritten(io::Error),
    /// The file is of another version, or damaged.
    #[error("{0} holds no links that this version reads: {1}")]
    Unreadable(PathBuf, String),
    /// Only who signed in makes links, and not who came by one.
    #[error("only who signed in can make a link")]
    Stranger,
}

/// Signs of what is sealed, and those that stand for them in the path of an address.
const OF_ADDRESSES: [(char, char); 3] = [('+', '-'), ('/', '_'), ('=', '.')];

fn swapped(sign: char, signs: [(char, char); 3]) -> char {
    signs.iter().find(|(from, _)| *from == sign).map_or(sign, |(_, to)| *to)
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    shares: Vec<Share>,
}

/// The links that there are.
pub struct Shares {
    keys: Keys,
    /// Where they are written down; else they end with the program.
    file: Option<PathBuf>,
    all: Mutex<BTreeMap<String, Share>>,
    /// Held while they are written down.
    saving: Mutex<()>,
}

impl Shares {
    /// Those of a file; it is made with the first link.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(keys: Keys, file: Option<PathBuf>) -> Result<Arc<Self>, ShareError> {
        let text = match file.as_ref().map(std::fs::read_to_string) {
            Some(Ok(text)) => Some(text),
            Some(Err(why)) if why.kind() != io::ErrorKind::NotFound => return Err(why.into()),
            _ => None,
        };
        let unreadable = |why: String| ShareError::Unreadable(file.clone().unwrap_or_default(), why);
        let shares = match text {
            None => Vec::new(),
            Some(text) => {
                let written: Written = serde_json::from_str(&text).map_err(|why| unreadable(why.to_string()))?;
                if !(FIRST_VERSION..=VERSION).contains(&written.version) {
                    return Err(unreadable(format!("it is of version {}", written.version)));
                }
                written.shares
            }
        };
        let all = shares.into_iter().map(|share| (share.id.clone(), share)).collect();
        Ok(Arc::new(Self { keys, file, all: Mutex::new(all), saving: Mutex::default() }))
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
        let Wanted { scope, to, lasts_millis, allows_preview } = wanted;
        let Some(subjects) = maker.subjects.as_ref().filter(|_| maker.link.is_none()) else {
            return Err(ShareError::Stranger);
        };
        if !(SHORTEST..=LONGEST).contains(&lasts_millis) {
            return Err(ShareError::Time);
        }
        let share = Share {
            id: format!("{:016x}", fastrand::u64(..)),
            maker: maker.name.to_string(),
            subjects: subjects.as_ref().clone(),
            renews_millis: matches!(scope, Scope::Wall { .. }).then_some(lasts_millis),
            scope,
            to,
            made_millis: now_millis,
            until_millis: now_millis + lasts_millis,
            allows_preview,
        };
        let secret = self.keys.seal_value(Name::Link, &share.id).ok_or(ShareError::Stranger)?;
        {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, share| share.until_millis > now_millis);
            let own = all.values().filter(|share| share.is_of(maker)).count();
            if all.len() >= MOST || own >= MOST_OF_ONE {
                return Err(ShareError::TooMany);
            }
            all.insert(share.id.clone(), share.clone());
        }
        match self.clone().save().await {
            Ok(()) => Ok((share, secret)),
            Err(why) => {
                self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&share.id);
                Err(why.into())
            }
        }
    }

    /// What a secret opens now.
    #[must_use]
    pub fn of_secret(&self, secret: &str, now_millis: Millis) -> Option<Share> {
        let id = self.keys.open_value(Name::Link, secret)?;
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&id).filter(|share| share.until_millis > now_millis).cloned()
    }

    /// Who came by the link whose cookie a request carries. Who uses a wall's link makes it last.
    #[must_use]
    pub fn viewer(self: &Arc<Self>, headers: &HeaderMap, now_millis: Millis) -> Option<Viewer> {
        let id = self.keys.open_as(Name::Link, headers)?;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let share = all.get_mut(&id).filter(|share| share.until_millis > now_millis)?;
        let renewed = share.renews_millis.filter(|lasts| share.until_millis - now_millis < lasts / 2);
        let renewed = renewed.map(|lasts| (now_millis + lasts).min(share.made_millis + LONGEST_IN_ALL));
        if let Some(until) = renewed.filter(|until| *until > share.until_millis) {
            share.until_millis = until;
            let this = self.clone();
            // Where it is not written down it lasts as long as the program, or is renewed again.
            tokio::spawn(async move { this.save().await.inspect_err(|why| tracing::warn!("links: {why}")) });
        }
        Some(share.viewer())
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
    #[must_use]
    pub fn previewed(&self, preview: &str, now_millis: Millis) -> Option<(Share, Viewer)> {
        if preview.contains(OF_ADDRESSES.map(|(sealed, _)| sealed)) {
            return None;
        }
        let sealed: String = preview.chars().map(|sign| swapped(sign, OF_ADDRESSES.map(|(a, b)| (b, a)))).collect();
        let id = self.keys.open_value(Name::Preview, &sealed)?;
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let share = all.get(&id).filter(|share| share.allows_preview && share.until_millis > now_millis)?;
        Some((share.clone(), share.viewer()))
    }

    /// The cookie of a link that a request carries, where an older key sealed it.
    #[must_use]
    pub fn resealed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.keys.resealed(Name::Link, headers)
    }

    /// The links that somebody made, or everybody, the one that ends first first.
    #[must_use]
    pub fn made_by(&self, maker: &Viewer, is_everybodys: bool, now_millis: Millis) -> Vec<Share> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
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
        {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            let may_revoke = |share: &Share| is_everybodys || share.is_of(maker);
            if maker.link.is_some() || !all.get(id).is_some_and(may_revoke) {
                return Ok(false);
            }
            all.remove(id);
        }
        self.clone().save().await.map_err(ShareError::Unwritten)?;
        Ok(true)
    }

    /// Writes all of them down, in place of what was there.
    async fn save(self: Arc<Self>) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let saved = tokio::task::spawn_blocking(move || {
            let Some(file) = &self.file else { return Ok(()) };
            // One after the other, each with what there is when it begins: what is written last is what counts last.
            let _turn = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
            let shares = self.all.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            let written = Written { version: VERSION, shares };
            let beside = file.with_extension("new");
            let mut options = std::fs::OpenOptions::new();
            options.create(true).truncate(true).write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut out = options.open(&beside)?;
            out.write_all(&serde_json::to_vec(&written)?)?;
            out.sync_all()?;
            std::fs::rename(&beside, file)
        });
        saved.await.unwrap_or_else(|_| Err(io::Error::other("the program ends")))
    }
}

impl Share {
    /// Who comes by it: its maker, who sees what it opens.
    fn viewer(&self) -> Viewer {
        let opened = Opened { id: self.id.clone(), scope: self.scope.clone(), until_millis: self.until_millis };
        Viewer { link: Some(Arc::new(opened)), ..Viewer::known(self.maker.as_str().into(), self.subjects.clone()) }
    }

    /// That is who made it: to the cluster that it is about, or to some, and to none somebody else.
    fn is_of(&self, viewer: &Viewer) -> bool {
        let Some(subjects) = &viewer.subjects else { return false };
        match (&self.subjects, subjects.as_ref()) {
            (Subjects::Same(maker), Subjects::Same(viewer)) => maker.user == viewer.user,
            (Subjects::Each(maker), Subjects::Each(viewer)) => {
                if self.scope.cluster().is_some_and(|cluster| !viewer.contains_key(cluster)) {
                    return false;
                }
                let mut both =
                    maker.iter().filter_map(|(cluster, maker)| Some((maker, viewer.get(cluster)?))).peekable();
                both.peek().is_some() && both.all(|(maker, viewer)| maker.user == viewer.user)
            }
            _ => false,
        }
    }

    /// What it opens, in words.
    #[must_use]
    pub fn opens(&self) -> String {
        self.scope.words(&self.to)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;
    use timeline::Workload;

    use super::*;
    use crate::scope::Named;
    use crate::source::review::Subject;

    const DAY: Millis = 24 * SHORTEST;

    fn viewer(user: &str) -> Viewer {
        Viewer::known(user.into(), Subjects::Same(Subject { user: user.to_owned(), ..Subject::default() }))
    }

    fn web() -> Scope {
        Scope::Workload(Named::of(&Workload::deployment("prod", "shop", "web")))
    }

    fn wanted(scope: Scope, to: &str, lasts_millis: Millis) -> Wanted {
        Wanted { scope, to: to.to_owned(), lasts_millis, allows_preview: false }
    }

    fn shown(secret: &str) -> HeaderMap {
        let cookie = HeaderValue::from_str(&format!("__Host-rollcast-link={secret}")).unwrap();
        HeaderMap::from_iter([(header::COOKIE, cookie)])
    }

    #[tokio::test]
    async fn a_link_opens_one_thing_until_it_ends_or_is_revoked_by_who_made_it() {
        let shares = Shares::open(Keys::own(), None).unwrap();
        let (ann, ben) = (viewer("ann"), viewer("ben"));
        let (share, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 1_000).await.unwrap();
        let opened = shares.viewer(&shown(&secret), 1_000 + DAY - 1).unwrap();
        assert_eq!((&*opened.name, opened.link.as_ref().unwrap().scope.clone()), ("ann", web()));
        assert_eq!(opened.subjects, ann.subjects, "with its maker's rights");
        assert!(shares.viewer(&shown(&secret), 1_000 + DAY).is_none(), "it has ended");
        for changed in
            [secret.to_uppercase(), secret[1..].to_owned(), format!("{secret}A"), share.id.clone(), String::new()]
        {
            assert!(shares.of_secret(&changed, 1_000).is_none(), "{changed}");
        }
        let others = Shares::open(Keys::own(), None).unwrap();
        let (_, foreign) = others.make(&ann, wanted(web(), "/x", DAY), 1_000).await.unwrap();
        assert!(shares.of_secret(&foreign, 1_000).is_none(), "made elsewhere");
        assert_eq!((shares.made_by(&ann, false, 1_000).len(), shares.made_by(&ben, false, 1_000).len()), (1, 0));
        assert!(!shares.revoke(&ben, false, &share.id).await.unwrap());
        assert!(!shares.revoke(&opened, true, &share.id).await.unwrap(), "not by who came by it");
        assert!(shares.of_secret(&secret, 1_000).is_some());
        assert_eq!(shares.made_by(&ben, true, 1_000).len(), 1, "whoever sees everything sees all links");
        assert!(shares.revoke(&ann, false, &share.id).await.unwrap());
        assert!(shares.of_secret(&secret, 1_000).is_none());
    }

    #[tokio::test]
    async fn only_who_signed_in_makes_links_and_not_without_end() {
        let shares = Shares::open(Keys::own(), None).unwrap();
        let ann = viewer("ann");
        let (_, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
        let by_link = shares.viewer(&shown(&secret), 0).unwrap();
        for maker in [by_link, Viewer::anybody()] {
            assert!(matches!(shares.make(&maker, wanted(web(), "/x", DAY), 0).await, Err(ShareError::Stranger)));
        }
        for lasts in [0, SHORTEST - 1, LONGEST + 1, Millis::MAX, -DAY] {
            assert!(matches!(shares.make(&ann, wanted(web(), "/x", lasts), 0).await, Err(ShareError::Time)), "{lasts}");
        }
        for _ in 1..MOST_OF_ONE {
            shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
        }
        assert!(matches!(shares.make(&ann, wanted(web(), "/x", DAY), 0).await, Err(ShareError::TooMany)));
        assert!(shares.make(&viewer("ben"), wanted(web(), "/x", DAY), 0).await.is_ok());
        assert!(shares.make(&ann, wanted(web(), "/x", DAY), DAY).await.is_ok(), "those that have ended do not count");
    }

    #[tokio::test]
    async fn a_walls_link_lasts_for_as_long_as_it_is_used() {
        let shares = Shares::open(Keys::own(), None).unwrap();
        let wall = Scope::Wall { cluster: None, namespace: None };
        let (_, secret) = shares.make(&viewer("ann"), wanted(wall, "/wall", DAY), 0).await.unwrap();
        for half_days in 1..20 {
            assert!(shares.viewer(&shown(&secret), half_days * DAY / 2 + half_days).is_some(), "{half_days}");
        }
        assert!(shares.viewer(&shown(&secret), 11 * DAY).is_none(), "nobody looked for longer than it lasts");
        let (_, secret) = shares
            .make(&viewer("ann"), wanted(Scope::Wall { cluster: None, namespace: None }, "/wall", DAY), 0)
            .await
            .unwrap();
        let lasted = (1..1_000)
            .take_while(|half_days| shares.viewer(&shown(&secret), half_days * DAY / 2 + half_days).is_some());
        assert_eq!(lasted.count(), 179, "90 days in all");
    }

    #[tokio::test]
    async fn links_outlive_the_program_where_they_are_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let (keys, file) = (Keys::own(), folder.path().join("links.json"));
        let shares = Shares::open(keys.clone(), Some(file.clone())).unwrap();
        let ann = viewer("ann");
        let (first, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
        let (second, _) = shares.make(&ann, wanted(web(), "/y", DAY), 0).await.unwrap();
        shares.revoke(&ann, false, &second.id).await.unwrap();
        let again = Shares::open(keys.clone(), Some(file.clone())).unwrap();
        assert_eq!(again.made_by(&ann, false, 0), [first]);
        assert!(again.of_secret(&secret, 0).is_some());
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret), "secrets are not written down");
        let text = std::fs::read_to_string(&file).unwrap();
        for wrong in [text.replace("\"version\":2", "\"version\":3"), text[..text.len() / 2].to_owned(), "[]".into()] {
            std::fs::write(&file, wrong).unwrap();
            assert!(matches!(Shares::open(keys.clone(), Some(file.clone())), Err(ShareError::Unreadable(..))));
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(Shares::open(keys, Some(file)).is_err());
        assert!(matches!(shares.make(&ann, wanted(web(), "/x", DAY), 0).await, Err(ShareError::File(_))));
        assert_eq!(shares.made_by(&ann, false, 0).len(), 1, "one that is not written down is not made");
    }

    #[tokio::test]
    async fn a_preview_is_there_where_the_maker_allowed_it_until_the_link_ends_and_opens_nothing_else() {
        let (shares, ann) = (Shares::open(Keys::own(), None).unwrap(), viewer("ann"));
        let (quiet, _) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
        assert_eq!(shares.preview_of(&quiet), None);
        let shown_before = Wanted { allows_preview: true, ..wanted(web(), "/x", DAY) };
        let (share, secret) = shares.make(&ann, shown_before, 0).await.unwrap();
        let preview = shares.preview_of(&share).unwrap();
        let (found, viewer) = shares.previewed(&preview, 1).unwrap();
        assert_eq!((found.id.as_str(), viewer.link.as_ref().unwrap().scope.clone()), (share.id.as_str(), web()));
        let sealed_for_another = shares.keys.seal_value(Name::Link, &share.id).unwrap();
        for other in [&secret, &share.id, &preview[1..].to_owned(), &String::new(), &sealed_for_another] {
            let other: String = other.chars().map(|sign| swapped(sign, OF_ADDRESSES)).collect();
            assert!(shares.previewed(&other, 1).is_none(), "{other}");
        }
        let spelled = OF_ADDRESSES.map(|(sealed, shown)| preview.replace(shown, &sealed.to_string()));
        for other in spelled.iter().filter(|other| **other != preview) {
            assert!(shares.previewed(other, 1).is_none(), "another spelling: {other}");
        }
        assert!(shares.of_secret(&preview, 1).is_none() && shares.viewer(&self::shown(&preview), 1).is_none());
        assert!(shares.previewed(&preview, DAY).is_none(), "it has ended");
        shares.revoke(&ann, false, &share.id).await.unwrap();
        assert!(shares.previewed(&preview, 1).is_none());
    }

    #[tokio::test]
    async fn links_of_the_first_version_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("links.json");
        let old = r#"{"version":1,"shares":[{"id":"1","maker":"ann","subjects":SUBJECTS,"scope":{"kind":"workload",
            "cluster":"prod","namespace":"shop","name":"web"},"to":"/x","madeMillis":0,"untilMillis":5,"renewsMillis":null}]}"#;
        let ann = viewer("ann");
        let subjects = serde_json::to_string(ann.subjects.as_ref().unwrap().as_ref()).unwrap();
        std::fs::write(&file, old.replace("SUBJECTS", &subjects)).unwrap();
        let read = Shares::open(Keys::own(), Some(file)).unwrap().made_by(&ann, false, 0);
        assert_eq!(
            read.iter().map(|share| (&share.scope, share.allows_preview)).collect::<Vec<_>>(),
            [(&web(), false)]
        );
    }
}
