//! The legend: what each mark means.

use std::fmt::Write;

use leptos::prelude::*;
use timeline::phase::PodState;

use crate::scene::token::{DRAWINGS, token};

const STATES: [PodState; 7] = [
    PodState::Scheduling,
    PodState::Starting,
    PodState::Unready,
    PodState::Ready,
    PodState::Available,
    PodState::Failing,
    PodState::Terminating,
];

/// The legend.
#[component]
pub fn Legend() -> impl IntoView {
    view! {
        <svg class="drawings" aria-hidden="true" inner_html=DRAWINGS></svg>
        <ul class="legend" aria-label="Legend" inner_html=entries()></ul>
    }
}

fn entries() -> String {
    let mut out = String::new();
    for state in STATES {
        let _ = write!(
            out,
            "<li><svg viewBox=\"-10 -10 20 20\" aria-hidden=\"true\">{}</svg>{}</li>",
            token(state),
            state.label()
        );
    }
    out.push_str("<li><svg viewBox=\"-10 -10 20 20\" aria-hidden=\"true\"><rect x=\"-9\" y=\"-6\" width=\"18\" height=\"12\" class=\"out\"/></svg>out of rotation</li>");
    // Without a script: the style sheet looks at the box.
    out.push_str("<li class=\"as-table\"><label><input type=\"checkbox\" id=\"as-table\">Pods as a table</label></li>");
    out
}
