//! Errors of the Kubernetes client as text without secrets. The client's own texts about credentials are not used: they quote
//! commands with their arguments and output, tokens that are invalid in a header, and passwords in addresses.

use std::error::Error;
use std::io;

use http::Uri;
use kube::client::AuthError;

use crate::telemetry::error_chain::{self, layers};

/// Returns whether the credentials cannot be used, so that the request was not sent.
pub(super) fn is_about_credentials(error: &(dyn Error + 'static)) -> bool {
    layers(error).any(|error| error.is::<AuthError>())
}

/// Returns the reasons of an error, or a fixed sentence if they may contain secrets.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    if let Some(auth) = layers(error).find_map(|error| error.downcast_ref::<AuthError>()) {
        return of_credentials(auth);
    }
    // The address of a proxy may contain a password.
    if let Some(kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. }) =
        layers(error).find_map(|error| error.downcast_ref::<kube::Error>())
    {
        return "its proxy-url has an unsupported scheme; use http, https or socks5".to_owned();
    }
    // The operating system's error needs no context: "connection refused".
    let by_system = |error: &io::Error| {
        use io::ErrorKind::{
            ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, TimedOut,
        };
        let kind = error.kind();
        match kind {
            ConnectionAborted | ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable
            | TimedOut => Some(kind.to_string()),
            _ => None,
        }
    };
    if let Some(why) = layers(error).find_map(|error| error.downcast_ref::<io::Error>()).and_then(by_system) {
        return why;
    }
    let unresolved = |text: String| {
        let why = text.strip_prefix("failed to lookup address information: ")?;
        Some(format!("cannot resolve the name of the server, or of its proxy: {why}"))
    };
    if let Some(why) = layers(error).map(ToString::to_string).find_map(unresolved) {
        return timeline::words::safe(&why);
    }
    // Outer errors only report that a request failed.
    timeline::words::safe(&error_chain::join(error))
}

fn of_credentials(error: &AuthError) -> String {
    let fixed = match error {
        AuthError::AuthExecRun { out, .. } => {
            return format!("the command of its auth-provider failed ({}); run it by hand to see why", out.status);
        }
        AuthError::ReadTokenFile(why, _) => return format!("cannot read its token file ({})", why.kind()),
        AuthError::InvalidBasicAuth(_) => "its user name or password has characters that a header cannot contain",
        AuthError::InvalidBearerToken(_) => "its token has characters that a header cannot contain",
        AuthError::MalformedTokenExpirationDate(_) => "the expiry time of its token is invalid",
        AuthError::AuthExecStart(_) => "cannot start its credential plugin",
        AuthError::AuthExecParse(_) | AuthError::ParseTokenKey(_) => "cannot read the output of its credential plugin",
        _ => "its auth-provider returned no credentials; if it names a command, run the command by hand to see why",
    };
    fixed.to_owned()
}

/// Removes user and password from an address. The client does not send them, but logs addresses.
pub(super) fn without_user(address: Uri) -> Uri {
    let Some((_, host)) = address.authority().and_then(|authority| authority.as_str().rsplit_once('@')) else {
        return address;
    };
    let Ok(host) = host.parse() else { return address };
    let mut parts = address.clone().into_parts();
    parts.authority = Some(host);
    Uri::from_parts(parts).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_without_who_asks() {
        for (address, told) in [
            ("https://10.0.0.1:6443/", "https://10.0.0.1:6443/"),
            ("https://ann:secret@10.0.0.1:6443/k8s/c", "https://10.0.0.1:6443/k8s/c"),
            ("http://:secret@host", "http://host/"),
        ] {
            assert_eq!(without_user(address.parse().unwrap()).to_string(), told);
        }
    }

    #[test]
    fn what_the_system_says_is_said_without_its_wrapping() {
        let refused = std::net::TcpStream::connect("127.0.0.1:1").unwrap_err();
        let deep = kube::Error::Service(Box::new(kube::Error::Service(Box::new(refused))));
        assert_eq!(describe(&deep), "connection refused");
        let unresolved = io::Error::other("failed to lookup address information: Name or service not known");
        let unresolved = kube::Error::Service(Box::new(unresolved));
        assert_eq!(
            describe(&unresolved),
            "cannot resolve the name of the server, or of its proxy: Name or service not known"
        );
        let ours = kube::Error::Service(Box::new(io::Error::other("no life sign")));
        assert!(describe(&ours).contains("no life sign"), "{}", describe(&ours));
    }

    #[test]
    fn what_is_wrong_with_credentials_is_said_in_words_of_our_own() {
        let secret = || "secret".to_owned();
        let header = || http::HeaderValue::from_str("secret\n").unwrap_err();
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let no_json = serde_json::from_str::<bool>("\"secret\"").unwrap_err();
        for (auth, told) in [
            (AuthError::ReadTokenFile(missing, secret().into()), "cannot read its token file (entity not found)"),
            (
                AuthError::ReadTokenFile(io::Error::other("secret"), secret().into()),
                "cannot read its token file (other error)",
            ),
            (
                AuthError::InvalidBasicAuth(header()),
                "its user name or password has characters that a header cannot contain",
            ),
            (AuthError::InvalidBearerToken(header()), "its token has characters that a header cannot contain"),
            (
                AuthError::MalformedTokenExpirationDate("secret".parse::<jiff::Timestamp>().unwrap_err()),
                "the expiry time of its token is invalid",
            ),
            (AuthError::AuthExecStart(io::Error::other("secret")), "cannot start its credential plugin"),
            (AuthError::ParseTokenKey(no_json), "cannot read the output of its credential plugin"),
            (
                AuthError::AuthExec(secret()),
                "its auth-provider returned no credentials; if it names a command, run the command by hand to see why",
            ),
        ] {
            let error = kube::Error::Auth(auth);
            assert_eq!((describe(&error).as_str(), is_about_credentials(&error)), (told, true));
            let deeper = kube::Error::Service(Box::new(error));
            assert_eq!(describe(&deeper), told, "however deep it is");
        }
        let other = kube::Error::Service("refused by <host>".into());
        assert!(describe(&other).contains("refused by"), "{}", describe(&other));
    }
}
