//! Everything about one revision.

use leptos::prelude::*;
use timeline::Workload;

use super::commands::Commands;
use super::difference::Difference;
use super::facts::Facts;
use super::frame::Frame;
use super::images::Images;
use super::past_rollouts::PastRollouts;
use crate::detail::RevisionDetail;

/// Everything about a revision.
#[component]
pub fn RevisionView(
    /// The workload that the revision is of.
    workload: StoredValue<Workload>,
    /// The revision as the server sends it; followed while it is open.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    view! {
        <Frame workload test_id="revision-detail" title=Signal::derive(move || format!("Revision {}", revision.read().revision))>
            <p class="state">{move || revision.read().standing.clone()}</p>
            <Facts workload now_millis=Signal::derive(move || revision.read().now_millis) facts=Signal::derive(move || revision.read().facts.clone())/>
            <Images revision/>
            <Difference workload revision/>
            <PastRollouts revision/>
            <Commands commands=Signal::derive(move || revision.read().commands.clone())/>
        </Frame>
    }
}
