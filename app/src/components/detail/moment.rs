//! Times of day in details: each links to its moment. Details of a past moment show dates, and offer nothing that changes the present
//! state.

use leptos::either::Either;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use timeline::address;
use timeline::{Millis, Uid, Workload};

use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::zone::Zone;

/// The time of day. Beside the picture it shows that moment there; on a page of its own it is a link to the moment.
#[component]
pub fn Moment(
    workload: StoredValue<Workload>,
    /// UID of the Deployment: another one may have had the same name.
    deployment: Uid,
    at_millis: Millis,
    /// The present, with which times are compared.
    now_millis: Signal<Millis>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let clock = move || zone.moment(at_millis, now_millis.get());
    match Controls::of_page() {
        Some(controls) => Either::Left(view! {
            <button type="button" class="moment" title="Show this moment" on:click=move |_| controls.seek(at_millis)>{clock}</button>
        }),
        None => {
            let address = workload.with_value(|workload| address::moment(workload, deployment, at_millis));
            Either::Right(view! { <a class="moment" href=address rel="external" title="Show this moment">{clock}</a> })
        }
    }
}

/// Returns whether the page around this component shows a past moment. Follows it.
pub fn is_past() -> Signal<bool> {
    if let Some(board) = Board::of_page() {
        return Signal::derive(move || board.is_past());
    }
    let query = use_query_map();
    Signal::derive(move || ["at", "rollout"].iter().any(|name| query.read().get_str(name).is_some()))
}

/// Returns the present with which times of a detail are compared: times that are far from it are shown with their date. `now_millis` reads
/// the time of the detail.
pub fn present(now_millis: impl Fn() -> Millis + Send + Sync + 'static) -> Signal<Millis> {
    if let Some(board) = Board::of_page() {
        return Signal::derive(move || board.present());
    }
    let is_past = is_past();
    Signal::derive(move || if is_past.get() { Millis::MAX } else { now_millis() })
}
