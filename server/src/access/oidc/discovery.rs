//! Metadata of the provider: its endpoints and keys. Read on first use, so that the provider may be down when
//! Rollcast starts.

use std::sync::Arc;

use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType,
    CoreSubjectIdentifierType,
};
use openidconnect::{AdditionalProviderMetadata, EndSessionUrl, ProviderMetadata, RevocationUrl};
use serde::{Deserialize, Serialize};
use timeline::words::safe;
use tokio::time::Instant;

use super::identity::OidcError;
use super::options::Options;
use super::provider::Provider;
use crate::telemetry::error_chain;
use crate::telemetry::panics::locked;

/// Endpoints that end sessions, if the provider has them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LogoutEndpoints {
    pub(super) end_session_endpoint: Option<EndSessionUrl>,
    pub(super) revocation_endpoint: Option<RevocationUrl>,
}

impl AdditionalProviderMetadata for LogoutEndpoints {}

pub(super) type Metadata = ProviderMetadata<
    LogoutEndpoints,
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

impl Provider {
    /// Returns the metadata. Cached metadata is returned at once, and refreshed in the background when it is old.
    /// Concurrent requests share one attempt.
    pub(super) async fn metadata(self: &Arc<Self>) -> Result<Arc<Metadata>, OidcError> {
        let metadata = || locked(&self.cached_metadata).get(&()).cloned();
        if let Some(known) = metadata() {
            if locked(&self.cached_metadata).is_due(&())
                && let Ok(turn) = self.metadata_turn.clone().try_lock_owned()
            {
                let this = self.clone();
                tokio::spawn(async move {
                    this.read_metadata().await;
                    drop(turn);
                });
            }
            return Ok(known);
        }
        let _turn = self.metadata_turn.lock().await;
        if locked(&self.cached_metadata).is_due(&()) {
            self.read_metadata().await;
        }
        metadata().ok_or(OidcError::Unavailable)
    }

    /// Returns newer metadata, unless it was read a moment ago.
    pub(super) async fn newer_metadata(&self, than: &Arc<Metadata>) -> Arc<Metadata> {
        let metadata = || locked(&self.cached_metadata).get(&()).cloned().unwrap_or_else(|| than.clone());
        let _turn = self.metadata_turn.lock().await;
        let is_recent = locked(&self.cached_metadata)
            .last_attempt()
            .is_some_and(|at| at.elapsed() < self.options.times.min_key_refresh_interval);
        if Arc::ptr_eq(&metadata(), than) && !is_recent {
            self.read_metadata().await;
        }
        metadata()
    }

    async fn read_metadata(&self) {
        let Options { issuer, times, .. } = &self.options;
        let found = Metadata::discover_async(issuer.url().clone(), &self.client);
        let found = tokio::time::timeout(times.answer, found).await;
        let is_plain = issuer.is_plain();
        match found {
            Ok(Ok(found)) if is_plain || found.authorization_endpoint().url().scheme() == "https" => {
                return locked(&self.cached_metadata).insert((), Instant::now(), Arc::new(found));
            }
            Ok(Ok(_)) => tracing::warn!("the sign-in page of the provider does not use TLS"),
            Ok(Err(why)) => tracing::warn!("cannot read the metadata of the sign-in provider: {}", reason(&why)),
            Err(_) => tracing::warn!("the sign-in provider does not respond"),
        }
        locked(&self.cached_metadata).record_failure(Instant::now());
    }
}

/// Returns an error with its causes, in one line.
pub(super) fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    safe(&error_chain::join(error))
}
