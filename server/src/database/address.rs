//! Addresses of PostgreSQL databases.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

use crate::kube::loopback::is_this_machine;

/// Allowed parameters of an address.
const PARAMETERS: &str = "application_name dbname host options password port sslcert sslkey sslmode sslrootcert user";

/// The address of a database as written in options and files, with the password, so it never prints itself.
/// [`Self::server`] reports its errors.
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
    /// Returns `true` if the address has a password.
    pub fn has_password(&self) -> bool {
        self.server().is_ok_and(|server| server.has_password)
    }

    /// Parses the address.
    pub fn server(&self) -> Result<DatabaseServer, InvalidAddress> {
        self.0.parse()
    }
}

/// A database of a PostgreSQL server, with user and password.
#[derive(Clone)]
pub struct DatabaseServer {
    options: Arc<PgConnectOptions>,
    has_password: bool,
}

/// An address that is not valid.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InvalidAddress {
    #[error("must be a PostgreSQL URL, as postgres://USER:PASSWORD@HOST/DATABASE")]
    Scheme,
    /// The end of the password is ambiguous.
    #[error("it has more than one @: write an @ in the password as %40")]
    At,
    #[error(
        "a /, ? or # comes before its @: write these characters in the user and the password as %2F, %3F and %23, and an @ anywhere else as %40"
    )]
    Delimiter,
    #[error("{0}")]
    Part(String),
}

impl FromStr for DatabaseServer {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(InvalidAddress::Scheme);
        }
        // The password would end at the first one, and the rest of it be taken for the host.
        if text.matches('@').count() > 1 {
            return Err(InvalidAddress::At);
        }
        // These end the host: the rest of the password would be taken for a database or a parameter, which are shown.
        let address = text.split_once("://").map_or("", |(_, address)| address);
        if address.split_once(['/', '?', '#']).is_some_and(|(_, rest)| rest.contains('@')) {
            return Err(InvalidAddress::Delimiter);
        }
        let invalid = InvalidAddress::Part;
        let url: Url = text.parse().map_err(|error: url::ParseError| invalid(error.to_string()))?;
        let query = || url.query_pairs().map(|(key, _)| key);
        if let Some(unknown) = query().find(|key| !PARAMETERS.split(' ').any(|known| known == key)) {
            return Err(invalid(format!("unknown parameter {unknown}")));
        }
        let mut options: PgConnectOptions = text.parse().map_err(|error: sqlx::Error| invalid(error.to_string()))?;
        match url.host_str() {
            None | Some("") if !query().any(|key| key == "host") => return Err(invalid("it has no host".to_owned())),
            Some(hosts) if hosts.contains(',') => return Err(invalid("it has more than one host".to_owned())),
            // Only URLs have brackets around IPv6 addresses.
            Some(host) if host.starts_with('[') => options = options.host(host.trim_matches(['[', ']'])),
            _ => {}
        }
        // Only connections on this machine are not encrypted by default.
        let is_local = options.get_socket().is_some() || is_this_machine(options.get_host());
        let mode = match options.get_ssl_mode() {
            _ if !query().any(|key| key == "sslmode") => is_local.then_some(PgSslMode::Disable),
            PgSslMode::Disable => Some(PgSslMode::Disable),
            PgSslMode::Allow | PgSslMode::Prefer => {
                return Err(invalid("sslmode must be disable or require".to_owned()));
            }
            PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => None,
        };
        if options.get_application_name().is_none() {
            options = options.application_name("rollcast");
        }
        // Encrypted connections verify the certificate. Poolers do not know the parameter of floating-point numbers.
        let options = options.ssl_mode(mode.unwrap_or(PgSslMode::VerifyFull)).extra_float_digits(None);
        let has_password = url.password().is_some() || query().any(|key| key == "password");
        Ok(Self { options: Arc::new(options.disable_statement_logging()), has_password })
    }
}

/// A password that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PasswordError {
    #[error("it is empty")]
    Empty,
    #[error("it is not UTF-8")]
    Encoding,
    #[error("the database URL has a password too: remove one of them")]
    Second,
}

impl DatabaseServer {
    /// Adds a password.
    ///
    /// # Errors
    /// When it is empty, or the address has one.
    pub fn with_password(self, password: &[u8]) -> Result<Self, PasswordError> {
        if password.is_empty() {
            return Err(PasswordError::Empty);
        }
        if self.has_password {
            return Err(PasswordError::Second);
        }
        let password = str::from_utf8(password).map_err(|_| PasswordError::Encoding)?;
        let options = PgConnectOptions::clone(&self.options).password(password);
        Ok(Self { options: Arc::new(options), has_password: true })
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns `true` if the certificate is to be verified and this machine trusts no authorities.
    pub(super) fn lacks_authorities(&self) -> bool {
        matches!(self.options.get_ssl_mode(), PgSslMode::VerifyFull)
            && rustls_native_certs::load_native_certs().certs.is_empty()
    }
}

/// Without the password: "PostgreSQL at db.example.com:5432/rollcast".
impl fmt::Display for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (self.options.get_host(), self.options.get_port());
        match self.options.get_socket() {
            Some(path) => write!(f, "PostgreSQL at {}", path.display())?,
            None if host.contains(':') => write!(f, "PostgreSQL at [{host}]:{port}")?,
            None => write!(f, "PostgreSQL at {host}:{port}")?,
        }
        write!(f, "/{}", self.options.get_database().unwrap_or_else(|| self.options.get_username()))
    }
}

/// Without the password.
impl fmt::Debug for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Result<DatabaseServer, String> {
        text.parse().map_err(|error: InvalidAddress| error.to_string())
    }

    #[test]
    fn a_server_is_named_without_its_password() {
        let named = |text: &str| server(text).unwrap().to_string();
        assert_eq!(named("postgres://me:secret@db.example.com/rollcast"), "PostgreSQL at db.example.com:5432/rollcast");
        assert_eq!(named("postgresql://me:secret@[::1]:6432"), "PostgreSQL at [::1]:6432/me");
        let debug = format!("{:?}", server("postgres://me:secret@db/rollcast"));
        assert!(!debug.contains("secret"), "{debug}");
    }

    #[test]
    fn what_is_no_database_is_refused_with_a_sentence() {
        let scheme = "must be a PostgreSQL URL, as postgres://USER:PASSWORD@HOST/DATABASE";
        assert_eq!(server("mysql://here").unwrap_err(), scheme);
        assert_eq!(server("postgres://").unwrap_err(), "it has no host");
        assert_eq!(server("postgres://me@a,b:7/rollcast").unwrap_err(), "it has more than one host");
        let wrong = server("postgres://me:secret@host:port/db").unwrap_err();
        assert!(!wrong.contains("secret") && !wrong.is_empty(), "{wrong}");
        assert!(server("postgres://host/db?colour=blue").unwrap_err().contains("colour"));
        for (password, rest) in [("pa@secret", "host/db"), ("pa@a/secret", "host/db"), ("pa@a?secret", "host/db")] {
            let wrong = server(&format!("postgres://me:{password}@{rest}")).unwrap_err();
            assert_eq!(wrong, "it has more than one @: write an @ in the password as %40");
        }
        // The text before this character is taken for the port.
        for password in ["/secret", "7/secret", "7?secret", "7?a=secret&b", "7#secret"] {
            let wrong = server(&format!("postgres://me:{password}@host/db")).unwrap_err();
            assert!(wrong.starts_with("a /, ? or # comes before its @") && !wrong.contains("secret"), "{wrong}");
        }
        let password = |server: &DatabaseServer| server.options().to_url_lossy().password().map(str::to_owned);
        let encoded = server("postgres://me:pa%40secret@host/db").unwrap();
        assert_eq!(
            (encoded.to_string().as_str(), password(&encoded).as_deref()),
            ("PostgreSQL at host:5432/db", Some("pa%40secret"))
        );
        let with = |address: &str, password: &str| server(address).unwrap().with_password(password.as_bytes());
        let given = with("postgres://me@host/db", "pa@secret").unwrap();
        assert_eq!(password(&given).as_deref(), Some("pa%40secret"));
        assert_eq!(format!("{given} {given:?}"), "PostgreSQL at host:5432/db PostgreSQL at host:5432/db");
        assert!(matches!(with("postgres://me@host/db", ""), Err(PasswordError::Empty)));
        assert!(matches!(with("postgres://me:one@host/db", "two"), Err(PasswordError::Second)));
        let url = |text: &str| DatabaseUrl::from(text.to_owned());
        assert_eq!(format!("{:?}", url("postgres://me:secret@host/db")), "DatabaseUrl");
        let has_password = ["me:secret@host/db", "host/db?password=secret", "me@host/db", "host/db"]
            .map(|rest| url(&format!("postgres://{rest}")).has_password());
        assert_eq!(has_password, [true, true, false, false]);
    }

    #[test]
    fn nothing_leaves_this_machine_unencrypted_unasked() {
        let encrypts = |text: &str| match server(text).unwrap().options().get_ssl_mode() {
            PgSslMode::Disable => false,
            PgSslMode::VerifyFull => true,
            other => panic!("{other:?}"),
        };
        assert!(!encrypts("postgres://me@localhost/db") && !encrypts("postgres://me@[::1]/db"));
        assert!(!encrypts("postgres://me@%2Frun%2Fpostgresql/db") && encrypts("postgres://me@db.example.com/db"));
        assert!(!encrypts("postgres://me@db.example.com/db?sslmode=disable"));
        assert!(encrypts("postgres://me@localhost/db?sslmode=require"));
    }
}
