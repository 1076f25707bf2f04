//! The budget strip: pods over time against the two limits of a rolling update.

use leptos::prelude::*;
use timeline::model::PodState;
use timeline::words::grouped;

use super::bars::{Gaps, filling};
use crate::browser::bind_style;
use crate::rollout::picture::Picture;
use crate::score::budget::{self, LAYERS, Limit, hold_class};
use crate::score::style_sheet;

/// The budget strip: limits, pods over time, and the reason why the controller waits.
#[component]
pub fn BudgetStrip(
    picture: Picture,
    /// The view box of the time range for which the page is rendered.
    view_box: String,
) -> impl IntoView {
    let prefix = picture.prefix;
    let id = |name: &str| format!("{prefix}{name}");
    view! {
        <div class="strip" data-testid="budget">
            <div class="gutter" id=id("limits")><Limits picture/></div>
            <div class="canvas">
                <svg class="bars" id=id("strip") viewBox=view_box preserveAspectRatio="none" aria-hidden="true" node_ref=picture.nodes.strip>
                    <g id=id("areas")><Areas picture/></g>
                </svg>
                <Gaps picture is_strip=true/>
            </div>
            <div class="labels" id=id("labels")><Labels picture/></div>
        </div>
    }
}

/// Renders the limits and the fields that set them.
#[component]
fn Limits(picture: Picture) -> impl IntoView {
    let limit = move |limit: Limit| {
        let now = Memo::new(move |_| {
            let limits = &picture.strip.read().limits;
            limits.iter().find(|(known, ..)| *known == limit).map(|(_, pods, derived)| (*pods, derived.clone()))
        });
        move || {
            now.get().map(|(pods, derived)| {
                view! { <div class=format!("limit {}", limit.name())>{limit.name()}" "<b>{grouped(pods.into())}</b><span class="derived">" = "{derived}</span></div> }
            })
        }
    };
    Limit::ALL.map(limit).into_iter().collect_view()
}

/// Pods over time, and the limits as lines.
#[component]
fn Areas(picture: Picture) -> impl IntoView {
    let prefix = picture.prefix;
    let area = move |layer: PodState| {
        let shape = move || shape(&picture.strip.read().areas, layer);
        let (colour, fill) = budget::fill(layer);
        let (fill, opacity) = filling(colour, fill, prefix);
        view! { <g class=format!("area {}", layer.name())><path d=shape fill=fill fill-opacity=opacity></path></g> }
    };
    let line = move |limit: Limit| {
        let shape = move || shape(&picture.strip.read().lines, limit);
        view! { <g class=format!("area {}", limit.name())><path d=shape></path></g> }
    };
    (LAYERS.map(area).into_iter().collect_view(), Limit::ALL.map(line).into_iter().collect_view())
}

fn shape<K: PartialEq>(shapes: &[(K, String)], of: K) -> String {
    shapes.iter().find(|(known, _)| *known == of).map(|(_, shape)| shape.clone()).unwrap_or_default()
}

/// Renders the numbers at the now line, and the reason why the controller waits.
#[component]
fn Labels(picture: Picture) -> impl IntoView {
    let label = move |limit: Limit| {
        let now = Memo::new(move |_| {
            let labels = &picture.strip.read().labels;
            labels.iter().find(|(known, ..)| *known == limit).map(|(_, pods, top)| (*pods, *top))
        });
        let style = Signal::derive(move || now.get().map(|(_, top)| style_sheet::label(top)).unwrap_or_default());
        let class = move || if now.read().is_some() { format!("label {}", limit.name()) } else { "unused".to_owned() };
        let pods = move || now.get().map(|(pods, _)| grouped(pods.into())).unwrap_or_default();
        view! { <div class=class use:bind_style=style>{pods}</div> }
    };
    let hold = Memo::new(move |_| picture.strip.read().hold);
    let style = Signal::derive(move || hold.get().map(|(_, top)| style_sheet::label(top)).unwrap_or_default());
    let held = move || hold.get().map(|(hold, _)| hold).unwrap_or_default();
    let (class, words) = (move || hold_class(held()), move || held().words());
    let labels = Limit::ALL.map(label).into_iter().collect_view();
    view! { {labels}<div class=class use:bind_style=style>{words}</div> }
}
