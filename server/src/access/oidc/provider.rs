//! Requests to the provider, and the verification of its tokens.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenVerifier,
    CoreJwsSigningAlgorithm as Signed, CoreTokenResponse,
};
use openidconnect::http::header::{AUTHORIZATION, CONTENT_TYPE};
use openidconnect::http::{Request, StatusCode};
use openidconnect::{
    AccessTokenHash, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, LogoutRequest, Nonce, NonceVerifier,
    OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    SignatureVerificationError, TokenResponse,
};
use serde_json::Value;
use timeline::words::safe;
use tokio::sync::Mutex as Turn;

use super::discovery::{Metadata, reason};
use super::identity::{Identity, OidcError, WRONG_CLOCK, identity};
use super::options::Options;
use crate::access::fetch::{FetchError, HttpClient, ResponseLimits};
use crate::access::refreshing_cache::{RefreshPolicy, RefreshingCache};
use crate::telemetry::clock;

/// Largest response of the provider, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Accepted signature algorithms: asymmetric ones only.
const SIGNED: [Signed; 9] = [
    Signed::RsaSsaPkcs1V15Sha256,
    Signed::RsaSsaPkcs1V15Sha384,
    Signed::RsaSsaPkcs1V15Sha512,
    Signed::RsaSsaPssSha256,
    Signed::RsaSsaPssSha384,
    Signed::RsaSsaPssSha512,
    Signed::EcdsaP256Sha256,
    Signed::EcdsaP384Sha384,
    Signed::EdDsa,
];

type OidcClient =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

pub(super) struct Provider {
    pub(super) options: Options,
    pub(super) client: HttpClient,
    pub(super) cached_metadata: Mutex<RefreshingCache<(), Arc<Metadata>>>,
    /// Held by the caller that reads the metadata.
    pub(super) metadata_turn: Arc<Turn<()>>,
}

/// Checks the nonce of a token, which it may lack.
type NonceCheck<'a> = &'a (dyn Fn(Option<&Nonce>) -> Result<(), String> + Sync);

impl Provider {
    pub(super) fn new(options: Options) -> std::io::Result<Arc<Self>> {
        let limits = ResponseLimits { timeout: options.times.answer, max_bytes: MAX_BYTES };
        let client = HttpClient::new(options.issuer.is_plain(), limits)?;
        let cached_metadata = Mutex::new(RefreshingCache::new(RefreshPolicy {
            refresh_after: options.times.metadata_refresh_after,
            expire_after: options.times.metadata_expire_after,
            retry_after: options.times.retry_after,
        }));
        Ok(Arc::new(Self { options, client, cached_metadata, metadata_turn: Arc::default() }))
    }

    /// Starts a sign-in; returns the address at the provider, and its secrets.
    pub(super) async fn begin(
        self: &Arc<Self>,
        redirect: &str,
    ) -> Result<(String, CsrfToken, Nonce, PkceCodeVerifier), OidcError> {
        let oidc_client = self.oidc_client(&*self.metadata().await?, redirect)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        // The crate adds "openid" itself.
        let scopes = self.options.scopes.iter().filter(|scope| *scope != "openid").cloned().map(Scope::new);
        let request = oidc_client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random).add_scopes(scopes);
        let (address, state, nonce) = request.set_pkce_challenge(challenge).url();
        Ok((address.into(), state, nonce, verifier))
    }

    pub(super) async fn exchange(
        self: &Arc<Self>,
        redirect: &str,
        code: String,
        verifier: String,
        nonce: &Nonce,
    ) -> Result<Identity, OidcError> {
        let oidc_client = self.oidc_client(&*self.metadata().await?, redirect)?;
        let request = oidc_client.exchange_code(AuthorizationCode::new(code)).map_err(OidcError::unavailable)?;
        let answer = request.set_pkce_verifier(PkceCodeVerifier::new(verifier)).request_async(&self.client).await;
        self.read_tokens(answer, &|said| nonce.verify(said)).await
    }

    /// Refreshes the identity; `nonce` is that of the sign-in.
    pub(super) async fn refresh(self: &Arc<Self>, token: &str, nonce: &str) -> Result<Identity, OidcError> {
        let oidc_client = self.oidc_client(&*self.metadata().await?, "http://localhost/")?; // a refresh does not send that address
        let token = RefreshToken::new(token.to_owned());
        let request = oidc_client.exchange_refresh_token(&token).map_err(OidcError::unavailable)?;
        let answer = request.request_async(&self.client).await;
        let nonce = &Nonce::new(nonce.to_owned());
        // Tokens of a refresh need not repeat it.
        let check = |said: Option<&Nonce>| if said.is_some() { nonce.verify(said) } else { Ok(()) };
        let mut identity = self.read_tokens(answer, &check).await?;
        identity.refresh = identity.refresh.or_else(|| Some(token.secret().clone())); // the provider does not rotate it
        Ok(identity)
    }

    pub(super) async fn verify(self: &Arc<Self>, token: &str) -> Result<Identity, OidcError> {
        // It comes from another client, with any nonce.
        self.verify_token(&token.parse().map_err(OidcError::rejected)?, None, &|_| Ok(())).await
    }

    /// Revokes a refresh token; a failure is only logged. By hand: the crate does it over TLS only, and a provider on
    /// this machine has none.
    pub(super) async fn revoke(self: &Arc<Self>, token: &str) {
        let Ok(metadata) = self.metadata().await else { return };
        let Some(request) = self.revocation(&metadata, token) else { return };
        if self.client.call(request).await.is_err() {
            tracing::debug!("the sign-in provider did not revoke a refresh token");
        }
    }

    fn revocation(&self, metadata: &Metadata, token: &str) -> Option<HttpRequest> {
        let end = metadata.additional_metadata().revocation_endpoint.as_ref()?;
        let Options { client, secret, issuer, .. } = &self.options;
        if !issuer.is_plain() && end.url().scheme() != "https" {
            return None;
        }
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("token", token).append_pair("token_type_hint", "refresh_token");
        form.append_pair("client_id", client);
        let mut request = Request::post(end.as_str()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        match secret {
            Some(secret) if has_secret_in_body(metadata) => {
                form.append_pair("client_secret", secret.secret());
            }
            Some(secret) => {
                let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let both = STANDARD.encode(format!("{}:{}", encoded(client), encoded(secret.secret())));
                request = request.header(AUTHORIZATION, format!("Basic {both}"));
            }
            None => {}
        }
        request.body(form.finish().into_bytes()).ok()
    }

    pub(super) async fn logout_url(self: &Arc<Self>) -> Option<String> {
        let metadata = self.metadata().await.ok()?;
        let end = metadata.additional_metadata().end_session_endpoint.clone()?;
        if !["http", "https"].contains(&end.url().scheme()) {
            return None;
        }
        Some(LogoutRequest::from(end).set_client_id(self.options.client.clone()).http_get_url().into())
    }

    async fn read_tokens<E>(
        self: &Arc<Self>,
        answer: Result<CoreTokenResponse, RequestTokenError<FetchError, E>>,
        nonce: NonceCheck<'_>,
    ) -> Result<Identity, OidcError>
    where
        E: openidconnect::ErrorResponse + 'static,
    {
        let answer = answer.map_err(|error| match error {
            RequestTokenError::ServerResponse(said) => OidcError::rejected(said),
            RequestTokenError::Request(why) => OidcError::unavailable(why),
            RequestTokenError::Parse(why, body) if has_id_token(&body) => OidcError::rejected(describe_malformed(why)),
            // Another server between here and the provider may have sent it: that ends no session.
            RequestTokenError::Parse(why, _) => OidcError::unavailable(describe_malformed(why)),
            RequestTokenError::Other(why) => OidcError::unavailable(describe_malformed(why)),
        })?;
        let token = answer.id_token().ok_or_else(|| OidcError::rejected("the provider sent no ID token"))?;
        let mut identity = self.verify_token(token, Some(&answer), nonce).await?;
        identity.refresh = answer.refresh_token().map(|token| token.secret().clone());
        Ok(identity)
    }

    /// Verifies signature, issuer, audience, times and nonce of a token. An unknown key may be a new one.
    async fn verify_token(
        self: &Arc<Self>,
        token: &CoreIdToken,
        with: Option<&CoreTokenResponse>,
        nonce: NonceCheck<'_>,
    ) -> Result<Identity, OidcError> {
        let metadata = self.metadata().await?;
        let mut verified = self.verify_with(&metadata, token, with, nonce);
        if let Err(ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey
            | SignatureVerificationError::CryptoError(_)
            | SignatureVerificationError::AmbiguousKeyId(_),
        )) = verified
        {
            let newer = self.newer_metadata(&metadata).await;
            verified = self.verify_with(&newer, token, with, nonce);
        }
        verified.map_err(|why| OidcError::rejected(reason(&why)))?;
        identity(&self.options, &token.to_string(), clock::now_millis() / 1_000)
    }

    fn verify_with(
        &self,
        metadata: &Metadata,
        token: &CoreIdToken,
        with: Option<&CoreTokenResponse>,
        nonce: NonceCheck<'_>,
    ) -> Result<(), ClaimsVerificationError> {
        let Options { client, issuer, .. } = &self.options;
        let now = clock::now_millis() / 1_000;
        let verifier: CoreIdTokenVerifier<'_> =
            CoreIdTokenVerifier::new_public_client(client.clone(), issuer.url().clone(), metadata.jwks().clone())
                .set_allowed_algs(SIGNED)
                .set_issue_time_verifier_fn(move |issued| match issued.timestamp() <= now + WRONG_CLOCK {
                    true => Ok(()),
                    false => Err("the token was issued in the future".to_owned()),
                });
        let claims = token.claims(&verifier, nonce)?;
        if let (Some(answer), Some(said)) = (with, claims.access_token_hash()) {
            let (signed, key) = (token.signing_alg(), token.signing_key(&verifier));
            let wrong = ClaimsVerificationError::SignatureVerification;
            let own = AccessTokenHash::from_token(answer.access_token(), signed.map_err(wrong)?, key.map_err(wrong)?);
            if own.map_err(|error| ClaimsVerificationError::Other(error.to_string()))? != *said {
                return Err(ClaimsVerificationError::Other("the token belongs to another access token".to_owned()));
            }
        }
        Ok(())
    }

    fn oidc_client(&self, metadata: &Metadata, redirect: &str) -> Result<OidcClient, OidcError> {
        let redirect = RedirectUrl::new(redirect.to_owned()).map_err(OidcError::rejected)?;
        let Options { client, secret, .. } = &self.options;
        let oidc_client = CoreClient::from_provider_metadata(metadata.clone(), client.clone(), secret.clone());
        let way = if has_secret_in_body(metadata) { AuthType::RequestBody } else { AuthType::BasicAuth };
        Ok(oidc_client.set_auth_type(way).set_redirect_uri(redirect))
    }
}

/// Returns whether the provider takes a client secret in the body only.
fn has_secret_in_body(metadata: &Metadata) -> bool {
    let takes = |way| metadata.token_endpoint_auth_methods_supported().is_some_and(|all| all.contains(&way));
    takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic)
}

/// Returns whether a response has an ID token, which may be malformed: then it is from the provider.
fn has_id_token(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|answer| answer.get("id_token").is_some())
}

/// Says where a response is malformed, for the log. Without the wrong value, which may be a claim of a person.
fn describe_malformed(why: impl std::fmt::Display) -> String {
    let why = why.to_string();
    // The texts of serde and of openidconnect that have values begin so.
    let with_values = ["invalid ", "failed to parse `"];
    let place = with_values.into_iter().fold(why.as_str(), |text, begin| text.split(begin).next().unwrap_or(text));
    let end = if place == why { "" } else { "invalid value" };
    format!("the response is malformed: {place}{end}")
}

impl OidcError {
    /// Logs why the provider does not respond, and returns the error.
    fn unavailable(why: impl std::fmt::Display) -> Self {
        tracing::warn!("no usable response from the sign-in provider: {}", safe(&why.to_string()));
        Self::Unavailable
    }
}

/// The HTTP client of openidconnect: a response without an answer is an error.
impl AsyncHttpClient<'_> for HttpClient {
    type Error = FetchError;
    type Future = BoxFuture<'static, Result<HttpResponse, FetchError>>;

    fn call(&self, request: HttpRequest) -> Self::Future {
        let client = self.clone(); // shares the connections
        Box::pin(async move {
            let answer = client.send(request.map(Bytes::from)).await?;
            let status = answer.status();
            // Providers reject with these. Auth0 rejects a refresh token with 403.
            let rejections = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
            if !status.is_success() && !rejections.contains(&status) {
                return Err(FetchError::Status(status));
            }
            Ok(answer.map(|body| body.to_vec()))
        })
    }
}
