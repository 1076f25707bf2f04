//! The footer of the wall: trouble without a seat, counts, completed and waiting Deployments, connections of clusters, a link to the list,
//! and the time.

use leptos::prelude::*;
use timeline::address;
use timeline::list::{Group, Query};
use timeline::words::grouped;

use crate::connection::RECONNECTING;
use crate::wall;
use crate::wall::board::WallBoard;
use crate::zone::Zone;

/// Number of characters of a time of day that are shown: "14:02".
const MINUTES: usize = 5;

/// The line along the lower edge of the wall.
#[component]
pub fn WallFooter(board: WallBoard, query: Query) -> impl IntoView {
    let zone = Zone::of_page();
    let told = move |index: usize| {
        let words = move || {
            let words = board.strip.read().get(index).cloned().unwrap_or_default();
            zone.replace_times(&words, board.now_millis.get())
        };
        view! { <span class="told" id=format!("strip-{index}") title=words>{words}</span> }
    };
    let more = move || match board.unseated.get() {
        0 => String::new(),
        many => format!("{} more in trouble", grouped(many.into())),
    };
    let class = move || if board.unseated.get() == 0 { "unused" } else { "more-trouble" };
    let troubled = address::list(&Query { group: Some(Group::InTrouble), ..query.clone() });
    let connections = move || match board.is_linked.get() {
        true => wall::connections(&board.overall.read(), |at_millis| board.dated(zone, at_millis)),
        false => RECONNECTING.to_owned(),
    };
    let clock = move || match board.now_millis.get() {
        0 => String::new(), // unknown before the page is alive
        now => format!("{} {}", zone.clock(now).get(..MINUTES).unwrap_or_default(), zone.name(now)),
    };
    let code = address::at(&format!("/qr.svg?path={}", address::segment(&address::list(&query))));
    let stable = move || wall::stable_count(&board.known_overall(), &query);
    view! {
        <footer class="below">
            <a class=class href=troubled data-testid="more-trouble">{more}</a>
            <span id="stable-count" data-testid="stable-count">{stable}</span>
            {(0..wall::AT_ONCE).map(told).collect_view()}
            <span class="spread"></span>
            <span id="connections" data-testid="connections" title=connections>{connections}</span>
            <img class="qr" src=code alt="A QR code: this list" width="76" height="76" loading="lazy"/>
            <b id="clock" data-testid="clock">{clock}</b>
        </footer>
    }
}
