//! The cookies that hold a session, and what somebody takes along to where they sign in: encrypted, so that nobody reads or makes one;
//! with the first key, readable with every key.

use std::path::Path;

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, CookieJar, Key, SameSite};

/// What a cookie is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// It holds a session.
    Session,
    /// It is with somebody who signs in elsewhere.
    Start,
    /// It is with somebody who came by a link, and is what stands in the link.
    Link,
}

impl Name {
    /// How browsers know it: one of that kind they send over TLS, or to this machine, and to the very host that set it.
    const fn text(self) -> &'static str {
        match self {
            Self::Session => "__Host-rollcast",
            Self::Start => "__Host-rollcast-start",
            Self::Link => "__Host-rollcast-link",
        }
    }

    /// How long it is kept, in seconds; `None` for as long as the browser runs.
    const fn lasts(self) -> Option<i64> {
        match self {
            Self::Session => None,
            Self::Start => Some(600),
            Self::Link => Some(400 * 24 * 3_600), // as long as browsers keep any: when it ends is known here
        }
    }
}

/// Shortest secret of a key, in bytes.
const SHORTEST: usize = 32;
/// Longest cookie that browsers keep, in bytes.
const LONGEST: usize = 4_000;

/// Keys of sessions.
#[derive(Clone)]
pub struct Keys(Vec<Key>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

/// Keys that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read.
    #[error("cannot read the keys of sessions: {0}")]
    File(#[from] std::io::Error),
    /// It has no key.
    #[error(
        "the file of session keys holds none: write one of at least {SHORTEST} characters into each line, the newest first"
    )]
    None,
    /// A key is too short.
    #[error("line {0} of the file of session keys is too short: a key has at least {SHORTEST} characters")]
    Short(usize),
}

impl Keys {
    /// A key that nobody else knows: sessions end with the program.
    #[must_use]
    pub fn own() -> Self {
        Self(vec![Key::generate()])
    }

    /// The keys of a file, one in each line.
    ///
    /// # Errors
    /// When there is none, or one is too short.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let text = std::fs::read_to_string(path)?;
        let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
        let key = |(number, line): (usize, &str)| match line.len() >= SHORTEST {
            true => Ok(Key::derive_from(line.as_bytes())),
            false => Err(KeysError::Short(number)),
        };
        let keys = lines.map(key).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(KeysError::None) } else { Ok(Self(keys)) }
    }

    /// What the session of a request holds.
    #[must_use]
    pub fn open(&self, headers: &HeaderMap) -> Option<String> {
        self.open_as(Name::Session, headers)
    }

    /// What a cookie of a request holds.
    #[must_use]
    pub fn open_as(&self, name: Name, headers: &HeaderMap) -> Option<String> {
        let text = name.text();
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut own = all.flat_map(Cookie::split_parse).flatten().filter(|cookie| cookie.name() == text);
        let cookie = own.next()?;
        if own.next().is_some() {
            return None; // two of them: one was planted
        }
        self.open_value(name, cookie.value())
    }

    /// A session that holds something; `None` when that is too much for a cookie.
    #[must_use]
    pub fn seal(&self, content: &str) -> Option<HeaderValue> {
        self.seal_as(Name::Session, content)
    }

    /// A cookie that holds something; `None` when that is too much for one.
    #[must_use]
    pub fn seal_as(&self, name: Name, content: &str) -> Option<HeaderValue> {
        Self::cookie_of(name, &self.seal_value(name, content)?).filter(|cookie| cookie.len() <= LONGEST)
    }

    /// What the value of a cookie holds.
    #[must_use]
    pub fn open_value(&self, name: Name, value: &str) -> Option<String> {
        let mut jar = CookieJar::new();
        jar.add_original(Cookie::new(name.text(), value.to_owned()));
        self.0.iter().find_map(|key| jar.private(key).get(name.text())).map(|cookie| cookie.value().to_owned())
    }

    /// The value of a cookie that holds something.
    #[must_use]
    pub fn seal_value(&self, name: Name, content: &str) -> Option<String> {
        let mut jar = CookieJar::new();
        jar.private_mut(self.0.first()?).add(base(name, content.to_owned()));
        jar.get(name.text()).map(|cookie| cookie.value().to_owned())
    }

    /// A cookie of a value that was sealed before; `None` where it is none.
    #[must_use]
    pub fn cookie_of(name: Name, value: &str) -> Option<HeaderValue> {
        HeaderValue::from_str(&base(name, value.to_owned()).to_string()).ok()
    }

    /// What takes the session away.
    #[must_use]
    pub fn nothing() -> HeaderValue {
        Self::nothing_as(Name::Session)
    }

    /// What takes a cookie away.
    #[must_use]
    pub const fn nothing_as(name: Name) -> HeaderValue {
        HeaderValue::from_static(match name {
            Name::Session => "__Host-rollcast=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0",
            Name::Start => "__Host-rollcast-start=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0",
            Name::Link => "__Host-rollcast-link=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0",
        })
    }
}

fn base(name: Name, content: String) -> Cookie<'static> {
    let cookie = Cookie::build((name.text(), content)).path("/").http_only(true).secure(true).same_site(SameSite::Lax);
    match name.lasts() {
        Some(seconds) => cookie.max_age(Duration::seconds(seconds)).build(),
        None => cookie.build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = Name::Session.text();

    fn sent(value: &HeaderValue) -> HeaderMap {
        let pair = value.to_str().unwrap().split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&format!("theme=dark; {pair}")).unwrap());
        headers
    }

    fn keys(lines: &[&str]) -> Result<Keys, KeysError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        Keys::read(file.path())
    }

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn a_session_is_read_with_every_key_and_by_nobody_else() {
        let (old, both, new) = (keys(&[OLD]).unwrap(), keys(&[NEW, "", OLD]).unwrap(), keys(&[NEW]).unwrap());
        let cookie = old.seal("secret-token").unwrap();
        assert!(!cookie.to_str().unwrap().contains("secret"));
        assert!(cookie.to_str().unwrap().starts_with("__Host-rollcast="));
        for attribute in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
            assert!(cookie.to_str().unwrap().contains(attribute), "{attribute}");
        }
        assert!(!cookie.to_str().unwrap().contains("Domain"));
        assert_eq!(old.open(&sent(&cookie)).as_deref(), Some("secret-token"));
        assert_eq!(both.open(&sent(&cookie)).as_deref(), Some("secret-token"));
        assert_eq!(new.open(&sent(&cookie)), None);
        assert_eq!(new.open(&sent(&both.seal("again").unwrap())).as_deref(), Some("again"), "the first key seals");
    }

    #[test]
    fn what_was_changed_or_planted_is_no_session() {
        let keys = keys(&[OLD]).unwrap();
        let cookie = keys.seal("secret-token").unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let open = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_str(text).unwrap());
            keys.open(&headers)
        };
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
        assert_eq!(keys.seal(&"x".repeat(5_000)), None);
    }

    #[test]
    fn what_was_made_for_something_else_is_no_session() {
        let keys = keys(&[OLD]).unwrap();
        let start = keys.seal_as(Name::Start, "secret").unwrap();
        assert!(start.to_str().unwrap().contains("Max-Age=600"));
        assert_eq!(keys.open_as(Name::Start, &sent(&start)).as_deref(), Some("secret"));
        assert_eq!(keys.open(&sent(&start)), None);
        let renamed = start.to_str().unwrap().replace("__Host-rollcast-start=", "__Host-rollcast=");
        assert_eq!(keys.open(&sent(&HeaderValue::from_str(&renamed).unwrap())), None, "nor by another name");
        for name in [Name::Session, Name::Start, Name::Link] {
            let nothing = Keys::nothing_as(name);
            assert!(nothing.to_str().unwrap().starts_with(&format!("{}=;", name.text())));
        }
    }

    #[test]
    fn keys_are_long_enough() {
        assert_eq!(
            keys(&[OLD, "short"]).unwrap_err().to_string(),
            "line 2 of the file of session keys is too short: a key has at least 32 characters"
        );
        assert!(matches!(keys(&["", " "]), Err(KeysError::None)));
    }
}
