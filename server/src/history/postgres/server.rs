//! Where a PostgreSQL server is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::kube::loopback::is_this_machine;

/// A server that takes longer to answer is not there.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
/// A connection over which nothing comes is looked after this often.
const ALIVE: Duration = Duration::from_secs(10);

/// The address of a database as somebody wrote it, with the password: it prints nothing of itself, and nobody who reads options and files
/// can quote it. What is wrong with it is said when it is taken apart.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct DatabaseUrl(String);

impl From<String> for DatabaseUrl {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl")
    }
}

impl DatabaseUrl {
    /// The database that it names.
    ///
    /// # Errors
    /// When it names none.
    pub fn server(&self) -> Result<Server, BadAddress> {
        self.0.parse()
    }
}

/// A database of a PostgreSQL server, and who we are there.
#[derive(Clone)]
pub struct Server {
    config: Arc<Config>,
}

/// A text that names no database.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BadAddress {
    /// The text is no address of a PostgreSQL database.
    #[error("must be a PostgreSQL URL, as postgres://USER:PASSWORD@HOST/DATABASE")]
    Scheme,
    /// Where the password ends cannot be told.
    #[error("it has more than one @: write an @ in the password as %40")]
    At,
    /// Something in it is wrong.
    #[error("{0}")]
    Wrong(String),
}

impl FromStr for Server {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(BadAddress::Scheme);
        }
        // The password would end at the first one, and the rest of it be taken for the host.
        if text.matches('@').count() > 1 {
            return Err(BadAddress::At);
        }
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| BadAddress::Wrong(why(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(BadAddress::Wrong("it has no host".to_owned()));
        }
        if !text.contains("sslmode=") {
            let is_here = config.get_hosts().iter().all(is_here);
            config.ssl_mode(if is_here { SslMode::Disable } else { SslMode::Require });
        }
        config.connect_timeout(CONNECT).keepalives_idle(ALIVE).tcp_user_timeout(ALIVE);
        if config.get_application_name().is_none() {
            config.application_name("rollcast");
        }
        Ok(Self { config: Arc::new(config) })
    }
}

/// On this machine: what goes there is encrypted only where that is asked for, and what goes elsewhere unless it is asked not to be.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => is_this_machine(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// A password that a database cannot be given.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PasswordError {
    /// There is none in it.
    #[error("it is empty")]
    Empty,
    /// The address of the database has one.
    #[error("the database URL has a password too: remove one of them")]
    Second,
}

impl Server {
    /// The same database, with a password that its address does not hold.
    ///
    /// # Errors
    /// When it is empty, or the address holds one.
    pub fn with_password(self, password: &[u8]) -> Result<Self, PasswordError> {
        if password.is_empty() {
            return Err(PasswordError::Empty);
        }
        if self.config.get_password().is_some() {
            return Err(PasswordError::Second);
        }
        let mut config = Config::clone(&self.config);
        config.password(password);
        Ok(Self { config: Arc::new(config) })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }
}

/// Without the password: "PostgreSQL at db.example.com:5432/rollcast".
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgreSQL at ")?;
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
            f.write_str(if index > 0 { "," } else { "" })?;
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().or_else(|| self.config.get_user()).unwrap_or_default())
    }
}

/// Without the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl Eq for Server {}

/// What went wrong, in the server's words where it says any.
pub(super) fn why(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return told.message().to_owned();
    }
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Result<Server, String> {
        text.parse().map_err(|error: BadAddress| error.to_string())
    }

    #[test]
    fn a_server_is_named_without_its_password() {
        let named = |text: &str| server(text).unwrap().to_string();
        assert_eq!(named("postgres://me:secret@db.example.com/rollcast"), "PostgreSQL at db.example.com:5432/rollcast");
        assert_eq!(named("postgresql://me:secret@[::1]:6432"), "PostgreSQL at [::1]:6432/me");
        assert_eq!(named("postgres://me@a,b:7/rollcast"), "PostgreSQL at a:5432,b:7/rollcast");
        let debug = format!("{:?}", server("postgres://me:secret@db/rollcast"));
        assert!(!debug.contains("secret"), "{debug}");
    }

    #[test]
    fn what_is_no_database_is_refused_with_a_sentence() {
        let scheme = "must be a PostgreSQL URL, as postgres://USER:PASSWORD@HOST/DATABASE";
        assert_eq!(server("mysql://here").unwrap_err(), scheme);
        assert_eq!(server("postgres://").unwrap_err(), "it has no host");
        let wrong = server("postgres://me:secret@host:port/db").unwrap_err();
        assert!(!wrong.contains("secret") && !wrong.is_empty(), "{wrong}");
        assert!(server("postgres://host/db?colour=blue").unwrap_err().contains("colour"));
        for (password, rest) in [("pa@secret", "host/db"), ("pa@a/secret", "host/db"), ("pa@a?secret", "host/db")] {
            let wrong = server(&format!("postgres://me:{password}@{rest}")).unwrap_err();
            assert_eq!(wrong, "it has more than one @: write an @ in the password as %40");
        }
        let encoded = server("postgres://me:pa%40secret@host/db").unwrap();
        assert_eq!(
            (encoded.to_string().as_str(), encoded.config().get_password()),
            ("PostgreSQL at host:5432/db", Some(&b"pa@secret"[..]))
        );
        let with = |address: &str, password: &str| server(address).unwrap().with_password(password.as_bytes());
        let given = with("postgres://me@host/db", "pa@secret").unwrap();
        assert_eq!(given.config().get_password(), Some(&b"pa@secret"[..]));
        assert_eq!(format!("{given} {given:?}"), "PostgreSQL at host:5432/db PostgreSQL at host:5432/db");
        assert!(matches!(with("postgres://me@host/db", ""), Err(PasswordError::Empty)));
        assert!(matches!(with("postgres://me:one@host/db", "two"), Err(PasswordError::Second)));
        assert_eq!(format!("{:?}", DatabaseUrl::from("postgres://me:secret@host/db".to_owned())), "DatabaseUrl");
    }

    #[test]
    fn nothing_leaves_this_machine_unencrypted_unasked() {
        let mode = |text: &str| server(text).unwrap().config().get_ssl_mode();
        assert_eq!(mode("postgres://me@localhost/db"), SslMode::Disable);
        assert_eq!(mode("postgres://me@127.0.0.1,[::1]/db"), SslMode::Disable);
        assert_eq!(mode("postgres://me@db.example.com/db"), SslMode::Require);
        assert_eq!(mode("postgres://me@db.example.com/db?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://me@localhost/db?sslmode=require"), SslMode::Require);
    }
}
