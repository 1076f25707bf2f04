//! Bars about the result of a link, each with another link.

use leptos::prelude::*;
use timeline::address;
use timeline::words::safe;

use crate::components::banner::Banner;
use crate::exported::Exported;
use crate::rollout::board::Board;

/// The result of a link: description, other address, and text of the link to it.
type LinkNews = (String, String, String);

/// Renders bars about the link that was opened, and about the past being shown.
#[component]
pub fn LinkBars(board: Board) -> impl IntoView {
    let file = Exported::of_app().map(|file| file.record.version.clone());
    let news = Memo::new(move |_| match &file {
        Some(version) => {
            let words = format!(
                "A file that Rollcast {version} made: nothing in it is live. Play it, step through it, or look at its end."
            );
            Some((words, String::new(), String::new()))
        }
        None => news(board),
    });
    let part = move |read: fn(&LinkNews) -> &String| {
        move || news.with(|news| news.as_ref().map(|news| read(news).clone()).unwrap_or_default())
    };
    // Screen readers do not announce the time during playback or while the slider moves.
    let is_told = move || if board.time.read().tenths.is_some() { "off" } else { "polite" };
    // The status element stays in the document, as that of a banner does.
    let class = move || if news.read().is_some() { "banner quiet" } else { "shown" };
    let now = board.workload.with_untracked(address::whatever_bears_the_name);
    let successor = move || if board.read_view(|view| view.is_succeeded) { "banner quiet" } else { "unused" };
    view! {
        <div class=class data-testid="linked">
            <span role="status" aria-live=is_told>
                {part(|(words, ..)| words)}" "
                {(!board.is_file).then(|| view! { <a href=part(|(.., to)| to) rel="external">{part(|(_, invitation, _)| invitation)}</a> })}
            </span>
        </div>
        <Banner is_quiet=true test_id="notice" words=move || board.zone.replace_times(&board.read_view(|view| view.notice.clone()), board.now_millis())/>
        {(!board.is_file).then(|| view! {
            <div class=successor>
                <a href=now rel="external" data-testid="successor">"Look at the one that has the name now"</a>
            </div>
        })}
    }
}

/// Describes a stored rollout, one that goes on while the page does not, or a link to a revision that is no longer the current one.
fn news(board: Board) -> Option<LinkNews> {
    if let Some(name) = board.workload.with(|workload| workload.rollout.map(|_| safe(&workload.name))) {
        let moment = board.moment(board.now_millis());
        let day = moment.split_once(' ').map(|(day, _)| format!(" ({day})")).unwrap_or_default();
        let words = match board.episode_title() {
            Some(title) => format!("Recording{day}: {title}."),
            None => format!("Recording of a finished rollout{day}."),
        };
        let now = board.workload.with(address::whatever_bears_the_name);
        return Some((words, format!("Look at {name} as it is now"), now));
    }
    let (page, tenths) = (board.workload.with(address::workload), board.time.get().tenths);
    let to = match board.linked_revision.filter(|_| tenths.is_none()) {
        Some(revision) => format!("{page}{}revision={revision}", if page.contains('?') { '&' } else { '?' }),
        None => page,
    };
    if board.is_snapshot {
        let words = "The rollout goes on: this page shows it as it was when you opened it.";
        return Some((words.to_owned(), "Show its newest state".to_owned(), to));
    }
    let (wanted, current) = (board.linked_revision?, board.current()?);
    if wanted == current {
        return None;
    }
    let words = match tenths.filter(|_| board.read_view(|view| view.revision) == Some(wanted)) {
        Some(tenths) => {
            let then = board.dated(tenths * 100);
            format!("You are looking at revision {wanted}, as it was at {then}. Revision {current} is current now.")
        }
        None => format!("This link is to revision {wanted}. Revision {current} is current now."),
    };
    let other = if tenths.is_some() { current } else { wanted };
    Some((words, format!("Look at revision {other}"), to))
}
