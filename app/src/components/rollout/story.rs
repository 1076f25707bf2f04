//! The story: what the controllers did. The scroll begins at its end and stays there, by the style sheet.

use leptos::html;
use leptos::prelude::*;
use timeline::story::Line;

use crate::browser;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::zone::Zone;

/// The story.
#[component]
pub fn Story(
    /// What it tells.
    picture: Picture,
) -> impl IntoView {
    let part: NodeRef<html::Div> = NodeRef::new();
    // What is there from the beginning does not appear, and what appeared does not again when others make it move.
    let is_begun = StoredValue::new(false);
    Effect::new(move |_| is_begun.set_value(true));
    let line = move |key: u128| {
        let is_new = is_begun.get_value();
        picture.story.row(key).map(|line| view! { <StoryLine line picture is_new/> })
    };
    // The newest line is in view unless somebody reads an earlier one.
    Effect::new(move |_| {
        let _ = picture.story.order(); // follows it
        if let Some(part) = part.get().filter(|part| part.scroll_top() > -NEAR) {
            part.set_scroll_top(0);
        }
    });
    view! {
        <div class="story" tabindex="0" data-testid="story" id="story" node_ref=part>
            <ol><For each=move || picture.story.order() key=|key| *key children=line/></ol>
        </div>
    }
}

/// So close to the newest line, in pixels, it is what is read.
const NEAR: i32 = 40;

/// One line; its time leads to its moment.
#[component]
fn StoryLine(
    /// The line.
    line: ArcRwSignal<Line>,
    /// The picture that belongs to it.
    picture: Picture,
    /// It came while somebody looked.
    is_new: bool,
) -> impl IntoView {
    let is_new = RwSignal::new(is_new);
    let (zone, controls) = (Zone::of_page(), Controls::of_page());
    let Line { at_millis, kind, text } = line.get_untracked();
    let button: NodeRef<html::Button> = NodeRef::new();
    // A point on the axis leads here.
    Effect::new(move |_| {
        if picture.pointed.get() == Some(at_millis)
            && let Some(button) = button.get_untracked()
        {
            browser::focus(&button);
        }
    });
    let seek = move |_| {
        if let Some(controls) = controls {
            controls.seek(at_millis);
        }
    };
    view! {
        <li class=kind.name() class:new=is_new on:animationend=move |_| is_new.set(false)>
            <button type="button" class="at" node_ref=button on:click=seek>{move || zone.clock(at_millis)}</button>
            <i></i>
            <span>{move || zone.said(&text, at_millis)}</span>
        </li>
    }
}
