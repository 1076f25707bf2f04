//! A tile: one Deployment, read from across a room.

use leptos::prelude::*;
use timeline::story::Line;
use timeline::words::safe;

use crate::components::image::ImageName;
use crate::components::rollout::score::Score;
use crate::debounce::debounce;
use crate::images::{ImageText, with_short_images};
use crate::list::row::revisions;
use crate::rollout::board::Board;
use crate::rollout::picture::{FrameStyles, Picture};
use crate::scoped::ScopedFor;
use crate::score::frame::Frame;
use crate::wall::board::{Seat, WallBoard};
use crate::zone::Zone;

/// Number of lines of the story that are shown.
const MOST_LINES: usize = 4;

/// The tile of a seat: its Deployment, the change of images, the verdict and the picture.
#[component]
pub fn Tile(wall: WallBoard, seat: Seat) -> impl IntoView {
    let Seat { board, picture, age, revision, .. } = seat;
    let zone = Zone::of_page();
    let images = Memo::new(move |_| {
        let (replaced, current) = revision.get();
        let of = |revision: Option<u64>| revision.map(|revision| seat.images(revision)).unwrap_or_default();
        ImageText::change(&of(replaced), &of(current))
    });
    // Texts change slowly enough to be read from a distance. The figure changes together with the sentence that contains it.
    let said = Signal::derive(move || {
        let (sentence, figure) = board.read_view(|view| (view.verdict.sentence.clone(), view.new_of_desired()));
        let images = images.read();
        (with_short_images(&sentence, &images.whole.split(" → ").collect::<Vec<_>>()), figure)
    });
    let said = debounce(said, Signal::stored(false));
    let sentence = move || zone.replace_times(&said.read().0, board.now_millis());
    let figure = move || said.read().1.clone();
    let moving = FrameStyles::at(Frame::unmeasured(0, 60_000.0), 0.0);
    let cluster = move || board.workload.with(|workload| safe(&workload.cluster));
    let namespace = move || board.workload.with(|workload| safe(&workload.namespace));
    let name = move || board.workload.with(|workload| safe(&workload.name));
    let whole_name = move || format!("{} / {} / {}", cluster(), namespace(), name());
    let revisions = move || match revision.get() {
        (_, None) => String::new(),
        (replaced, current) => format!("revision {}", revisions(replaced, current)),
    };
    let age = move || age.read().words(zone, |at_millis| wall.dated(zone, at_millis));
    view! {
        <section id=format!("{}tile", picture.prefix) class=move || seat.class() data-testid="tile">
            <div class="who">
                <h2 title=whole_name><span class="cluster">{cluster}</span><i class="slash">" / "</i><span>{namespace}</span><i class="slash">" / "</i><b>{name}</b></h2>
                <b class="figure">{figure}" "<small>"new available"</small></b>
            </div>
            <p class="change">
                <ImageName text=images/>
                <span title=revisions data-testid="tile-revision">{revisions}</span>
                <span class="age" title=age data-testid="age">{age}</span>
            </p>
            <p class="says" title=sentence data-testid="tile-cause">{sentence}</p>
            <div class="room" inert=true><Score board picture moving/></div>
            <Lines board picture/>
        </section>
    }
}

/// The latest lines of the story, newest first, if there is room.
#[component]
fn Lines(board: Board, picture: Picture) -> impl IntoView {
    let story = picture.story;
    view! {
        <ol class="lately">
            <ScopedFor each=move || story.order().into_iter().rev().take(MOST_LINES) let:key>
                {story.row_signal(key).map(|line| view! { <TileLine board line/> })}
            </ScopedFor>
        </ol>
    }
}

/// One line of the story. It has a date because trouble may be days old.
#[component]
fn TileLine(board: Board, line: ReadSignal<Line>) -> impl IntoView {
    let zone = Zone::of_page();
    let text = move || zone.replace_times(&line.read().text, line.read().at_millis);
    view! {
        <li class=move || line.read().kind.name() title=text>
            <span class="muted">{move || board.moment(line.read().at_millis)}</span>" "{text}
        </li>
    }
}

#[cfg(test)]
mod tests {
    use timeline::Workload;
    use timeline::story::LineKind;

    use super::*;
    use crate::list::test_data;

    #[test]
    fn a_line_of_the_story_has_its_date_where_that_is_another_day() {
        let (_owner, _) = test_data::zone();
        let board = Board::for_workload(Workload::default(), None);
        let line = Line { at_millis: 5_000, kind: LineKind::Bad, text: "Quota exceeded.".to_owned() };
        let line = RwSignal::new(line).read_only();
        let told = |present_millis| {
            board.compare_with(present_millis, false);
            view! { <TileLine board line/> }.to_html()
        };
        let [soon, later] = [60_000, 2 * 86_400_000].map(told);
        assert!(soon.contains(">00:00:05<") && later.contains(">1970-01-01 00:00:05<"), "{soon} {later}");
    }
}
