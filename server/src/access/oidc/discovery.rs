//! What the provider says of itself: where it is asked for what, and with which keys it signs. Read when it is needed first, so that it
//! may be down when Rollcast starts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType,
    CoreSubjectIdentifierType,
};
use openidconnect::{AdditionalProviderMetadata, EndSessionUrl, ProviderMetadata, RevocationUrl};
use serde::{Deserialize, Serialize};
use timeline::words::safe;
use tokio::sync::Mutex as Turn;
use tokio::time::Instant;

use super::client::Client;
use super::identity::Trouble;
use super::options::{Issuer, Options, Times};

/// Where sessions end, at providers that say it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ends {
    pub(super) end_session_endpoint: Option<EndSessionUrl>,
    pub(super) revocation_endpoint: Option<RevocationUrl>,
}

impl AdditionalProviderMetadata for Ends {}

/// What a provider says of itself.
pub(super) type Metadata = ProviderMetadata<
    Ends,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// Reads what the provider says of itself.
#[derive(Debug)]
pub(super) struct Discovery(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    issuer: Issuer,
    times: Times,
    /// What was read last, and when.
    known: Mutex<Option<(Instant, Arc<Metadata>)>>,
    /// Held by who asks: when that was done last.
    asked: Arc<Turn<Option<Instant>>>,
}

impl Discovery {
    pub(super) fn new(client: Client, options: &Options) -> Self {
        let Options { issuer, times, .. } = options;
        let (issuer, times) = (issuer.clone(), times.clone());
        Self(Arc::new(Inner { client, issuer, times, known: Mutex::default(), asked: Arc::default() }))
    }

    /// What the provider says of itself. Nobody waits while it is known; what is old is read again meanwhile.
    pub(super) async fn metadata(&self) -> Result<Arc<Metadata>, Trouble> {
        let Inner { times, asked, .. } = &*self.0;
        if let Some(known) = self.0.known(times.believe_the_silent) {
            if self.0.known(times.read_again).is_none()
                && let Ok(mut asked) = asked.clone().try_lock_owned()
            {
                let inner = self.0.clone();
                tokio::spawn(async move { inner.ask(&mut asked, inner.times.ask_the_silent).await });
            }
            return Ok(known);
        }
        let mut asked = asked.lock().await;
        if self.0.known(times.read_again).is_none() {
            self.0.ask(&mut asked, times.ask_the_silent).await;
        }
        self.0.known(times.believe_the_silent).ok_or(Trouble::Silent)
    }

    /// What it says now, where that was not asked a moment ago.
    pub(super) async fn newer(&self, than: &Arc<Metadata>) -> Arc<Metadata> {
        let Inner { times, asked, .. } = &*self.0;
        let known = || self.0.known(times.believe_the_silent).unwrap_or_else(|| than.clone());
        let mut asked = asked.lock().await;
        if Arc::ptr_eq(&known(), than) {
            self.0.ask(&mut asked, times.read_keys).await;
        }
        known()
    }
}

impl Inner {
    /// What was read at most that long ago.
    fn known(&self, age: Duration) -> Option<Arc<Metadata>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(at, _)| at.elapsed() < age).map(|(_, known)| known.clone())
    }

    /// Reads it, unless that was tried a moment ago: who waited for one that did not answer does not ask it once more, each in turn.
    async fn ask(&self, asked: &mut Option<Instant>, pause: Duration) {
        if asked.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        let found = Metadata::discover_async(self.issuer.url().clone(), &self.client);
        let found = tokio::time::timeout(self.times.answer, found).await;
        *asked = Some(Instant::now());
        let is_plain = self.issuer.is_plain();
        match found {
            Ok(Ok(found)) if is_plain || found.authorization_endpoint().url().scheme() == "https" => {
                let known = Some((Instant::now(), Arc::new(found)));
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
            }
            Ok(Ok(_)) => tracing::warn!("the sign-in page of the provider does not use TLS"),
            Ok(Err(why)) => tracing::warn!("cannot read the metadata of the sign-in provider: {}", reason(&why)),
            Err(_) => tracing::warn!("the sign-in provider does not respond"),
        }
    }
}

/// Why, in one line, with what is behind it.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    safe(&causes.collect::<Vec<_>>().join(": "))
}
