//! The score: the axis, pods over time against the limits, and one band per ReplicaSet with a bar per pod.
//!
//! Bars are drawn once, in seconds from a base time; a frame moves only the view box of the picture. A bar that has not ended extends far
//! beyond the right edge, where the view box cuts it off.

use leptos::prelude::*;
use timeline::say;
use timeline::words::{duration, safe};

use super::axis::Axis;
use super::bars::{BarsOf, Gaps, Patterns};
use super::gutter::Gutter;
use super::heads::Heads;
use super::strip::BudgetStrip;
use crate::browser::{bind_style, has_modifier, is_cut, is_on};
use crate::detail::history::at_least;
use crate::numbers::fixed;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::{FrameStyles, Picture, Tip, TipContent};
use crate::rollout::screen::RolloutScreen;
use crate::score::budget::Limit;
use crate::score::style_sheet;
use crate::zone::Zone;

/// The score of one Deployment: axis, budget strip, and the picture with its bands.
#[component]
pub fn Score(
    /// The state of the page. Its verdict is the accessible name of the score.
    board: Board,
    picture: Picture,
    moving: FrameStyles,
) -> impl IntoView {
    let (nodes, prefix) = (picture.nodes, picture.prefix);
    let label = move || {
        let sentence = board.read_view(|view| view.verdict.sentence.clone());
        if board.is_past() { say::past(&sentence) } else { sentence }
    };
    let size = Signal::derive(move || style_sheet::picture(picture.height.get(), picture.width.get()));
    let controls = Controls::of_page();
    let act = move |act: &dyn Fn(&RolloutScreen)| {
        if let Some(controls) = controls {
            controls.act(act);
        }
    };
    let key = move |event: web_sys::KeyboardEvent| {
        // A key on a link or a button inside does not scroll.
        let may_scroll = is_on(&event, "div") && !has_modifier(&event);
        if let Some(controls) = controls.filter(|_| may_scroll) {
            controls.act(|screen| screen.scroll_key(&event.key()));
            let does_scroll = nodes.scroller.get_untracked().is_some_and(|scroller| is_cut(&scroller));
            if event.key() == "ArrowDown" && !does_scroll && picture.focus_first_of(None) {
                event.prevent_default();
            }
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
            on:pointerup=move |event| if event.is_primary() { act(&RolloutScreen::release) }
            on:pointercancel=move |event| act(&|screen| screen.cancel(&event))
            on:click=move |event| act(&|screen| screen.click(&event))
            on:pointerleave=move |_| act(&RolloutScreen::leave)
            on:wheel=move |event| act(&|screen| screen.turn(&event))
        >
            <Axis picture/>
            <BudgetStrip picture view_box=moving.strip/>
            <div class="scroller" id=id("scroller") tabindex="0" role="region" aria-label="Revisions and their pods" node_ref=nodes.scroller on:keydown=key>
                <div class="picture" id=id("picture") node_ref=nodes.picture use:bind_style=size>
                    <Gutter picture/>
                    <div class="canvas" id=id("canvas") node_ref=nodes.canvas>
                        <svg class="bars" id=id("picture-box") viewBox=moving.bars preserveAspectRatio="none" aria-hidden="true" node_ref=nodes.bars>
                            <Patterns picture turned=moving.patterns/>
                            <BarsOf picture/>
                        </svg>
                        // If there are many bars they are painted on a canvas, above the backgrounds of their bands.
                        <canvas class="bars" id=id("paint") aria-hidden="true" node_ref=nodes.paint></canvas>
                        <Gaps picture/>
                    </div>
                    <Heads picture/>
                </div>
            </div>
            <div class="now-line"></div>
            {controls.map(|_| view! { <PlaceTip board picture/> })}
        </div>
    }
}

/// The tip for the place under the pointer or the pod with the focus, and a line at its moment.
#[component]
fn PlaceTip(board: Board, picture: Picture) -> impl IntoView {
    let zone = board.zone;
    let class = move |name: &'static str| move || if picture.tip.read().is_some() { name } else { "unused" };
    let of_tip = move |style: fn(&Tip) -> String| {
        Signal::derive(move || picture.tip.with(|tip| tip.as_ref().map(style).unwrap_or_default()))
    };
    let (style, line) = (of_tip(|tip| tip.place.clone()), of_tip(|tip| format!("left:{}px", fixed(tip.x))));
    let of_shown_day = move |tip: &Tip| words(tip, zone, &zone.date(board.now_millis()));
    let words = Memo::new(move |_| picture.tip.with(|tip| tip.as_ref().map(of_shown_day).unwrap_or_default()));
    let line_of = move |read: fn(&[String; 3]) -> &String| move || words.with(|words| read(words).clone());
    view! {
        <div class=class("crosshair") use:bind_style=line></div>
        <div class=class("tip") role="tooltip" data-testid="tip" use:bind_style=style>
            <b>{line_of(|[first, ..]| first)}</b>
            <span>{line_of(|[_, second, _]| second)}</span>
            <span>{line_of(|[.., third]| third)}</span>
        </div>
    }
}

/// Returns the three lines of a tip, of which the last ones may be empty. Times of another day than `day` have their date.
fn words(tip: &Tip, zone: Zone, day: &str) -> [String; 3] {
    let clock = |at_millis| zone.date_unless(at_millis, day) + &zone.clock(at_millis);
    let at = clock(tip.at_millis);
    match &tip.content {
        TipContent::Pod { name, look, since_millis, is_older, until_millis, lasted_millis, reason } => {
            let since = clock(*since_millis);
            let lasted = format!("{}{}", at_least(*is_older), duration(*lasted_millis));
            let when = match until_millis {
                Some(until) => format!("{since} to {}, {lasted}", clock(*until)),
                None => format!("since {since}, {lasted}"),
            };
            [safe(name), format!("{}: {when}", look.label()), safe(reason)]
        }
        TipContent::Counts(counts, limits) => {
            let counts: Vec<String> = counts.iter().map(|(look, count)| format!("{count} {}", look.label())).collect();
            let counts = if counts.is_empty() { "no pods".to_owned() } else { counts.join(", ") };
            let limits = limits
                .map(|limits| Limit::ALL.map(|limit| format!("{} {}", limit.name(), limit.pods(limits))).join(", "));
            [at, counts, limits.unwrap_or_default()]
        }
    }
}

#[cfg(test)]
mod tests {
    use timeline::model::PodState;

    use super::*;
    use crate::list::test_data;
    use crate::score::ink::PodLook;

    #[test]
    fn times_of_a_tip_have_their_date_where_that_is_another_day() {
        let (_owner, zone) = test_data::zone();
        let pod = TipContent::Pod {
            name: "web-1".to_owned(),
            look: PodLook::In(PodState::Available),
            since_millis: 86_395_000,
            is_older: false,
            until_millis: Some(86_405_000),
            lasted_millis: 10_000,
            reason: String::new(),
        };
        let told = |content: &TipContent, day| {
            let tip = Tip { place: String::new(), x: 0.0, at_millis: 86_399_000, content: content.clone() };
            words(&tip, zone, day).join(" ")
        };
        let counts = TipContent::Counts(Vec::new(), None);
        assert_eq!(told(&counts, "1970-01-01"), "23:59:59 no pods ");
        assert_eq!(told(&counts, "1970-01-02"), "1970-01-01 23:59:59 no pods ");
        let dated = "web-1 available: 1970-01-01 23:59:55 to 00:00:05, 10 s ";
        assert_eq!(told(&pod, "1970-01-02"), dated);
    }
}
