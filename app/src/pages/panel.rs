//! The panel beside the picture, with the open detail.

use leptos::prelude::*;
use timeline::Workload;

use crate::browser;
use crate::components::detail::following::following;
use crate::components::detail::frame::Frame;
use crate::pages::detail::details;
use crate::rollout::panel::{PanelContent, PanelState};
use crate::rows::set_if_new;

/// The panel with the open detail.
#[component]
pub fn Panel(workload: Workload, panel: PanelState) -> impl IntoView {
    let workload = StoredValue::new(workload);
    let kind = Memo::new(move |_| panel.content.with(|shown| shown.as_ref().map(Result::is_ok)));
    Effect::new(move |_| browser::on_window(leptos::ev::resize, move |_| panel.cover()));
    let opened = panel.opened_pod;
    on_cleanup(move || {
        set_if_new(&opened.0, String::new());
    });
    let inside = move || {
        let _ = kind.get(); // content of another kind needs a new view
        Some(match panel.content.get_untracked()? {
            Ok(first) => {
                let detail = following(panel.content, first, |shown: &PanelContent| shown.clone()?.ok());
                Suspend::new(details(Some((workload.get_value(), detail.into())))).into_any()
            }
            Err(first) => {
                let why = following(panel.content, first, |shown: &PanelContent| shown.clone()?.err());
                view! { <Frame workload test_id="detail-trouble" title="Details"><p class="why">{why}</p></Frame> }
                    .into_any()
            }
        })
    };
    view! { <section id="detail" class="panel" tabindex="-1" aria-label="Details" node_ref=panel.section>{inside}</section> }
}
