//! Everything about one pod.

use leptos::prelude::*;
use timeline::Workload;
use timeline::phase::PodState;
use timeline::words::duration;

use super::commands::Commands;
use super::conditions::Conditions;
use super::containers::Containers;
use super::facts::Facts;
use super::frame::Frame;
use super::history::History;
use super::past_moment::present;
use super::start::Start;
use crate::components::tokens::Token;
use crate::detail::PodDetail;
use crate::detail::history::at_least;
use crate::zone::Zone;

/// Everything about a pod.
#[component]
pub fn PodView(
    /// The workload that the pod is of.
    workload: StoredValue<Workload>,
    /// The pod as the server sends it; followed while it is open.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let present_millis = present(Signal::derive(move || pod.read().now_millis));
    let state = move || {
        let PodDetail { state, since_millis, is_older, now_millis, .. } = *pod.read();
        match state {
            PodState::Gone => format!("gone since {}", zone.dated(since_millis, present_millis.get())),
            state => format!("{} for {}{}", state.label(), at_least(is_older), duration(now_millis - since_millis)),
        }
    };
    view! {
        <Frame workload test_id="pod-detail" title=Signal::derive(move || pod.read().name.clone())>
            <p class="state">
                // A pod that is gone has no token.
                <Show when=move || pod.read().state != PodState::Gone>
                    <svg viewBox="-10 -10 20 20" width="16" height="16" aria-hidden="true"><Token state=Signal::derive(move || pod.read().state)/></svg>
                    " "
                </Show>
                {state}
            </p>
            <p class="why">{move || pod.read().why.clone()}</p>
            <Facts workload now_millis=Signal::derive(move || pod.read().now_millis) facts=Signal::derive(move || pod.read().facts.clone())/>
            <Start pod/>
            <Containers pod/>
            <Conditions pod/>
            <History workload pod/>
            <Commands commands=Signal::derive(move || pod.read().commands.clone())/>
        </Frame>
    }
}
