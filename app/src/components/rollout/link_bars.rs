//! Bars that say what became of a link, each with where to go.

use leptos::prelude::*;
use timeline::address;
use timeline::words::safe;

use crate::components::banner::Banner;
use crate::exported::Exported;
use crate::rollout::board::Board;
use crate::zone::Zone;

/// Bars that say what the link means that led here, and that the past is shown.
#[component]
pub fn LinkBars(board: Board) -> impl IntoView {
    let zone = Zone::of_page();
    let file = Exported::of_app().map(|file| file.record().version.clone());
    let is_file = file.is_some();
    let words = Signal::derive(move || match &file {
        Some(version) => Some(format!(
            "A file that Rollcast {version} made: nothing in it is live. Play it, step through it, or look at its end."
        )),
        None => words(board, zone),
    });
    let class = move || if words.read().is_some() { "banner quiet" } else { "unused" };
    let now = board.workload.with_untracked(address::whatever_bears_the_name);
    let successor = move || if board.said(|view| view.is_succeeded) { "banner quiet" } else { "unused" };
    view! {
        <div class=class role="status" data-testid="linked">
            <span>{move || words.get().unwrap_or_default()}</span>" "
            {(!is_file).then(|| view! { <a href=move || target(board) rel="external">{move || invitation(board)}</a> })}
        </div>
        <Banner is_quiet=true test_id="notice" words=Signal::derive(move || zone.said(&board.said(|view| view.notice.clone()), board.now_millis()))/>
        {(!is_file).then(|| view! {
            <div class=successor>
                <a href=now rel="external" data-testid="successor">"Look at the one that has the name now"</a>
            </div>
        })}
    }
}

/// Text above a stored rollout, and above a link to a revision that is not the current one any more.
fn words(board: Board, zone: Zone) -> Option<String> {
    if board.workload.with(|workload| workload.rollout.is_some()) {
        let moment = board.moment(zone, board.now_millis());
        let day = moment.split_once(' ').map(|(day, _)| format!(" ({day})")).unwrap_or_default();
        return Some(board.episode_title().map_or_else(
            || format!("Recording of a finished rollout{day}."),
            |title| format!("Recording{day}: {title}."),
        ));
    }
    if board.is_snapshot {
        return Some("The rollout goes on: this page shows it as it was when you opened it.".to_owned());
    }
    let (wanted, current) = (board.linked_revision?, board.current()?);
    if wanted == current {
        return None;
    }
    let is_there = board.said(|view| view.revision) == Some(wanted);
    Some(match (is_there, board.time.get().tenths) {
        (true, Some(tenths)) => format!(
            "You are looking at revision {wanted}, as it was at {}. Revision {current} is current now.",
            board.dated(zone, tenths * 100)
        ),
        _ => format!("This link is to revision {wanted}. Revision {current} is current now."),
    })
}

fn invitation(board: Board) -> String {
    if let Some(name) = board.workload.with(|workload| workload.rollout.map(|_| safe(&workload.name))) {
        return format!("Look at {name} as it is now");
    }
    if board.is_snapshot {
        return "Show its newest state".to_owned();
    }
    let is_past = board.time.get().tenths.is_some();
    match (is_past, board.linked_revision, board.current()) {
        (true, _, Some(current)) => format!("Look at revision {current}"),
        (false, Some(wanted), _) => format!("Look at revision {wanted}"),
        _ => String::new(),
    }
}

fn target(board: Board) -> String {
    if board.workload.with(|workload| workload.rollout.is_some()) {
        return board.workload.with(address::whatever_bears_the_name);
    }
    let page = board.workload.with(address::workload);
    match (board.time.get().tenths, board.linked_revision) {
        (None, Some(revision)) => format!("{page}{}revision={revision}", if page.contains('?') { '&' } else { '?' }),
        _ => page,
    }
}
