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

/// The revision.
#[component]
pub fn RevisionView(
    /// Where it belongs.
    workload: StoredValue<Workload>,
    /// What is told of it.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    view! {
        <Frame workload test_id="revision-detail" title=Signal::derive(move || format!("Revision {}", revision.read().revision))>
            <p class="state">{move || revision.read().standing.clone()}</p>
            <Facts workload facts=Signal::derive(move || revision.read().facts.clone())/>
            <Images revision/>
            <Difference workload revision/>
            <PastRollouts revision/>
            <Commands commands=Signal::derive(move || revision.read().commands.clone())/>
        </Frame>
    }
}
