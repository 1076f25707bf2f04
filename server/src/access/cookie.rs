//! Encrypted cookies of sessions and sign-ins. The first key encrypts, a new one after five minutes. All decrypt.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration as Wait;

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, CookieJar, Key, SameSite};
use tokio::time::Instant;

/// The use of an encrypted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealPurpose {
    /// The cookie of a session.
    Session,
    /// A cookie during a sign-in at a provider.
    PendingSignIn,
    /// A share link, and the cookie of a viewer who opened it.
    Link,
    /// No cookie: a part of the address of a preview.
    Preview,
    /// No cookie: a link as the database stores it.
    StoredLink,
}

impl SealPurpose {
    /// Returns the name of the cookie. With this prefix browsers send it only to the host that set it, and over TLS
    /// only: Chrome and Firefox send it to this machine without TLS too.
    const fn cookie_name(self) -> &'static str {
        match self {
            Self::Session => "__Host-rollcast",
            Self::PendingSignIn => "__Host-rollcast-start",
            Self::Link => "__Host-rollcast-link",
            Self::Preview => "__Host-rollcast-preview",
            Self::StoredLink => "__Host-rollcast-kept",
        }
    }

    /// Returns the lifetime in seconds; `None` for until the browser is closed.
    const fn max_age_seconds(self) -> Option<i64> {
        match self {
            Self::Session | Self::Preview | Self::StoredLink => None,
            Self::PendingSignIn => Some(600),
            Self::Link => Some(400 * 24 * 3_600), // the longest that browsers allow: the server knows the real expiry
        }
    }
}

/// Shortest secret of a key, in bytes.
const SHORTEST_KEY: usize = 32;
/// Longest cookie that browsers keep, in bytes.
const LONGEST_COOKIE: usize = 4_000;

/// Interval of reading the file with keys.
const LOOK_EVERY: Wait = Wait::from_secs(5);

/// The key that encrypted before the file changed still encrypts for this time, if it is still in the file: another pod may
/// read the new file later, a mounted Secret up to two minutes, and until then it decrypts with the old keys only.
const OLD_KEY_SEALS_FOR: Wait = Wait::from_secs(5 * 60);

/// Keys that encrypt sessions, the newest first. Clones share them.
#[derive(Clone)]
pub struct SessionKeys(Arc<RwLock<KeyList>>);

#[derive(Clone)]
struct KeyList {
    keys: Vec<Key>,
    /// Index of the key that encrypts until then; afterwards the first one does.
    earlier_key: Option<(usize, Instant)>,
}

impl KeyList {
    /// Returns the index of the key that encrypts.
    fn sealing_index(&self) -> usize {
        self.earlier_key.filter(|(_, until)| Instant::now() < *until).map_or(0, |(at, _)| at)
    }

    /// Takes the keys of a changed file.
    fn replace(&mut self, keys: Vec<Key>) {
        let sealing = self.keys.get(self.sealing_index());
        let earlier_key = keys.iter().position(|key| Some(key) == sealing);
        let earlier_key = earlier_key.map(|at| (at, Instant::now() + OLD_KEY_SEALS_FOR));
        *self = Self { keys, earlier_key };
    }
}

impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.list().keys.len())
    }
}

/// Invalid session keys.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SessionKeysError {
    #[error("cannot read the session keys of {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(
        "the file of session keys is empty: write one key of at least {SHORTEST_KEY} characters on each line, the newest first"
    )]
    None,
    #[error("line {0} of the file of session keys is too short: a key has at least {SHORTEST_KEY} characters")]
    Short(usize),
}

impl SessionKeys {
    /// Creates a random key: sessions end with the program.
    pub fn generate() -> Self {
        Self::from_keys(vec![Key::generate()])
    }

    fn from_keys(keys: Vec<Key>) -> Self {
        Self(Arc::new(RwLock::new(KeyList { keys, earlier_key: None })))
    }

    fn list(&self) -> KeyList {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the keys of a file, and reloads them when the file changes. Invalid content is logged, and the previous
    /// keys stay in use.
    ///
    /// # Errors
    /// When there is none now, or one is too short.
    pub fn watch(path: PathBuf) -> Result<Self, SessionKeysError> {
        let unread = |source| SessionKeysError::File { path: path.clone(), source };
        let mut known = std::fs::read_to_string(&path).map_err(unread)?;
        let keys = Self::parse(&known)?;
        if keys.list().keys.len() > 1 {
            // Other servers may not have read the first key yet.
            let second = Some((1, Instant::now() + OLD_KEY_SEALS_FOR));
            keys.0.write().unwrap_or_else(PoisonError::into_inner).earlier_key = second;
        }
        let (held, mut seen) = (Arc::downgrade(&keys.0), known.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let file = path.clone();
                let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file)).await;
                let Some(held) = held.upgrade() else { return };
                // A missing file may be about to be written.
                let Ok(Ok(text)) = read else { continue };
                // A file that is being written may end in the middle of a key: it is used once two reads are the same.
                let is_written = text == seen;
                seen.clone_from(&text);
                if text == known || !is_written {
                    continue;
                }
                match Self::parse(&text) {
                    Ok(now) => {
                        held.write().unwrap_or_else(PoisonError::into_inner).replace(now.list().keys);
                        tracing::info!("session keys reloaded");
                    }
                    Err(why) => tracing::error!("{why}; still using the previous keys"),
                }
                known = text; // so that an error is logged once
            }
        });
        Ok(keys)
    }

    /// Parses the keys of a text, one in each line.
    ///
    /// # Errors
    /// When there is none, or one is too short.
    pub fn parse(text: &str) -> Result<Self, SessionKeysError> {
        let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
        let key = |(number, line): (usize, &str)| match line.len() >= SHORTEST_KEY {
            true => Ok(Key::derive_from(line.as_bytes())),
            false => Err(SessionKeysError::Short(number)),
        };
        let keys = lines.map(key).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(SessionKeysError::None) } else { Ok(Self::from_keys(keys)) }
    }

    /// Decrypts a cookie of a request.
    pub fn open(&self, purpose: SealPurpose, headers: &HeaderMap) -> Option<String> {
        self.open_value(purpose, cookie_of_request(purpose, headers)?.value())
    }

    /// Returns the cookie of a request encrypted with the key that encrypts now; `None` if it already is, or with a newer
    /// one. Old keys can be removed once no cookie uses them.
    pub fn reseal(&self, purpose: SealPurpose, headers: &HeaderMap) -> Option<HeaderValue> {
        Self::cookie_of(purpose, &self.reseal_value(purpose, cookie_of_request(purpose, headers)?.value())?)
    }

    /// Encrypts a value again that an older key encrypted.
    pub fn reseal_value(&self, purpose: SealPurpose, value: &str) -> Option<String> {
        let (key, content) = self.open_with_key(purpose, value)?;
        if key <= self.list().sealing_index() { None } else { self.seal_value(purpose, &content) }
    }

    /// Returns a cookie with encrypted content; `None` if the content is too long for one.
    pub fn seal(&self, purpose: SealPurpose, content: &str) -> Option<HeaderValue> {
        Self::cookie_of(purpose, &self.seal_value(purpose, content)?)
    }

    /// Decrypts the value of a cookie.
    pub fn open_value(&self, purpose: SealPurpose, value: &str) -> Option<String> {
        self.open_with_key(purpose, value).map(|(_, content)| content)
    }

    /// Decrypts a value; returns the index of its key and the content.
    fn open_with_key(&self, purpose: SealPurpose, value: &str) -> Option<(usize, String)> {
        let mut jar = CookieJar::new();
        jar.add_original(Cookie::new(purpose.cookie_name(), value.to_owned()));
        let keys = self.list().keys;
        let mut opened =
            keys.iter().enumerate().filter_map(|(at, key)| Some((at, jar.private(key).get(purpose.cookie_name())?)));
        opened.next().map(|(at, cookie)| (at, cookie.value().to_owned()))
    }

    /// Encrypts the content of a cookie.
    pub fn seal_value(&self, purpose: SealPurpose, content: &str) -> Option<String> {
        let (mut jar, list) = (CookieJar::new(), self.list());
        jar.private_mut(list.keys.get(list.sealing_index())?).add(base(purpose, content.to_owned()));
        jar.get(purpose.cookie_name()).map(|cookie| cookie.value().to_owned())
    }

    /// Returns a cookie with an encrypted value; `None` if the value is missing or too long.
    pub fn cookie_of(purpose: SealPurpose, value: &str) -> Option<HeaderValue> {
        let cookie = HeaderValue::from_str(&base(purpose, value.to_owned()).to_string()).ok();
        cookie.filter(|cookie| cookie.len() <= LONGEST_COOKIE)
    }

    /// Returns whether a request has a cookie of that name, whatever its value.
    pub fn has_cookie(purpose: SealPurpose, headers: &HeaderMap) -> bool {
        cookies_of_request(purpose, headers).next().is_some()
    }

    /// Returns the header that removes a cookie.
    pub fn removal(purpose: SealPurpose) -> String {
        format!("{}=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0", purpose.cookie_name())
    }
}

/// Returns the cookies of a request that have that name.
fn cookies_of_request(purpose: SealPurpose, headers: &HeaderMap) -> impl Iterator<Item = Cookie<'_>> {
    // Other programs of the host may have cookies that are not ASCII, which stand in the same header.
    let all = headers.get_all(header::COOKIE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    all.flat_map(Cookie::split_parse).flatten().filter(move |cookie| cookie.name() == purpose.cookie_name())
}

/// Returns the cookie of a request; `None` if there are two.
fn cookie_of_request(purpose: SealPurpose, headers: &HeaderMap) -> Option<Cookie<'_>> {
    let mut own = cookies_of_request(purpose, headers);
    let cookie = own.next()?;
    // Of two cookies with this name, an attacker may have set one.
    own.next().is_none().then_some(cookie)
}

fn base(purpose: SealPurpose, content: String) -> Cookie<'static> {
    let cookie =
        Cookie::build((purpose.cookie_name(), content)).path("/").http_only(true).secure(true).same_site(SameSite::Lax);
    match purpose.max_age_seconds() {
        Some(seconds) => cookie.max_age(Duration::seconds(seconds)).build(),
        None => cookie.build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = SealPurpose::Session.cookie_name();

    fn given(value: &HeaderValue) -> HeaderMap {
        let pair = value.to_str().unwrap().split(';').next().unwrap();
        cookies(&format!("theme=dark; {pair}"))
    }

    fn cookies(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(text).unwrap())])
    }

    fn keys(lines: &[&str]) -> Result<SessionKeys, SessionKeysError> {
        SessionKeys::parse(&lines.join("\n"))
    }

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn a_session_is_read_with_every_key_and_by_nobody_else() {
        let (old, both, new) = (keys(&[OLD]).unwrap(), keys(&[NEW, "", OLD]).unwrap(), keys(&[NEW]).unwrap());
        let cookie = old.seal(SealPurpose::Session, "secret-token").unwrap();
        assert!(!cookie.to_str().unwrap().contains("secret"));
        assert!(cookie.to_str().unwrap().starts_with("__Host-rollcast="));
        for attribute in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
            assert!(cookie.to_str().unwrap().contains(attribute), "{attribute}");
        }
        assert!(!cookie.to_str().unwrap().contains("Domain"));
        assert_eq!(old.open(SealPurpose::Session, &given(&cookie)).as_deref(), Some("secret-token"));
        assert_eq!(both.open(SealPurpose::Session, &given(&cookie)).as_deref(), Some("secret-token"));
        assert_eq!(new.open(SealPurpose::Session, &given(&cookie)), None);
        assert_eq!(
            new.open(SealPurpose::Session, &given(&both.seal(SealPurpose::Session, "again").unwrap())).as_deref(),
            Some("again"),
            "the first key seals"
        );
    }

    #[test]
    fn a_cookie_of_another_program_hides_no_session() {
        let keys = keys(&[OLD]).unwrap();
        let cookie = keys.seal(SealPurpose::Session, "secret-token").unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap().as_bytes();
        for other in ["name=J\u{f6}rg".as_bytes(), b"name=J\xf6rg", b"=", b"\xf6"] {
            let sent = [other, b"; ", pair, b"; ", other].concat();
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_bytes(&sent).unwrap())]);
            assert_eq!(keys.open(SealPurpose::Session, &headers).as_deref(), Some("secret-token"), "{other:?}");
        }
    }

    #[test]
    fn what_an_older_key_sealed_is_sealed_with_the_newest() {
        let (old, both, new) = (keys(&[OLD]).unwrap(), keys(&[NEW, OLD]).unwrap(), keys(&[NEW]).unwrap());
        for name in [SealPurpose::Session, SealPurpose::Link] {
            let cookie = given(&old.seal(name, "secret").unwrap());
            let anew = both.reseal(name, &cookie).unwrap();
            assert_eq!(new.open(name, &given(&anew)).as_deref(), Some("secret"), "the old key may go");
            assert_eq!(both.reseal(name, &given(&anew)), None, "once is enough");
            assert_eq!((new.reseal(name, &cookie), old.reseal(name, &cookie)), (None, None));
            assert_eq!(both.reseal(name, &HeaderMap::new()), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_change_are_used_by_all_who_have_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), OLD).unwrap();
        let keys = SessionKeys::watch(file.path().to_owned()).unwrap();
        let (other, cookie) = (keys.clone(), given(&keys.seal(SealPurpose::Session, "secret").unwrap()));
        for (text, takes, is_resealed, is_open) in [
            (format!("{NEW}\n{OLD}\n"), OLD_KEY_SEALS_FOR, true, true),
            ("short".to_owned(), Wait::ZERO, true, true), // invalid: the previous keys remain
            (NEW.to_owned(), Wait::ZERO, false, false),
            (OLD.to_owned(), Wait::ZERO, false, true),
        ] {
            std::fs::write(file.path(), &text).unwrap();
            let by = Instant::now() + takes + 3 * LOOK_EVERY;
            let is_so = || {
                let sealed = other.reseal(SealPurpose::Session, &cookie).is_some();
                sealed == is_resealed && other.open(SealPurpose::Session, &cookie).is_some() == is_open
            };
            while !is_so() {
                assert!(Instant::now() < by, "not in time: {text}");
                tokio::time::sleep(LOOK_EVERY / 5).await; // polls with a deadline
            }
        }
        std::fs::remove_file(file.path()).unwrap();
        tokio::time::sleep(3 * LOOK_EVERY).await;
        assert!(keys.open(SealPurpose::Session, &cookie).is_some(), "a file that is gone takes no key away");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_reads_a_new_key_first_signs_nobody_out_of_another() {
        let reseal = |pod: &SessionKeys, cookie: &HeaderValue| pod.reseal(SealPurpose::Session, &given(cookie));
        let (first, other) = (keys(&[OLD]).unwrap(), keys(&[OLD]).unwrap());
        let reload = |pod: &SessionKeys, lines: &[&str]| {
            pod.0.write().unwrap().replace(keys(lines).unwrap().list().keys);
        };
        let cookie = first.seal(SealPurpose::Session, "secret").unwrap();
        reload(&first, &[NEW, OLD]);
        assert_eq!(reseal(&first, &cookie), None);
        tokio::time::advance(OLD_KEY_SEALS_FOR - Wait::from_millis(1)).await;
        let late = first.seal(SealPurpose::Session, "late").unwrap();
        assert_eq!(other.open(SealPurpose::Session, &given(&late)).as_deref(), Some("late"), "it has the old key only");
        reload(&other, &[NEW, OLD]);
        tokio::time::advance(Wait::from_millis(1)).await;
        let anew = reseal(&first, &cookie).unwrap();
        assert_eq!(keys(&[NEW]).unwrap().open(SealPurpose::Session, &given(&anew)).as_deref(), Some("secret"));
        assert_eq!(other.open(SealPurpose::Session, &given(&anew)).as_deref(), Some("secret"));
        assert_eq!(reseal(&other, &anew), None, "a newer key stays");
        // Once the file lacks the old key, the new one encrypts at once.
        reload(&other, &[NEW]);
        let sealed = other.seal(SealPurpose::Session, "new").unwrap();
        assert!(keys(&[NEW]).unwrap().open(SealPurpose::Session, &given(&sealed)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_does_not_count() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), OLD).unwrap();
        let keys = SessionKeys::watch(file.path().to_owned()).unwrap();
        let cookie = given(&keys.seal(SealPurpose::Session, "secret").unwrap());
        tokio::time::sleep(LOOK_EVERY / 2).await; // between two checks
        for length in 0..8 {
            std::fs::write(file.path(), format!("{NEW}{}", &OLD[..length])).unwrap();
            tokio::time::sleep(LOOK_EVERY).await;
            assert!(keys.open(SealPurpose::Session, &cookie).is_some(), "{length} more characters");
        }
    }

    #[test]
    fn what_was_changed_or_planted_is_no_session() {
        let keys = keys(&[OLD]).unwrap();
        let cookie = keys.seal(SealPurpose::Session, "secret-token").unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let open = |text: &str| keys.open(SealPurpose::Session, &cookies(text));
        assert!(open(&pair).is_some());
        for at in (NAME.len() + 1..pair.len()).step_by(3) {
            let mut changed = pair.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed == pair || open(&changed).is_none(), "{changed}");
        }
        assert_eq!(open(&format!("{pair}; {pair}")), None);
        assert_eq!(open(&pair.replace("__Host-", "")), None);
        assert_eq!(open(&format!("{NAME}=secret-token")), None);
        assert_eq!(open(&format!("{NAME}=")), None);
        assert_eq!(keys.seal(SealPurpose::Session, &"x".repeat(5_000)), None);
    }

    #[test]
    fn what_was_made_for_something_else_is_no_session() {
        let keys = keys(&[OLD]).unwrap();
        let start = keys.seal(SealPurpose::PendingSignIn, "secret").unwrap();
        assert!(start.to_str().unwrap().contains("Max-Age=600"));
        assert_eq!(keys.open(SealPurpose::PendingSignIn, &given(&start)).as_deref(), Some("secret"));
        assert_eq!(keys.open(SealPurpose::Session, &given(&start)), None);
        let renamed = start.to_str().unwrap().replace("__Host-rollcast-start=", "__Host-rollcast=");
        assert_eq!(
            keys.open(SealPurpose::Session, &given(&HeaderValue::from_str(&renamed).unwrap())),
            None,
            "nor by another name"
        );
    }

    #[test]
    fn keys_are_long_enough() {
        assert_eq!(
            keys(&[OLD, "short"]).unwrap_err().to_string(),
            "line 2 of the file of session keys is too short: a key has at least 32 characters"
        );
        assert!(matches!(keys(&["", " "]), Err(SessionKeysError::None)));
    }
}
