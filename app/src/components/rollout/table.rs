//! The score as a table: every visible pod as text, for screen readers and viewers who prefer it.

use leptos::prelude::*;
use timeline::address;
use timeline::words::{grouped, is_are, safe};

use crate::components::detail::link::DetailLink;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::rollout::screen::RolloutScreen;
use crate::scoped::ScopedFor;
use crate::score::lanes::revision_name;
use crate::score::order::{PodColumn, PodOrder};
use crate::score::scene::PodHead;

#[component]
pub fn PodTable(
    /// The state of the page, for its time and for links.
    board: Board,
    picture: Picture,
    controls: Controls,
) -> impl IntoView {
    let caption = move || match picture.unlisted.get() {
        None => "Pods in view".to_owned(),
        Some(0) => "Pods in view that are not available".to_owned(),
        Some(more) => {
            let are = is_are(more as u32);
            format!("Pods in view that are not available; {} more {are} not listed", grouped(more as u64))
        }
    };
    let row = move |key: u128| picture.table.row_signal(key).map(|row| view! { <PodRow row board/> });
    view! {
        <div class="twin" data-testid="twin">
            <table data-testid="pod-table">
                <caption data-testid="listed">{caption}</caption>
                <thead>
                    <tr>
                        <ColumnHead board picture controls column=PodColumn::Name words="Pod"/>
                        <ColumnHead board picture controls column=PodColumn::Revision words="Revision"/>
                        <ColumnHead board picture controls column=PodColumn::State words="State"/>
                        <ColumnHead board picture controls column=PodColumn::Since words=move || format!("Since ({})", board.zone.name(board.now_millis()))/>
                        <th>"Reason"</th>
                    </tr>
                </thead>
                <tbody>
                    <ScopedFor each=move || picture.table.order() children=row/>
                </tbody>
            </table>
        </div>
    }
}

/// The head of a column: a button that sorts the table by it, or reverses the order if the table is sorted by it already.
#[component]
fn ColumnHead(
    board: Board,
    picture: Picture,
    controls: Controls,
    column: PodColumn,
    #[prop(into)] words: Signal<String>,
) -> impl IntoView {
    let sorted = move || {
        let order = picture.order.get().filter(|order| order.column == column)?;
        Some(if order.is_descending { "descending" } else { "ascending" })
    };
    let choose = move |_| {
        let order = PodOrder::after_click(picture.order.get_untracked(), column);
        picture.order.set(Some(order));
        board.announced.set(order.words());
        controls.act(RolloutScreen::draw_again);
    };
    view! { <th aria-sort=sorted><button type="button" on:click=choose>{words}</button></th> }
}

#[component]
fn PodRow(row: ReadSignal<PodHead>, board: Board) -> impl IntoView {
    let (uid, name) = row.with_untracked(|row| (row.uid, safe(&row.name)));
    let with = move |read: fn(&PodHead) -> String| move || row.with(read);
    let workload = board.workload.get_untracked();
    let since = move || board.moment(row.read().since_millis);
    view! {
        <tr>
            <td><DetailLink workload path=address::pod(uid)>{name}</DetailLink></td>
            <td>{with(|row| revision_name(row.is_out(), row.revision, ["out of rotation", "unknown"]))}</td>
            <td>{with(|row| row.state.label().to_owned())}</td>
            <td>{since}</td>
            <td>{with(|row| safe(&row.reason))}</td>
        </tr>
    }
}
