//! The page of a rollout in an exported file.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;

use crate::components::notices::Notices;
use crate::components::page_keys::PageKeys;
use crate::context::OpenedPod;
use crate::exported::Exported;
use crate::live::client::Live;
use crate::pages::rollout::Rollout;
use crate::payload::Export;
use crate::zone::Zone;

/// The page of a rollout in an exported file.
#[component]
pub fn ExportedPage(export: Export) -> impl IntoView {
    provide_meta_context();
    let Export { deployment: payload, record } = export;
    Exported::provide(record);
    Live::provide(String::new());
    Zone::provide();
    OpenedPod::provide();
    // The file has no server to which links could lead.
    Effect::new(move |_| crate::browser::block_links());
    view! {
        <Notices/>
        <PageKeys/>
        <Rollout workload=payload.workload.clone() revision=payload.revision payload=Some(payload)/>
    }
}
