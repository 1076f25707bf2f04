//! The score: the axis, pods over time against the limits, and one band per ReplicaSet with a bar per pod.
//!
//! Bars are drawn once, in seconds from a base; every frame moves only the picture's view box. A bar that has not ended reaches far
//! beyond the right edge, where the view box cuts it off.

use leptos::prelude::*;

use super::axis::Axis;
use super::bars::{BarsOf, Gaps, Patterns};
use super::gutter::Gutter;
use super::heads::Heads;
use super::strip::BudgetStrip;
use super::tip::PlaceTip;
use crate::browser::{has_modifier, placed, tag};
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::{FrameStyles, Picture};
use crate::rollout::screen::RolloutScreen;
use crate::score::style_sheet;

/// The score of one Deployment: axis, budget strip, and the picture with its bands.
#[component]
pub fn Score(
    /// The state of the page, whose verdict is the score's name.
    board: Board,
    /// The picture whose state this shows.
    picture: Picture,
    /// Where everything that moves is at first.
    moving: FrameStyles,
) -> impl IntoView {
    let (nodes, prefix) = (picture.nodes, picture.prefix);
    let label = move || board.said(|view| view.verdict.sentence.clone());
    let size = Signal::derive(move || style_sheet::picture(picture.height.get(), picture.width.get()));
    let controls = Controls::of_page();
    let act = move |act: &dyn Fn(&RolloutScreen)| {
        if let Some(controls) = controls {
            controls.act(act);
        }
    };
    let key = move |event: web_sys::KeyboardEvent| {
        // What a link or a button in it takes does not scroll.
        let may_scroll = tag(&event) == "div" && !has_modifier(&event);
        if let Some(controls) = controls.filter(|_| may_scroll) {
            controls.act(|screen| screen.scroll_key(&event.key()));
        }
    };
    let id = |name: &str| format!("{prefix}{name}");
    view! {
        <div
            class="score"
            role="group"
            aria-label=label
            data-testid="score"
            on:pointerdown=move |event| act(&|screen| screen.press(&event))
            on:pointermove=move |event| act(&|screen| screen.point(&event))
            on:pointerup=move |_| act(&RolloutScreen::release)
            on:pointercancel=move |_| act(&RolloutScreen::release)
            on:pointerleave=move |_| act(&RolloutScreen::leave)
            on:wheel=move |event| act(&|screen| screen.turn(&event))
        >
            <Axis picture/>
            <BudgetStrip picture view_box=moving.strip/>
            <div class="scroller" id=id("scroller") tabindex="0" role="region" aria-label="Revisions and their pods" node_ref=nodes.scroller on:keydown=key>
                <div class="picture" id=id("picture") node_ref=nodes.picture use:placed=size>
                    <Gutter picture/>
                    <div class="canvas" id=id("canvas") node_ref=nodes.canvas>
                        <svg class="bars" id=id("picture-box") viewBox=moving.bars preserveAspectRatio="none" aria-hidden="true" node_ref=nodes.bars>
                            <Patterns picture turned=moving.patterns/>
                            <BarsOf picture/>
                        </svg>
                        // Many bars are painted, on the grounds of their bands.
                        <canvas class="bars" id=id("paint") aria-hidden="true" node_ref=nodes.paint></canvas>
                        <Gaps picture/>
                    </div>
                    <Heads picture/>
                </div>
            </div>
            <div class="now-line"></div>
            {controls.map(|_| view! { <PlaceTip picture/> })}
        </div>
    }
}
