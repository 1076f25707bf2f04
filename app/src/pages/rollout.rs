//! The page of one Deployment: verdict, score, story, time.

use crate::board::Board;
use crate::components::slots::Slots;
use crate::components::{connection, score, transport, verdict};
use crate::payload::DeploymentPayload;

/// What changes on it as text.
fn slots(board: &Board) -> Slots {
    let mut slots = Slots::default();
    for component in [connection::slots, verdict::slots, score::slots, transport::slots] {
        component(board, &mut slots);
    }
    // Both are there and one is shown.
    for (id, wanted) in [("there", true), ("not-there", false)] {
        let view = board.view.clone();
        slots.attribute(id, "class", move || {
            use leptos::prelude::With;
            if view.with(Option::is_some) == wanted { "shown" } else { "unused" }.to_owned()
        });
    }
    slots
}

/// The page.
#[cfg(feature = "ssr")]
pub(super) fn page(payload: &DeploymentPayload) -> impl leptos::prelude::IntoView + use<> {
    use leptos::prelude::*;

    use crate::components::{header, legend};
    use crate::scene::first::First;

    let board = Board::new(payload);
    let slots = slots(&board);
    view! {
        <div class="page rollout" data-testid="page">
            {header::header(&board.place, &slots)}
            {connection::bar(&slots, "banner", "banner")}
            {connection::bar(&slots, "forbidden", "forbidden")}
            {connection::role(&slots)}
            {connection::link_bars(&board, &slots)}
            <main id="there" class=slots.attribute_now("there", "class")>
                {verdict::verdict_line(&slots)}
                <div class="main">{score::score(&First::of(payload), &slots)}</div>
                {transport::transport(&slots)}
                <legend::Legend/>
            </main>
            <div id="announcer" class="aside" role="status"></div>
            <div id="not-there" class=slots.attribute_now("not-there", "class")>{verdict::missing(&board, &slots)}</div>
        </div>
    }
}

/// Brings the page to life.
#[cfg(feature = "hydrate")]
pub(super) fn take_over(payload: DeploymentPayload) {
    use crate::live::{client, hands, screen::DeploymentScreen};
    use timeline::frame::Scope;

    let board = Board::new(&payload);
    slots(&board).follow();
    let screen = DeploymentScreen::new(board, "", payload.snapshot, payload.moment);
    hands::attach(&screen);
    let scope = Scope::Deployment {
        cluster: payload.cluster,
        namespace: payload.namespace,
        name: payload.name,
        uid: payload.uid,
    };
    client::start(Box::new(screen), scope, payload.build, true);
}
