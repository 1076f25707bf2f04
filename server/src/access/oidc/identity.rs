//! The user of a verified ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use timeline::words::safe;

use super::options::Options;
use crate::access::subject::MOST_GROUPS;
use crate::kube::review::Subject;

/// Largest accepted difference between clocks, in seconds.
pub(super) const WRONG_CLOCK: i64 = 60;

/// The user of an ID token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// The subject identifier at the provider.
    pub(super) sub: String,
    /// The user in the clusters.
    pub(super) subject: Subject,
    /// Expiry, in seconds of the Unix epoch.
    pub(super) until: i64,
    pub(super) refresh: Option<String>,
}

/// Why a sign-in failed, or the provider does not identify a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum OidcError {
    #[error("This sign-in started in another window, or too long ago.")]
    NotStarted,
    /// The provider refuses, or its ID token is malformed or cannot be trusted. The reason is for the log.
    #[error("The provider did not sign you in.")]
    Rejected(String),
    #[error("The provider sent no user name that the clusters accept.")]
    NoUserName,
    /// The provider reports only that there are groups, or too many of them.
    #[error("You are in too many groups. The administrator of the provider can let it send this application fewer.")]
    TooManyGroups,
    #[error("The provider sent more data about you than a browser cookie can hold.")]
    TooLong,
    /// The provider does not respond, or another server responds instead of it.
    #[error("The sign-in provider does not respond right now.")]
    Unavailable,
    #[error("Too many failed sign-ins from your address. Try again in a moment.")]
    TooManyAttempts,
}

impl OidcError {
    pub(super) fn rejected(why: impl std::fmt::Display) -> Self {
        Self::Rejected(safe(&why.to_string()))
    }
}

/// Reads the claims of a token whose signature was verified. `now` is in seconds of the Unix epoch.
pub(super) fn identity(options: &Options, token: &str, now: i64) -> Result<Identity, OidcError> {
    let claims = token.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
    let claims: Option<Map<String, Value>> = claims.and_then(|claims| serde_json::from_slice(&claims).ok());
    read_claims(options, &claims.ok_or_else(|| OidcError::rejected("the token has no claims"))?, now)
}

fn read_claims(options: &Options, claims: &Map<String, Value>, now: i64) -> Result<Identity, OidcError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let (Some(sub), Some(until)) = (text("sub"), claims.get("exp").and_then(Value::as_f64)) else {
        return Err(OidcError::rejected("the token has no sub or exp claim"));
    };
    if claims.get("nbf").and_then(Value::as_f64).is_some_and(|from| from as i64 > now + WRONG_CLOCK) {
        return Err(OidcError::rejected("the token is not valid yet"));
    }
    // As API servers do it: an unverified address is no user name. Some providers send the claim as text.
    let is_true = |claim: &Value| claim.as_bool() == Some(true) || claim.as_str() == Some("true");
    let is_verified = claims.get("email_verified").is_none_or(is_true);
    if options.user_claim == "email" && !is_verified {
        return Err(OidcError::NoUserName);
    }
    let groups: Vec<&str> = match claims.get(&options.groups_claim) {
        Some(Value::String(group)) => vec![group],
        Some(Value::Array(groups)) => groups.iter().filter_map(Value::as_str).collect(),
        // Entra ID sends more than 200 groups in this way: by the place where they can be requested.
        _ if claims.get("_claim_names").is_some_and(|names| names.get(&options.groups_claim).is_some()) => {
            return Err(OidcError::TooManyGroups);
        }
        _ => Vec::new(),
    };
    if groups.len() > MOST_GROUPS {
        return Err(OidcError::TooManyGroups);
    }
    let user = text(&options.user_claim).ok_or(OidcError::NoUserName)?;
    let subject = options.prefixes.subject(user, groups).ok_or(OidcError::NoUserName)?;
    Ok(Identity { sub: sub.to_owned(), subject, until: until as i64, refresh: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::options;
    use super::*;
    use crate::access::subject::SubjectPrefixes;

    fn options(user_claim: &str) -> Options {
        let prefixes = SubjectPrefixes { user: "oidc:".to_owned(), groups: String::new() };
        Options { user_claim: user_claim.to_owned(), prefixes, ..options::tests::options() }
    }

    fn named(user_claim: &str, claims: Value) -> Result<(String, Vec<String>), OidcError> {
        let identity = read_claims(&options(user_claim), claims.as_object().unwrap(), 1_000)?;
        Ok((identity.subject.user, identity.subject.groups))
    }

    #[test]
    fn claims_say_who_somebody_is() {
        let ann =
            |groups: &[&str]| Ok(("oidc:ann".to_owned(), groups.iter().map(|group| (*group).to_owned()).collect()));
        let all = "system:authenticated";
        assert_eq!(named("sub", json!({ "sub": "ann", "exp": 9 })), ann(&[all]));
        assert_eq!(named("sub", json!({ "sub": "ann", "exp": 9.5, "groups": "dev" })), ann(&["dev", all]));
        let groups = json!(["dev", 7, null, "system:masters", "ops"]);
        assert_eq!(named("sub", json!({ "sub": "ann", "exp": 9, "groups": groups })), ann(&["dev", "ops", all]));
        assert_eq!(named("sub", json!({ "sub": "ann", "exp": 9, "groups": { "dev": true } })), ann(&[all]));
        assert_eq!(
            named("sub", json!({ "sub": "ann", "exp": 9_000, "nbf": 1_060 })),
            ann(&[all]),
            "a clock may be wrong"
        );
        assert_eq!(named("name", json!({ "sub": "1", "name": "ann", "exp": 9 })), ann(&[all]));
    }

    #[test]
    fn who_is_in_too_many_groups_is_not_signed_in_with_a_part_of_them() {
        let of = |number: usize| {
            let groups: Vec<String> = (0..number).map(|number| format!("g{number:03}")).collect();
            named("sub", json!({ "sub": "ann", "exp": 9, "groups": groups })).map(|(_, groups)| groups.len())
        };
        assert_eq!((of(200), of(201)), (Ok(201), Err(OidcError::TooManyGroups)), "200 and system:authenticated");
        let elsewhere = |names: Value| named("sub", json!({ "sub": "ann", "exp": 9, "_claim_names": names }));
        assert_eq!(elsewhere(json!({ "groups": "src1" })), Err(OidcError::TooManyGroups));
        let alone = vec!["system:authenticated".to_owned()];
        assert_eq!(elsewhere(json!({ "roles": "src1" })), Ok(("oidc:ann".to_owned(), alone)));
    }

    #[test]
    fn who_has_no_name_is_nobody() {
        let email = json!({ "sub": "1", "exp": 9, "email": "ann" });
        assert!(named("email", email.clone()).is_ok());
        for (verified, is_named) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!("false"), false),
            (json!("yes"), false),
            (json!(1), false),
            (json!(null), false),
        ] {
            let mut claims = email.clone();
            claims["email_verified"] = verified.clone();
            let named = named("email", claims).map(|(user, _)| user);
            let expected = if is_named { Ok("oidc:ann".to_owned()) } else { Err(OidcError::NoUserName) };
            assert_eq!(named, expected, "{verified}");
        }
        assert_eq!(named("name", json!({ "sub": "1", "exp": 9 })), Err(OidcError::NoUserName));
        assert_eq!(named("name", json!({ "sub": "1", "exp": 9, "name": ["ann"] })), Err(OidcError::NoUserName));
        assert_eq!(named("sub", json!({ "sub": "", "exp": 9 })), Err(OidcError::NoUserName));
        for broken in [
            json!({ "exp": 9 }),
            json!({ "sub": "ann" }),
            json!({ "sub": "ann", "exp": "9" }),
            json!({ "sub": "ann", "exp": 9_000, "nbf": 1_061 }),
        ] {
            assert!(matches!(named("sub", broken), Err(OidcError::Rejected(_))));
        }
        for token in ["", "a", "a.b.c", "a.!!.c", "a.W10.c"] {
            assert!(matches!(identity(&options("sub"), token, 1_000), Err(OidcError::Rejected(_))), "{token}");
        }
    }
}
