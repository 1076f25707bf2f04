//! The bars as elements: the ground of each band, each pod's life in its slot, ribbons of pods that share rows, and the patterns that
//! fill them.

use leptos::prelude::*;
use timeline::address;
use wasm_bindgen::JsCast;

use crate::browser::placed;
use crate::numbers::fixed;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::rows::parts;
use crate::scoped::ScopedFor;
use crate::score::ink::Pattern;
use crate::score::paint::paint;
use crate::score::paint::svg::{Path, Paths};
use crate::score::scene::{BandRow, Bars, GapArea};
use crate::score::style_sheet;

/// The patterns of this picture: those of the document, turned and stretched as its view box needs it.
#[component]
pub fn Patterns(
    /// The picture whose bars use the patterns.
    picture: Picture,
    /// The transform of each pattern as the page is rendered.
    turned: [String; 3],
) -> impl IntoView {
    let pattern = |((kind, transform), node): ((Pattern, String), _)| {
        let (id, href) = (format!("{}{}", picture.prefix, kind.name()), format!("#tile-{}", kind.name()));
        view! { <pattern id=id href=href patternTransform=transform node_ref=node></pattern> }
    };
    let all = Pattern::ALL.into_iter().zip(turned).zip(picture.nodes.patterns);
    view! { <defs>{all.map(pattern).collect_view()}</defs> }
}

/// The grounds of the bands, and the bars of pods and ribbons on them.
#[component]
pub fn BarsOf(
    /// The picture whose state this shows.
    picture: Picture,
) -> impl IntoView {
    let ground = move |key: u128| picture.bands.row(key).map(|band| view! { <Ground band/> });
    let bars = move |key: u128| picture.bars.row(key).map(|bars| view! { <PodBars key bars picture/> });
    view! {
        <g>
            <ScopedFor each=move || picture.bands.order() key=|key| *key children=ground/>
        </g>
        <g id=format!("{}bars", picture.prefix)>
            <ScopedFor each=move || picture.bars.order() key=|key| *key children=bars/>
        </g>
    }
}

/// The ground on which the bars of a band are.
#[component]
fn Ground(
    /// The band, and where it is.
    band: ArcRwSignal<BandRow>,
) -> impl IntoView {
    let with = parts(band);
    let class = with(|band| {
        let class = match (band.heading.is_out(), band.heading.is_current) {
            (true, _) => "band out",
            (_, true) => "band current",
            _ => "band",
        };
        class.to_owned()
    });
    let (top, height) = (with(|band| fixed(band.place.top)), with(|band| fixed(band.place.height)));
    view! {
        <g class=class data-testid="band">
            <rect class="ground" x="-10000000" width="20000000" y=top height=height></rect>
        </g>
    }
}

/// The bars of one pod, or a ribbon.
#[component]
fn PodBars(
    /// The key of the pod, also among the heads of the picture.
    key: u128,
    /// The marks of the bars, and how far down they are.
    bars: ArcRwSignal<Bars>,
    /// The picture, whose base their times are counted from.
    picture: Picture,
) -> impl IntoView {
    let pod = bars.with_untracked(|bars| bars.pod);
    let controls = Controls::of_page();
    let open = move |_| {
        if let Some((controls, pod)) = controls.zip(pod) {
            // A bar has no focus: the head of its pod has.
            let head = picture.nodes.heads.get(key).and_then(|head| head.dyn_into().ok());
            controls.panel.open(address::pod(pod), head);
        }
    };
    let shift = {
        let bars = bars.clone();
        move || format!("translate(0 {})", fixed(bars.read().shift))
    };
    let paths = move || {
        let mut paths = Paths::new(picture.base_millis.get(), picture.prefix);
        paint(&bars.read().marks, &mut paths);
        paths.done().into_iter().map(path).collect_view()
    };
    let (class, test_id) = if pod.is_some() { ("pod", None) } else { ("pod ribbon", Some("ribbon")) };
    view! { <g class=class data-testid=test_id transform=shift on:click=open>{paths}</g> }
}

fn path(path: Path) -> impl IntoView {
    let Path { class, d, fill, fill_opacity, stroke, stroke_width, dashes } = path;
    view! {
        <path
            class=class
            d=d
            fill=fill
            fill-opacity=fill_opacity
            stroke=stroke
            stroke-width=stroke_width
            stroke-dasharray=dashes
        ></path>
    }
}

/// Stretches that nobody saw, or that are not kept any more: torn paper, with words.
#[component]
pub fn Gaps(
    /// The picture whose state this shows.
    picture: Picture,
) -> impl IntoView {
    let gap = move |key: u128| {
        picture.gaps.row(key).map(|gap: ArcRwSignal<GapArea>| {
            let words = gap.with_untracked(|gap| gap.words);
            let style = Signal::derive(move || gap.with(style_sheet::gap));
            view! { <div class="gap" data-testid="gap" use:placed=style>{words}</div> }
        })
    };
    let [.., node] = picture.nodes.timed;
    view! {
        <div class="gaps" id=format!("{}gaps", picture.prefix) node_ref=node>
            <ScopedFor each=move || picture.gaps.order() key=|key| *key children=gap/>
        </div>
    }
}
