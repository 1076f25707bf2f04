//! Links to a Deployment, each with what it will mean later.

use leptos::prelude::*;
use timeline::words::clock;
use timeline::{Millis, Uid};

use super::{Home, detail};
use crate::address;

/// What is shared.
pub struct Shared<'s> {
    /// Scheme, host and port under which this server was asked.
    pub origin: &'s str,
    /// The Deployment.
    pub uid: Uid,
    /// Its revision at the moment shown.
    pub revision: Option<u64>,
    /// The moment shown, and whether that is the present.
    pub at_millis: Millis,
}

/// Links, and a code for a telephone's camera.
#[must_use]
pub fn share(home: &Home, shared: &Shared<'_>) -> AnyView {
    let Home { cluster, namespace, name, .. } = home;
    let Shared { origin, uid, revision, at_millis } = *shared;
    let permanent = address::permanent(cluster, namespace, name, uid, revision);
    let page = address::deployment(cluster, namespace, name);
    let moment = format!("{}&at={at_millis}", address::permanent(cluster, namespace, name, uid, None));
    let badge = format!("[![rollout]({origin}{page}/badge.svg)]({origin}{page})");
    let lines = [
        (
            revision.map_or_else(|| "This Deployment".to_owned(), |revision| format!("Revision {revision}")),
            "Live while it is the current one; afterwards as it was at its end.",
            format!("{origin}{permanent}"),
        ),
        (
            format!("This moment, {} UTC", clock(at_millis)),
            "As it was then, as long as Rollcast remembers.",
            format!("{origin}{moment}"),
        ),
        ("Whatever has the name".to_owned(), "Always live.", format!("{origin}{page}")),
        ("A badge for a README".to_owned(), "Says the verdict.", badge),
    ];
    let line = |(what, why, link): (String, &'static str, String)| {
        view! {
            <li>
                <span><b>{what}</b>" "<span class="muted">{why}</span></span>
                <code>{link.clone()}</code>
                <button data-copy=link>"Copy"</button>
            </li>
        }
    };
    let code = format!("/qr.svg?path={}", address::segment(&permanent));
    let body = view! {
        <ul class="commands" data-testid="links">{lines.into_iter().map(line).collect_view()}</ul>
        <img class="qr" src=code alt="The first link as a QR code" width="180" height="180"/>
    };
    detail(home, "share-detail", "Share", body)
}
