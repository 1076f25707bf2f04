//! The heads: right of the now line each pod's present state, with a token and the end of its name.

use leptos::prelude::*;
use timeline::address;
use timeline::words::{safe, short};

use crate::browser::{self, bind_style};
use crate::components::tokens::Token;
use crate::elements::{Neighbour, register_element};
use crate::numbers::fixed;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::scoped::ScopedFor;
use crate::score::bars::BarMark;
use crate::score::lanes::revision_name;
use crate::score::scene::{HeadPlace, PodHead};
use crate::score::style_sheet;
use crate::zone::Zone;

/// In rows lower than this, names are left out and tokens become squares.
const NAME_ROW: f64 = 14.0;
const TOKEN_ROW: f64 = 12.0;

/// The heads of all pods, and beside each ribbon a column of the present states.
#[component]
pub fn Heads(picture: Picture) -> impl IntoView {
    let head = move |key: u128| {
        let (head, spot) = picture.heads.row_signal(key).zip(picture.spots.row_signal(key))?;
        Some(view! { <PodHead key picture head spot/> })
    };
    let column = move |key: u128| picture.columns.row_signal(key).map(|marks| view! { <Column marks/> });
    view! {
        <svg class="tokens" role="group" aria-label="Pods">
            <g>
                <ScopedFor each=move || picture.columns.order() children=column/>
            </g>
            <g id=format!("{}heads", picture.prefix)>
                <ScopedFor each=move || picture.heads.order() children=head/>
            </g>
        </svg>
    }
}

/// The head of one pod: a token of its state and the end of its name. A click opens the pod's detail.
#[component]
fn PodHead(key: u128, picture: Picture, head: ReadSignal<PodHead>, spot: ReadSignal<HeadPlace>) -> impl IntoView {
    let (zone, controls, board) = (Zone::of_page(), Controls::of_page(), Board::of_page());
    let (uid, name) = head.with_untracked(|head| (head.uid, head.name.clone()));
    let open = move || {
        if let Some(controls) = controls {
            controls.open(address::pod(uid));
        }
    };
    let pressed = move |event: web_sys::KeyboardEvent| {
        let is_meant = match event.key().as_str() {
            "Enter" | " " => {
                open();
                true
            }
            "ArrowUp" | "ArrowDown" if browser::has_modifier(&event) => false,
            "ArrowUp" => picture.focus_beside(key, Neighbour::Previous),
            "ArrowDown" => picture.focus_beside(key, Neighbour::Next),
            _ => false,
        };
        if is_meant {
            event.prevent_default();
        }
    };
    // A focus set by key shows the same tip as the pointer; a click has shown it already.
    let told = move |_| {
        let head = picture.nodes.heads.get(key);
        let is_focused = head.is_some_and(|head| head.matches(":focus-visible").unwrap_or(false));
        if let Some(controls) = controls {
            controls.act(|screen| screen.point_to_head(is_focused.then_some(key)));
        }
    };
    let row = Memo::new(move |_| spot.read().row);
    let class = move || class(&head.read(), row.get());
    let label = move || {
        let head = head.read();
        let at = head.since_millis;
        label(&head, &board.map_or_else(|| zone.stamp(at), |board| board.dated(at)))
    };
    let state = Memo::new(move |_| head.read().state);
    let revision = move || head.with(|head| revision_name(head.is_out(), head.revision, ["out", ""]));
    let shift = move || format!("translate(0 {})", fixed(spot.read().y));
    let scale = move || format!("translate(14 0) scale({})", fixed((row.get() / 2.0 - 2.0).clamp(3.0, 8.0) / 8.0));
    // A little higher than the row, so that rounding leaves no gap between neighbours.
    let square = move || format!("M4 {}h10v{}h-10z", fixed(-row.get() / 2.0), fixed(row.get() + 0.03));
    let hit = move || format!("M0 {}h90v{}h-90z", fixed(-row.get() / 2.0), fixed(row.get()));
    // An animation restarts only with its class: a pod may return to a band that still has its head.
    let travel = move || if spot.read().came_from.is_some() { "travel" } else { "" };
    let travels = Signal::derive(move || style_sheet::travels(*spot.read()));
    view! {
        <g
            use:register_element=(picture.nodes.heads, key)
            class=class
            transform=shift
            data-testid="pod"
            data-pod=name.clone()
            data-state=move || state.get().name()
            data-revision=revision
            role="button"
            tabindex="-1"
            aria-label=label
            on:click=move |_| open()
            on:keydown=pressed
            on:focus=told
            on:blur=told
        >
            <path class="square" d=square></path>
            <path class="hit" d=hit></path>
            <g class=travel use:bind_style=travels>
                <g class="move">
                    <g transform=scale>
                        <ScopedFor each=move || [state.get()] let:state><Token state/></ScopedFor>
                        <circle r="10.5" class="outer"></circle>
                    </g>
                </g>
                <text x="28" y="4">{safe(short(&name))}</text>
            </g>
        </g>
    }
}

fn class(head: &PodHead, row: f64) -> String {
    let marks = [
        (head.is_newborn, " born"),
        // The head of a pod that was released is in the other band.
        (head.is_elsewhere, " elsewhere"),
        (head.is_out(), " out"),
        (row < TOKEN_ROW, " small"),
        (row < NAME_ROW, " nameless"),
        (head.is_shared, " shared"),
    ];
    let words = marks.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word);
    format!("head {}{}", head.state.name(), words.collect::<String>())
}

fn label(head: &PodHead, since: &str) -> String {
    let reason = safe(&head.reason);
    let colon = if reason.is_empty() { "" } else { ": " };
    format!("{} {}{colon}{reason} since {since}", safe(&head.name), head.state.label())
}

/// A column with the present states of a ribbon's pods.
#[component]
fn Column(marks: ReadSignal<Vec<BarMark>>) -> impl IntoView {
    let boxes = move || {
        let of = |mark: &BarMark| {
            let (top, height) = (fixed(mark.upper()), fixed(mark.height));
            view! { <rect class=mark.look.name() x="4" y=top width="10" height=height></rect> }
        };
        marks.read().iter().map(of).collect_view()
    };
    view! { <g class="column" data-testid="column">{boxes}</g> }
}
