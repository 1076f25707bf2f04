//! A Rollcast whose people sign in at a provider, and whose cluster lets the group "team" see a namespace.

use std::sync::Arc;
use std::time::Duration;

use openidconnect::{ClientId, ClientSecret};
use serde_json::json;
use server::access::Auth;
use server::access::cookie::SessionKeys;
use server::access::oidc::Oidc;
use server::access::oidc::options::{Options, Times};
use server::access::subject::SubjectPrefixes;
use server::hub::Handle;
use server::kube::Pace;
use server::kube::review::Reviewer;
use server::telemetry::viewers::Viewers;
use server::web::server_address::ServerAddress;
use server::web::state::{Rollcast, Site};
use timeline::Retention;

use super::own::Own;
use crate::common;
use crate::common::fed::feed;
use crate::common::reviewer::answered;

/// The client's secret, at both providers.
pub const SECRET: &str = "a secret of this client";

/// What is asked of a provider at that address.
pub fn options(issuer: &str) -> Options {
    Options {
        issuer: issuer.parse().unwrap(),
        client: ClientId::new("rollcast".to_owned()),
        secret: Some(ClientSecret::new(SECRET.to_owned())),
        scopes: Options::SCOPES.map(str::to_owned).to_vec(),
        user_claim: "email".to_owned(),
        groups_claim: "groups".to_owned(),
        prefixes: SubjectPrefixes { user: "oidc:".to_owned(), groups: String::new() },
        times: Times { retry_after: Duration::from_millis(100), ..Times::default() },
    }
}

/// A provider of our own, and a Rollcast whose people sign in there.
pub async fn own_site() -> (Own, Arc<Rollcast>) {
    let own = Own::start().await;
    let rollcast = site(options(&own.issuer)).await;
    (own, rollcast)
}

/// A Rollcast whose people sign in as these options say.
pub async fn site(options: Options) -> Arc<Rollcast> {
    with_keys(options, SessionKeys::generate(), ServerAddress::default()).await
}

/// The same, with keys that others have as well, at that address.
pub async fn with_keys(options: Options, keys: SessionKeys, server_address: ServerAddress) -> Arc<Rollcast> {
    let auth = Auth::Oidc(Oidc::new(options, keys).unwrap());
    let text = common::recording("rollover");
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, events) = Handle::start("prod", Arc::default(), retention);
    feed(&events, server::feed::recording::Recording::read(&text).observed).await;
    hub.follow_list().wait_for(|list| !list.is_empty()).await.unwrap();
    let hubs = vec![hub.with_reviewer(reviewer())];
    Rollcast::new(hubs, "build", Viewers::default(), Site { auth, server_address, ..Site::default() })
}

/// Lets the group "team" list pods, and nobody else. Nobody may be an administrator.
fn reviewer() -> Reviewer {
    common::reviewer::reviewer(Pace::default(), |asked| {
        let groups = asked["spec"]["groups"].as_array().unwrap();
        assert!(!groups.contains(&json!("system:masters")), "{asked}");
        assert!(groups.contains(&json!("system:authenticated")), "{asked}");
        assert!(asked["spec"]["user"].as_str().unwrap().starts_with("oidc:"), "{asked}");
        std::future::ready(answered(&json!({ "allowed": groups.contains(&json!("team")) })))
    })
}
