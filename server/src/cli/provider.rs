//! Options of the OpenID Connect provider.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use openidconnect::{ClientId, ClientSecret};

use crate::access::oidc::options::{Issuer, Options, Times};
use crate::access::subject::SubjectPrefixes;
use crate::cli::config::Auth;

const NO_PROVIDER: &str = "--auth oidc requires an issuer URL and a client ID: set --oidc-issuer and --oidc-client-id";

/// The provider at which people sign in by OpenID Connect.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenID Connect options")]
pub struct OidcArguments {
    /// With --auth oidc: issuer URL of the provider (--oidc-issuer-url of the API servers)
    #[arg(long, env = "ROLLCAST_OIDC_ISSUER", value_name = "URL")]
    pub oidc_issuer: Option<Issuer>,
    /// With --auth oidc: client ID of this server at the provider
    #[arg(long, env = "ROLLCAST_OIDC_CLIENT_ID", value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// With --auth oidc: file with the client secret; without it, this server is a public client
    #[arg(long, env = "ROLLCAST_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    pub oidc_client_secret_file: Option<PathBuf>,
    /// With --auth oidc: scope to request, repeatable [default: openid,profile,email,groups,offline_access]
    ///
    /// Leave out the scopes that your provider refuses.
    #[arg(long, env = "ROLLCAST_OIDC_SCOPES", value_delimiter = ',', value_name = "SCOPE")]
    pub oidc_scopes: Vec<String>,
    /// With --auth oidc: claim with the user name (--oidc-username-claim of the API servers) [default: sub]
    #[arg(long, env = "ROLLCAST_OIDC_USER_CLAIM", value_name = "CLAIM")]
    pub oidc_user_claim: Option<String>,
    /// With --auth oidc: claim with the groups (--oidc-groups-claim of the API servers) [default: groups]
    #[arg(long, env = "ROLLCAST_OIDC_GROUPS_CLAIM", value_name = "CLAIM")]
    pub oidc_groups_claim: Option<String>,
}

impl OidcArguments {
    /// Merges the options; the command line overrides the file.
    pub fn options(
        self,
        file: Auth,
        user_prefix: Option<String>,
        groups_prefix: Option<String>,
    ) -> anyhow::Result<Options> {
        let issuer = match (self.oidc_issuer, file.oidc_issuer) {
            (Some(issuer), _) => issuer,
            (None, Some(text)) => text.parse().map_err(|why: &str| {
                // A URL with a user may contain a password, too.
                let shown = if text.contains('@') { "…" } else { text.as_str() };
                anyhow::anyhow!("the issuer URL {shown:?} is invalid: it {why}")
            })?,
            (None, None) => anyhow::bail!(NO_PROVIDER),
        };
        let client = self.oidc_client_id.or(file.oidc_client_id).filter(|client| !client.is_empty());
        let secret = self.oidc_client_secret_file.or(file.oidc_client_secret_file);
        let secret = secret.as_deref().map(read_secret).transpose()?;
        let usual = || Options::SCOPES.map(str::to_owned).to_vec();
        let scopes =
            if self.oidc_scopes.is_empty() { file.oidc_scopes.unwrap_or_else(usual) } else { self.oidc_scopes };
        let user_claim = self.oidc_user_claim.or(file.oidc_user_claim).unwrap_or_else(|| "sub".to_owned());
        let user = user_prefix.unwrap_or_else(|| Options::usual_prefix(&issuer, &user_claim));
        Ok(Options {
            issuer,
            client: ClientId::new(client.context(NO_PROVIDER)?),
            secret,
            scopes,
            user_claim,
            groups_claim: self.oidc_groups_claim.or(file.oidc_groups_claim).unwrap_or_else(|| "groups".to_owned()),
            prefixes: SubjectPrefixes { user, groups: groups_prefix.unwrap_or_default() },
            times: Times::default(),
        })
    }
}

fn read_secret(path: &Path) -> anyhow::Result<ClientSecret> {
    let unread = || format!("cannot read the client secret from {path:?}");
    let text = std::fs::read_to_string(path).with_context(unread)?;
    anyhow::ensure!(!text.trim().is_empty(), "{}: it is empty", unread());
    Ok(ClientSecret::new(text.trim().to_owned()))
}
