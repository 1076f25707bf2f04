//! The story: the actions of the controllers. The style sheet keeps it scrolled to its end.

use leptos::html;
use leptos::prelude::*;
use timeline::story::Line;
use web_sys::Element;

use crate::browser;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::rollout::screen::RolloutScreen;
use crate::scoped::{ScopedFor, ScopedSignal};

/// The story of a rollout, one line for each event.
#[component]
pub fn Story(board: Board, picture: Picture, controls: Controls) -> impl IntoView {
    let part: NodeRef<html::Div> = NodeRef::new();
    // Only new lines are animated: not those of the first render, and none a second time when its place changes.
    let is_begun = StoredValue::new(false);
    Effect::new(move |_| {
        if !picture.story.order().is_empty() {
            browser::next_frame(move || {
                is_begun.try_set_value(true);
            });
        }
    });
    // The shown day: lines of another day have their date.
    let shown_day = move || board.zone.date(board.now_millis());
    let day = ScopedSignal::new(untrack(shown_day));
    Effect::new(move |_| day.set(shown_day()));
    let line = move |key: u128| {
        let is_new = is_begun.get_value();
        picture.story.row_signal(key).map(|line| view! { <StoryLine line day board picture controls is_new/> })
    };
    // Keeps the newest line in view unless the viewer scrolled to an earlier one.
    Effect::new(move |_| {
        let _ = picture.story.order(); // subscribes to it
        if let Some(part) = part.get().filter(|part| part.scroll_top() > -NEAR) {
            part.set_scroll_top(0);
        }
    });
    // The story is one Tab stop: ↑ leads to its newest line, and both arrows move between lines.
    let pressed = move |event: web_sys::KeyboardEvent| {
        let to = match (event.key().as_str(), browser::closest(&event, "li")) {
            _ if browser::has_modifier(&event) => None,
            ("ArrowUp", Some(line)) => line.previous_element_sibling(),
            ("ArrowDown", Some(line)) => line.next_element_sibling(),
            ("ArrowUp", None) => part.get_untracked().and_then(|part| browser::all_in(&part, "li").last()),
            _ => None,
        };
        if let Some(line) = to {
            event.prevent_default();
            focus_line(&line);
        }
    };
    view! {
        <div class="story" tabindex="0" role="region" aria-label="Timeline" data-testid="story" id="story" node_ref=part on:keydown=pressed>
            <ol><ScopedFor each=move || picture.story.order() children=line/></ol>
        </div>
    }
}

/// Focuses the time of a line. Its accessible name is the time alone; the text of the line describes it.
fn focus_line(line: &Element) {
    let [time, words] = [line.first_element_child(), line.last_element_child()];
    // The button that shows the whole text is beside it.
    let text = words.and_then(|words| words.first_element_child());
    if let Some((time, text)) = time.zip(text) {
        let _ = time.set_attribute("aria-description", &text.text_content().unwrap_or_default());
        browser::focus(&time);
    }
}

/// A line of more bytes than this is cut until the viewer expands it.
const LONG: usize = 300;
/// A distance from the end, in pixels, within which the viewer counts as reading the newest line.
const NEAR: i32 = 40;

/// One line; its time links to its moment.
#[component]
fn StoryLine(
    line: ReadSignal<Line>,
    day: ScopedSignal<String>,
    board: Board,
    picture: Picture,
    controls: Controls,
    is_new: bool,
) -> impl IntoView {
    let (zone, is_new) = (board.zone, RwSignal::new(is_new));
    let Line { at_millis, kind, text } = line.get_untracked();
    let element: NodeRef<html::Li> = NodeRef::new();
    // A point on the axis leads here.
    Effect::new(move |_| {
        if picture.pointed.get() == Some(at_millis)
            && let Some(element) = element.get_untracked()
        {
            focus_line(&element);
        }
    });
    // After the line showed its moment, space resumes playback; Enter shows the moment again.
    let pressed = move |event: web_sys::KeyboardEvent| {
        if event.key() == " " && !browser::has_modifier(&event) {
            event.prevent_default();
            controls.act(RolloutScreen::toggle);
        }
    };
    let is_long = text.len() > LONG;
    let is_whole = RwSignal::new(!is_long);
    // Tab reaches the button from its line only: the story is one Tab stop.
    let is_here = RwSignal::new(false);
    let title = is_long.then(|| text.clone());
    let dated_text = move || day.with(|day| zone.date_unless(at_millis, day)) + &zone.replace_times(&text, at_millis);
    let more = is_long.then(|| {
        let words = move || if is_whole.get() { "Less" } else { "Full text" };
        let tabindex = move || if is_here.get() { "0" } else { "-1" };
        view! { <button type="button" class="more" tabindex=tabindex on:click=move |_| is_whole.update(|whole| *whole = !*whole)>{words}</button> }
    });
    view! {
        <li class=kind.name() class:new=is_new node_ref=element on:animationend=move |_| is_new.set(false) on:focusin=move |_| is_here.set(true) on:focusout=move |_| is_here.set(false)>
            <button type="button" class="at" tabindex="-1" title=move || board.dated(at_millis) on:click=move |_| controls.seek(at_millis) on:keydown=pressed>{move || zone.clock(at_millis)}</button>
            <i></i>
            <span><span class:cut=move || !is_whole.get() title=title>{dated_text}</span>{more}</span>
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
    fn a_line_of_another_day_than_the_one_shown_has_its_date() {
        let (_owner, _) = test_data::zone();
        let (picture, controls) = (Picture::default(), Controls::provide());
        let line = Line { at_millis: 5_000, kind: LineKind::Bad, text: "Quota exceeded.".to_owned() };
        picture.story.set(vec![(1, line)]);
        let told = |shown_seconds| {
            let board = Board::for_workload(Workload::default(), None);
            board.second.set(shown_seconds);
            view! { <Story board picture controls/> }.to_html()
        };
        let [same, next] = [86_399, 86_400].map(told);
        assert!(same.contains(">Quota exceeded.<") && next.contains(">1970-01-01 Quota exceeded.<"), "{same} {next}");
    }
}
