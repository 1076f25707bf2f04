//! Sessions: the content of a browser's cookie, its renewals since, and ended sessions. Everything in memory is
//! bounded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::identity::Identity;
use crate::access::Viewer;
use crate::access::revoked_sessions::RevokedSessions;
use crate::access::subject::SubjectPrefixes;
use crate::kube::review::Subject;
use crate::telemetry::panics::locked;

/// Renewed sessions whose browser may not have the new cookie yet; the least recently used one goes first.
const MOST_HELD: u64 = 4_096;
/// Prefix of the text of a session: no token begins with it.
const MARK: &str = "session ";

/// A session, as its cookie holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// The nonce of its sign-in.
    pub(super) id: String,
    /// Start, in seconds of the Unix epoch.
    pub(super) began: i64,
    /// Number of renewals.
    pub(super) turn: u32,
    /// Subject identifier of its owner at the provider.
    sub: String,
    user: String,
    groups: Vec<String>,
    /// The provider is asked again after this second.
    pub(super) until: i64,
    pub(super) refresh: Option<String>,
}

impl Session {
    pub(super) fn begin(id: String, identity: Identity, now: i64, refresh_after: Duration) -> Self {
        let Identity { sub, subject, until, refresh } = identity;
        // The next refresh: at the expiry, or sooner with a refresh token.
        let soon = now.saturating_add(refresh_after.as_secs() as i64);
        let until = if refresh.is_some() { until.min(soon) } else { until };
        Self { id, began: now, turn: 0, sub, user: subject.user, groups: subject.groups, until, refresh }
    }

    /// Returns the session after a refresh; `None` if the provider returned another user.
    pub(super) fn renewed(&self, identity: Identity, now: i64, refresh_after: Duration) -> Option<Self> {
        if identity.sub != self.sub {
            return None;
        }
        let next = Self::begin(self.id.clone(), identity, now, refresh_after);
        Some(Self { began: self.began, turn: self.turn.saturating_add(1), ..next })
    }

    pub(super) fn to_text(&self) -> Option<String> {
        Some(format!("{MARK}{}", serde_json::to_string(self).ok()?))
    }

    /// Reads a session from a cookie; `None` if it has a reserved user or group: the owner of the key must not become
    /// cluster administrator with it.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let session: Self = serde_json::from_str(text.strip_prefix(MARK)?).ok()?;
        // The names have their prefixes already.
        let subject = SubjectPrefixes::default().subject(&session.user, session.groups.iter().map(String::as_str))?;
        session.groups.iter().all(|group| subject.groups.contains(group)).then_some(session)
    }

    pub(super) fn viewer(self) -> Viewer {
        Viewer::from(Subject { user: self.user, groups: self.groups, ..Subject::default() })
    }

    /// Returns whether it is valid while the provider does not respond.
    pub(super) const fn counts(&self, now: i64, grace_period: Duration) -> bool {
        now < self.until.saturating_add(grace_period.as_secs() as i64)
    }
}

pub(super) struct RenewableSession {
    newest: Mutex<Session>,
    /// Lock of the renewal, with the time of the last one that got no response.
    pub(super) turn: tokio::sync::Mutex<Option<Instant>>,
}

impl RenewableSession {
    pub(super) fn newest(&self) -> Session {
        locked(&self.newest).clone()
    }

    pub(super) fn set(&self, session: Session) {
        *locked(&self.newest) = session;
    }
}

/// Renewed and ended sessions.
pub(super) struct Sessions {
    held: Cache<String, Arc<RenewableSession>>,
    /// Ended sessions, by the subject identifier of their owner.
    revoked: RevokedSessions,
}

impl Default for Sessions {
    fn default() -> Self {
        let held = Cache::builder().max_capacity(MOST_HELD).eviction_policy(EvictionPolicy::lru()).build();
        Self { held, revoked: RevokedSessions::default() }
    }
}

impl Sessions {
    /// Returns the newest version of the session in a cookie; `None` if it has ended.
    pub(super) fn newest(&self, session: Session) -> Option<Session> {
        if self.is_ended(&session) {
            return None;
        }
        let held = self.held.get(&session.id);
        Some(held.map(|held| held.newest()).filter(|newest| newest.turn > session.turn).unwrap_or(session))
    }

    pub(super) fn hold(&self, session: &Session) -> Arc<RenewableSession> {
        let begin =
            || Arc::new(RenewableSession { newest: Mutex::new(session.clone()), turn: tokio::sync::Mutex::default() });
        let held = self.held.get_with_by_ref(&session.id, begin);
        // Another Rollcast may have renewed it.
        if held.newest().turn < session.turn {
            held.set(session.clone());
        }
        held
    }

    pub(super) fn end(&self, session: &Session) {
        self.held.invalidate(&session.id);
        self.revoked.insert(&session.sub, session.began, &session.id);
    }

    pub(super) fn is_ended(&self, session: &Session) -> bool {
        self.revoked.contains(&session.sub, session.began, &session.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Duration = Duration::from_secs(900);

    fn identity(until: i64, refresh: Option<&str>) -> Identity {
        let subject = Subject { user: "ann".to_owned(), groups: vec!["dev".to_owned()], ..Subject::default() };
        Identity { sub: "1".to_owned(), subject, until, refresh: refresh.map(str::to_owned) }
    }

    fn session(id: &str, began: i64) -> Session {
        Session::begin(id.to_owned(), identity(began + 60, Some("first")), began, QUARTER)
    }

    #[test]
    fn the_provider_is_asked_again_when_its_word_ends_and_in_a_quarter_of_an_hour_at_most() {
        let until = |until, refresh| Session::begin("a".to_owned(), identity(until, refresh), 1_000, QUARTER).until;
        assert_eq!(until(1_060, Some("again")), 1_060);
        assert_eq!(until(90_000, Some("again")), 1_900);
        assert_eq!(until(90_000, None), 90_000, "it cannot be asked");
    }

    #[test]
    fn who_is_known_stays_known_for_a_minute_without_an_answer() {
        let minute = Duration::from_secs(60);
        let session = session("a", 1_000);
        assert!(session.counts(1_119, minute));
        assert!(!session.counts(1_120, minute));
    }

    #[test]
    fn a_session_is_text_that_is_no_token() {
        let session = session("a", 1_000);
        let text = session.to_text().unwrap();
        assert!(text.contains(' '), "a token has none");
        assert_eq!(Session::from_text(&text), Some(session));
        for wrong in ["", "session ", "session {}", "{}", &text.replace("session ", "")] {
            assert_eq!(Session::from_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_session_with_a_name_that_nobody_gets_is_none_whoever_sealed_it() {
        let of = |user: &str, groups: &[&str]| {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            let session = Session { user: user.to_owned(), groups, ..session("a", 1_000) };
            Session::from_text(&session.to_text().unwrap()).is_some()
        };
        assert!(of("oidc:ann", &["dev", "system:authenticated"]));
        for (user, groups) in [
            ("system:admin", &["system:authenticated"][..]),
            ("oidc:ann", &["dev", "system:masters"]),
            ("oidc:ann", &["system:nodes"]),
            ("", &["dev"]),
        ] {
            assert!(!of(user, groups), "{user} {groups:?}");
        }
    }

    #[test]
    fn an_old_cookie_leads_to_the_newest_of_its_session() {
        let (sessions, first) = (Sessions::default(), session("a", 1_000));
        assert_eq!(sessions.newest(first.clone()), Some(first.clone()), "nothing became of it");
        let held = sessions.hold(&first);
        let second = first.renewed(identity(2_000, Some("second")), 1_500, QUARTER).unwrap();
        held.set(second.clone());
        assert_eq!(sessions.newest(first.clone()), Some(second.clone()));
        assert_eq!(sessions.hold(&first).newest(), second);
        let third = second.renewed(identity(3_000, Some("third")), 2_500, QUARTER).unwrap();
        assert_eq!(sessions.newest(third.clone()), Some(third.clone()), "another one renewed it");
        assert_eq!(sessions.hold(&third).newest(), third);
        sessions.end(&first);
        for old in [first, second, third] {
            assert_eq!(sessions.newest(old), None, "each of its cookies");
        }
        assert!(sessions.newest(session("b", 1_000)).is_some());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let sessions = Sessions::default();
        for number in 0..MOST_HELD + 100 {
            sessions.hold(&session(&number.to_string(), 1_000));
        }
        sessions.held.run_pending_tasks();
        assert_eq!(sessions.held.entry_count(), MOST_HELD);
    }
}
