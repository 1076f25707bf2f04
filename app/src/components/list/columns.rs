//! Column heads of the list, its order, and the legend of its small charts.

use leptos::prelude::*;
use timeline::address;
use timeline::list::{Column, Query};
use timeline::view::LAYERS;

use crate::list::board::ListBoard;
use crate::list::tiny_score::CLASSES;

/// Meaning of the layers of the small charts.
const KEY: [&str; LAYERS] =
    ["available", "available, previous revision", "not available yet", "failing", "terminating"];

/// The column heads of the list, and a legend of its colours.
#[component]
pub fn Columns(board: ListBoard) -> impl IntoView {
    let entry = |(class, words): (&'static str, &'static str)| {
        view! { <li><svg class="tiny" viewBox="0 0 10 10" aria-hidden="true"><rect class=class width="10" height="10"></rect></svg>{words}</li> }
    };
    view! {
        <ul class="key" aria-label="Colours">{CLASSES.into_iter().zip(KEY).map(entry).collect_view()}
            <li><svg class="tiny" viewBox="0 0 10 10" aria-hidden="true"><path class="desired" d="M0 5H10"></path></svg>"desired replicas"</li><li><i class="sample now"></i>"now"</li></ul>
        <div class="columns" role="table" aria-label="Columns, by which the list can be sorted" data-testid="columns">
            <div class="cells" role="row">
                <ColumnHead board column=Column::Name words="Deployment"/>
                <ColumnHead board column=Column::Available words="Pods, last minute"/>
                <ColumnHead board column=Column::Status words="Status"/>
                <span role="columnheader">"Revision"</span>
                <ColumnHead board column=Column::Since words="Since"/>
            </div>
        </div>
        // Screen readers announce each change of the order.
        <p class="aside" role="status" data-testid="announced">{move || board.query.read().sort.words()}</p>
    }
}

/// The head of a column: a link that sorts the list by it, or reverses the order if the list is sorted by it already.
#[component]
fn ColumnHead(board: ListBoard, column: Column, words: &'static str) -> impl IntoView {
    let sorted = move || {
        let sort = board.query.read().sort;
        (sort.column == column).then_some(if sort.is_descending { "descending" } else { "ascending" })
    };
    let href = move || {
        let query = board.query.get();
        address::list(&Query { sort: query.sort.chosen(column), ..query })
    };
    let title = format!("Sort by {}", column.words());
    view! { <span role="columnheader" aria-sort=sorted><a href=href title=title>{words}</a></span> }
}
