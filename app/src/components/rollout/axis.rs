//! The time axis: ticks, and points for notable lines of the story.

use leptos::prelude::*;
use timeline::story::Line;

use crate::browser::bind_style;
use crate::rollout::board::Board;
use crate::rollout::picture::Picture;
use crate::scoped::ScopedFor;
use crate::score::style_sheet;
use crate::zone::Zone;

/// The time axis above the picture: ticks, points of the story, and the zone of the times.
#[component]
pub fn Axis(picture: Picture) -> impl IntoView {
    let zone = Zone::of_page();
    let [ticks, points, ..] = picture.nodes.timed;
    let tick = move |key: u128| {
        let at = key as i64;
        let style = Signal::derive(move || style_sheet::moment_style(at, picture.base_millis.get()));
        view! { <div class="tick" use:bind_style=style>{move || zone.clock(at)}</div> }
    };
    let point = move |key: u128| picture.points.row_signal(key).map(|line| view! { <Point line picture/> });
    let choose = move |_| zone.toggle();
    let name = move || zone.name(picture.base_millis.get());
    // The day of the axis' times, if it is not the present day. A recording may be of any day.
    let board = Board::of_page();
    let day = Memo::new(move |_| {
        let Some(board) = board else { return String::new() };
        let now = board.now_millis();
        // The date is at the left: the first tick may be outside of the picture, the second one is inside.
        let at = picture.ticks.with(|ticks| ticks.get(1).copied()).unwrap_or(now);
        if board.is_recorded() || board.moment(now).contains('-') { zone.date(at) } else { String::new() }
    });
    view! {
        <span class="day-of-axis" data-testid="day">{move || day.get()}</span>
        <div class="axis">
            <div class="ticks" id=format!("{}ticks", picture.prefix) node_ref=ticks>
                <ScopedFor each=move || picture.ticks.get().into_iter().map(|at| at as u128) children=tick/>
            </div>
            <div class="marks" id=format!("{}marks", picture.prefix) node_ref=points>
                <ScopedFor each=move || picture.points.order() children=point/>
            </div>
        </div>
        <button type="button" class="zone" title="Time zone: yours, or UTC" data-testid="zone" on:click=choose>{name}</button>
    }
}

/// A point, which leads to its line of the story.
#[component]
fn Point(line: ReadSignal<Line>, picture: Picture) -> impl IntoView {
    let zone = Zone::of_page();
    let at_millis = line.with_untracked(|line| line.at_millis); // the key of the row
    let style = Signal::derive(move || style_sheet::moment_style(at_millis, picture.base_millis.get()));
    let title = move || line.with(|line| zone.replace_times(&line.text, at_millis));
    let label = move || format!("{} {}", zone.clock(at_millis), title());
    let point = move |_| {
        picture.pointed.set(None); // so that a second click notifies again
        picture.pointed.set(Some(at_millis));
    };
    view! {
        <button
            type="button"
            class=move || line.with(|line| format!("mark {}", line.kind.name()))
            aria-label=label
            title=title
            use:bind_style=style
            on:click=point
        ></button>
    }
}

#[cfg(test)]
mod tests {
    use timeline::Workload;

    use super::*;
    use crate::list::test_data;

    #[test]
    fn the_day_of_the_axis_is_that_of_its_left_end() {
        let (_owner, _) = test_data::zone();
        let of_history = Workload { rollout: Some(0), ..Workload::default() };
        let board = Board::for_workload(of_history, None);
        board.second.set(86_410);
        provide_context(board);
        let picture = Picture::default();
        picture.ticks.set(vec![86_380_000, 86_390_000, 86_400_000, 86_410_000]);
        let html = view! { <Axis picture/> }.to_html();
        assert!(html.contains(">1970-01-01<") && !html.contains(">1970-01-02<"), "{html}");
    }
}
