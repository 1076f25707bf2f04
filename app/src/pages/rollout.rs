//! The page of one Deployment: verdict, score, story.

use leptos::prelude::*;

use crate::board::Board;
use crate::components::connection::ConnectionBar;
use crate::components::header::Header;
use crate::components::legend::Legend;
use crate::components::score::Score;
use crate::components::text;
use crate::components::transport::Transport;
use crate::components::verdict::{Missing, VerdictLine};
use crate::payload::DeploymentPayload;

/// The page.
#[component]
pub fn Rollout(
    /// What it shows first.
    payload: DeploymentPayload,
) -> impl IntoView {
    let board = Board::new(&payload);
    go_live(&board, payload);
    // Both are there and one is shown: what comes and goes with the Deployment is text.
    let shown = |wanted: bool| {
        let view = board.view.clone();
        text(move || if view.with(Option::is_some) == wanted { "shown" } else { "unused" }.to_owned())
    };
    view! {
        <div class="page" data-testid="page">
            <Header board=board.clone()/>
            <ConnectionBar board=board.clone()/>
            <div class=shown(true)>
                <VerdictLine board=board.clone()/>
                <main class="main"><Score board=board.clone()/></main>
                <Transport board=board.clone()/>
                <Legend/>
            </div>
            <div id="announcer" class="aside" role="status"></div>
            <div class=shown(false)><Missing board=board.clone()/></div>
        </div>
    }
}

#[cfg(not(feature = "hydrate"))]
fn go_live(_: &Board, _: DeploymentPayload) {}

#[cfg(feature = "hydrate")]
fn go_live(board: &Board, payload: DeploymentPayload) {
    use crate::live::client;
    use timeline::frame::Scope;

    let board = board.clone();
    // After hydration: the first frame must not change what the server rendered while it is being taken over.
    request_animation_frame(move || {
        let scope = Scope::Deployment { cluster: payload.cluster, namespace: payload.namespace, name: payload.name };
        let screen = crate::live::screen::DeploymentScreen::new(board, payload.snapshot, payload.moment);
        crate::live::hands::attach(&screen);
        client::start(screen, scope, payload.build);
    });
}
