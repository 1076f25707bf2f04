//! Links to a Deployment: the most useful one first, and the others in a list that opens.

use leptos::prelude::*;
use timeline::address;
use timeline::{Millis, Workload};

use super::following::lines;
use super::frame::Frame;
use super::moment::present;
use crate::components::copy::CopyButton;
use crate::detail::ShareDetail;
use crate::detail::share::Link;
use crate::zone::Zone;

/// Note that the links work on this machine only.
pub const LOCAL: &str =
    "This address only works on this computer. To share it, open Rollcast under an address that others can reach.";

/// Links to share a page, each with a copy button; the first one with a QR code if other machines can open it.
#[component]
pub fn ShareView(workload: StoredValue<Workload>, share: Memo<ShareDetail>) -> impl IntoView {
    let now_millis = present(move || share.read().at_millis);
    let links = Memo::new(move |_| workload.with_value(|workload| share.read().links(workload)));
    let first = move || links.read().iter().take(1).cloned().collect::<Vec<Link>>();
    let others = move || links.read().iter().skip(1).cloned().collect::<Vec<Link>>();
    let code = move || {
        let path = workload.with_value(|workload| share.read().first_path(workload));
        address::at(&format!("/qr.svg?path={}", address::segment(&path)))
    };
    let file = move || {
        let of = workload.get_value().with_uid(Some(share.read().deployment));
        address::file(&of, share.read().revision)
    };
    let redacted = move || format!("{}&redact=yes", file());
    view! {
        <Frame workload test_id="share-detail" title="Share">
            <div data-testid="links">
                <ul class="commands first-link">{lines(first, move |link| view! { <SharedLink link now_millis copy="Copy link"/> })}</ul>
                <Show when=move || share.read().is_local><p class="local" role="note" data-testid="local">{LOCAL}</p></Show>
                <details class="other-links">
                    <summary>"Other links"</summary>
                    <ul class="commands">{lines(others, move |link| view! { <SharedLink link now_millis copy="Copy"/> })}</ul>
                </details>
            </div>
            <p>
                <a href=file rel="external" download="" data-testid="file">"Save the rollout as a file"</a>
                <span class="muted">": one page to play anywhere, without Rollcast and without a network."</span>
            </p>
            <p>
                <a href=redacted rel="external" download="" data-testid="redacted-file">"Save it without names"</a>
                <span class="muted">": the same without the names of namespaces, nodes and images."</span>
            </p>
            <Show when=move || !share.read().is_local>
                <img class="code" src=code alt="The first link as a QR code" width="180" height="180"/>
            </Show>
        </Frame>
    }
}

/// One link to share: its subject, what it will show later, its address, and a copy button.
#[component]
fn SharedLink(link: Link, now_millis: Signal<Millis>, copy: &'static str) -> impl IntoView {
    let zone = Zone::of_page();
    let Link { name, at_millis, later, text } = link;
    let name = move || match at_millis {
        Some(at_millis) => format!("{name}, {}", zone.dated(at_millis, now_millis.get())),
        None => name.clone(),
    };
    view! {
        <li>
            <span><b>{name}</b>" "<span class="muted">{later}</span></span>
            <code>{text.clone()}</code>
            <CopyButton text label=copy/>
        </li>
    }
}
