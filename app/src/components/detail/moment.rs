//! A time of day that leads to its moment.

use leptos::either::Either;
use leptos::prelude::*;
use timeline::address;
use timeline::{Millis, Uid, Workload};

use super::past_moment::present;
use crate::rollout::controls::Controls;
use crate::zone::Zone;

/// The time of day. Beside the picture it shows the moment there; as a page of its own it is a link to it.
#[component]
pub fn Moment(
    /// The cluster, namespace and name of the Deployment.
    workload: StoredValue<Workload>,
    /// The UID of the Deployment: another one may have had its name.
    deployment: Uid,
    /// The moment that the link leads to.
    at_millis: Millis,
    /// When it is told.
    #[prop(into)]
    now_millis: Signal<Millis>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let now_millis = present(now_millis);
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
