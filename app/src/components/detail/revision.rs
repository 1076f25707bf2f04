//! Everything about one revision.

use leptos::prelude::*;

use super::commands::Commands;
use super::difference::Difference;
use super::facts::Facts;
use super::frame::Frame;
use super::images::Images;
use super::past_rollouts::PastRollouts;
use crate::detail::{Home, RevisionDetail};

/// The revision.
#[component]
pub fn RevisionView(
    /// Where it belongs.
    home: StoredValue<Home>,
    /// What is told of it.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    view! {
        <Frame home test_id="revision-detail" title=Signal::derive(move || format!("Revision {}", revision.read().revision))>
            <p class="state">{move || revision.read().standing.clone()}</p>
            <Facts home facts=Signal::derive(move || revision.read().facts.clone())/>
            <Images revision/>
            <Difference home revision/>
            <PastRollouts revision/>
            <Commands commands=Signal::derive(move || revision.read().commands.clone())/>
        </Frame>
    }
}
