//! The bars as elements: the background of each band, each pod's life in its slot, ribbons of pods that share rows, and the fill
//! patterns. Marks are painted as one path for each look, in seconds by pixels: only the picture's view box moves with time.

use std::fmt::Write;

use leptos::prelude::*;
use timeline::{Millis, address};

use crate::browser::bind_style;
use crate::numbers::{fixed, thousandths};
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::rows::parts;
use crate::scoped::ScopedFor;
use crate::score::bars::{BarMark, Painter, paint};
use crate::score::frame::FAR;
use crate::score::ink::{Colour, Edge, Fill, Pattern};
use crate::score::places::Density;
use crate::score::scene::{BandRow, Bars};
use crate::score::style_sheet;

/// Renders the patterns of this picture: those of the document, rotated and stretched for its view box.
#[component]
pub fn Patterns(
    picture: Picture,
    /// The transform of each pattern as the page is rendered.
    turned: [String; 3],
) -> impl IntoView {
    let pattern = |((kind, transform), node): ((&'static Pattern, String), _)| {
        let (id, href) = (format!("{}{}", picture.prefix, kind.name), format!("#tile-{}", kind.name));
        view! { <pattern id=id href=href patternTransform=transform node_ref=node></pattern> }
    };
    let all = Pattern::ALL.into_iter().zip(turned).zip(picture.nodes.patterns);
    view! { <defs>{all.map(pattern).collect_view()}</defs> }
}

/// Renders the backgrounds of the bands, and the bars of pods and ribbons on them.
#[component]
pub fn BarsOf(picture: Picture) -> impl IntoView {
    let ground = move |key: u128| picture.bands.row_signal(key).map(|band| view! { <Ground band picture/> });
    let bars = move |key: u128| picture.bars.row_signal(key).map(|bars| view! { <PodBars key bars picture/> });
    view! {
        <g>
            <ScopedFor each=move || picture.bands.order() children=ground/>
        </g>
        <g id=format!("{}bars", picture.prefix)>
            <ScopedFor each=move || picture.bars.order() children=bars/>
        </g>
    }
}

/// Renders the background of a band.
#[component]
fn Ground(band: ReadSignal<BandRow>, picture: Picture) -> impl IntoView {
    let with = parts(band);
    let seconds = |(from, to): (Millis, Millis)| thousandths((to - from) as f64 / 1000.0);
    let x = move || seconds((picture.base_millis.get(), picture.dashed_millis.get().0));
    let width = move || seconds(picture.dashed_millis.get());
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
            <rect class="ground" x=x width=width y=top height=height></rect>
        </g>
    }
}

/// Renders the bars of one pod, or a ribbon.
#[component]
fn PodBars(key: u128, bars: ReadSignal<Bars>, picture: Picture) -> impl IntoView {
    let pod = bars.with_untracked(|bars| bars.pod);
    let controls = Controls::of_page();
    let open = move |_| {
        if let Some((controls, pod)) = controls.zip(pod) {
            let mut has_dragged = false;
            controls.act(|screen| has_dragged = screen.has_dragged());
            if !has_dragged {
                // A bar cannot be focused, but the head of its pod can.
                controls.panel.open(address::pod(pod), picture.nodes.heads.get(key));
            }
        }
    };
    let shift = move || format!("translate(0 {})", fixed(bars.read().shift));
    let paths = move || {
        let mut painter = Paths::of(picture);
        paint(&bars.read().marks, &mut painter);
        painter.paths.into_iter().map(|of| path(of, picture.prefix)).collect_view()
    };
    let (class, test_id) = if pod.is_some() { ("pod", None) } else { ("pod ribbon", Some("ribbon")) };
    view! { <g class=class data-testid=test_id transform=shift on:click=open>{paths}</g> }
}

/// A path of the picture: a filled shape, or lines.
struct Path {
    /// Class such as "bar available low", for style sheets and tests.
    class: String,
    d: String,
    colour: Colour,
    fill: Option<Fill>,
    edge: Option<Edge>,
}

/// Renders a path. `prefix` precedes the ids of the picture's patterns.
fn path(path: Path, prefix: &'static str) -> impl IntoView {
    let Path { class, d, colour, fill, edge } = path;
    let (fill, opacity) = fill.map_or_else(|| ("none".to_owned(), None), |fill| filling(colour, fill, prefix));
    let (stroke, width) = (edge.map(|_| colour.var()), edge.map(|edge| fixed(edge.width)));
    view! {
        <path class=class d=d fill=fill fill-opacity=opacity stroke=stroke stroke-width=width stroke-dasharray=edge.and_then(dashes)></path>
    }
}

/// Paints paths. Times are counted from `base_millis`.
struct Paths {
    base_millis: Millis,
    /// Start and end of dashed lines.
    dashed_millis: (Millis, Millis),
    paths: Vec<Path>,
}

impl Paths {
    fn of(picture: Picture) -> Self {
        let (base_millis, dashed_millis) = (picture.base_millis.get(), picture.dashed_millis.get());
        Self { base_millis, dashed_millis, paths: Vec::new() }
    }

    /// Returns the path of that kind, or creates it; shapes of the same kind share one.
    fn path(&mut self, mark: BarMark, class: String, fill: Option<Fill>, edge: Option<Edge>) -> &mut String {
        let at = self.paths.iter().position(|path| path.class == class).unwrap_or_else(|| {
            self.paths.push(Path { class, d: String::new(), colour: mark.look.ink().colour, fill, edge });
            self.paths.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "it was found or made just now")]
        &mut self.paths[at].d
    }

    fn x(&self, at_millis: Millis) -> f64 {
        (at_millis - self.base_millis) as f64 / 1000.0
    }

    /// Returns absolute coordinates: relative steps as wide as [`FAR`] lose their last digits in a browser's single precision.
    fn ends(&self, mark: BarMark) -> (String, String) {
        let from = self.x(mark.from);
        (thousandths(from), thousandths(mark.to.map_or(FAR, |to| self.x(to)).max(from)))
    }
}

/// Returns the fill of a shape and its opacity, as values of attributes. `prefix` precedes the ids of the picture's patterns.
pub(crate) fn filling(colour: Colour, fill: Fill, prefix: &str) -> (String, Option<String>) {
    match fill {
        Fill::Tint(share) => (colour.var(), Some(share).filter(|share| *share < 1.0).map(fixed)),
        Fill::Pattern(pattern) => (format!("url(#{prefix}{})", pattern.name), None),
    }
}

/// Returns the dashes of an edge as a value of an attribute; `None` for a solid line.
pub(crate) fn dashes(edge: Edge) -> Option<String> {
    edge.dashes.map(|(dash, room)| format!("{} {}", fixed(dash), fixed(room)))
}

impl Painter for Paths {
    fn fill(&mut self, mark: BarMark, fill: Fill) {
        let room = match mark.density {
            Density::Roomy => "",
            Density::Low => " low",
            Density::Tight => " low tight",
        };
        let (from, to) = self.ends(mark);
        let d = self.path(mark, format!("bar {}{room}", mark.look.name()), Some(fill), None);
        let _ = write!(d, "M{from} {}H{to}V{}H{from}z", fixed(mark.upper()), fixed(mark.lower()));
    }

    fn edges(&mut self, mark: BarMark, edge: Edge) {
        let (begin, end) = self.dashed_millis;
        let drawn = match edge.dashes {
            Some(_) => BarMark { from: mark.from.max(begin), to: mark.to.or(Some(end)), ..mark },
            None => mark,
        };
        let (from, to) = self.ends(drawn);
        // A mark without height consists of the line alone.
        let kind = if mark.height > 0.0 { "edge" } else { "bar" };
        let d = self.path(mark, format!("{kind} {}", mark.look.name()), None, Some(edge));
        for y in mark.edges() {
            let _ = write!(d, "M{from} {}H{to}", fixed(y));
        }
    }

    fn end(&mut self, mark: BarMark, edge: Edge) {
        let from = thousandths(self.x(mark.from));
        let d = self.path(mark, format!("bar {}", mark.look.name()), None, Some(edge));
        let _ = write!(d, "M{from} {}V{}", fixed(mark.upper()), fixed(mark.lower()));
    }
}

/// Renders stretches of time that were not observed, or are no longer stored: as torn paper, with text in the bands, without text
/// in the strip.
#[component]
pub fn Gaps(picture: Picture, #[prop(optional)] is_strip: bool) -> impl IntoView {
    let gap = move |key: u128| {
        picture.gaps.row_signal(key).map(|gap| {
            let words = (!is_strip).then(|| gap.with_untracked(|gap| gap.words));
            let test_id = (!is_strip).then_some("gap");
            let style = Signal::derive(move || gap.with(style_sheet::gap));
            view! { <div class="gap" data-testid=test_id use:bind_style=style>{words}</div> }
        })
    };
    let [.., strip, bands] = picture.nodes.timed;
    let (name, node) = if is_strip { ("strip-gaps", strip) } else { ("gaps", bands) };
    let (hidden, test_id) = (is_strip.then_some("true"), is_strip.then_some(name));
    view! {
        <div class="gaps" id=format!("{}{name}", picture.prefix) aria-hidden=hidden node_ref=node data-testid=test_id>
            <ScopedFor each=move || picture.gaps.order() children=gap/>
        </div>
    }
}
