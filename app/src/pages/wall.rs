//! The wall: what goes on, told by itself, to be read from across a room. Nobody has to touch it.

use leptos::prelude::*;
use timeline::Millis;
use timeline::list::Overall;
use timeline::view::Tone;

use crate::board::Board;
use crate::components::slots::Slots;
use crate::payload::WallPayload;
use crate::wall::{self, Look, stage::SEATS};

/// Before the ids of what is on each seat.
pub(crate) const PREFIXES: [&str; SEATS] = ["t0-", "t1-", "t2-", "t3-"];
/// Places in the strip for what is done or waits.
const STRIP: usize = 2;

/// What the texts of the page follow.
#[derive(Clone)]
pub(crate) struct WallBoard {
    pub(crate) overall: ArcRwSignal<Overall>,
    pub(crate) is_linked: ArcRwSignal<bool>,
    /// The last word from the server, by the browser's clock.
    pub(crate) heard_millis: ArcRwSignal<Millis>,
    pub(crate) strip: ArcRwSignal<Vec<String>>,
    /// The one large line; empty while something goes on.
    pub(crate) calm: ArcRwSignal<String>,
    /// Time of day.
    pub(crate) clock: ArcRwSignal<String>,
    pub(crate) tiles: [TileBoard; SEATS],
}

/// What the texts of one seat follow.
#[derive(Clone)]
pub(crate) struct TileBoard {
    pub(crate) board: Board,
    pub(crate) name: ArcRwSignal<String>,
    pub(crate) place: ArcRwSignal<String>,
    /// How it is shown.
    pub(crate) look: ArcRwSignal<Look>,
}

impl WallBoard {
    fn new(payload: &WallPayload) -> Self {
        let copy = payload.list.copy();
        let ages = crate::list::Ages::told(&copy.overall);
        let is_calm = copy.overall.counts.iter().take(2).all(|count| *count == 0);
        let tile = || TileBoard {
            board: Board::idle(),
            name: ArcRwSignal::default(),
            place: ArcRwSignal::default(),
            look: ArcRwSignal::default(),
        };
        Self {
            is_linked: ArcRwSignal::new(true),
            heard_millis: ArcRwSignal::default(),
            strip: ArcRwSignal::new(wall::strip(&copy, &[], &ages, 0)),
            calm: ArcRwSignal::new(if is_calm { wall::calm(&copy, &ages) } else { String::new() }),
            clock: ArcRwSignal::default(),
            tiles: [tile(), tile(), tile(), tile()],
            overall: ArcRwSignal::new(copy.overall),
        }
    }
}

/// What changes on the page as text.
fn slots(board: &WallBoard) -> Slots {
    let mut slots = Slots::default();
    let of = board.clone();
    let stale = move || wall::stale(&of.overall.read(), of.is_linked.get(), of.heard_millis.get());
    crate::components::connection::banner(&mut slots, "stale", stale);
    let calm = board.calm.clone();
    slots.text("calm", move || calm.get());
    let calm = board.calm.clone();
    slots.attribute("calm", "class", move || if calm.read().is_empty() { "unused" } else { "calm-line" }.to_owned());
    let overall = board.overall.clone();
    slots.text("calm-count", move || wall::calm_count(&overall.read()));
    let overall = board.overall.clone();
    slots.text("connections", move || wall::connections(&overall.read()));
    for index in 0..STRIP {
        let strip = board.strip.clone();
        slots.text(&format!("strip-{index}"), move || strip.read().get(index).cloned().unwrap_or_default());
    }
    let clock = board.clock.clone();
    slots.text("clock", move || clock.get());
    let tiles = board.tiles.clone();
    slots.attribute("tiles", "data-count", move || {
        tiles.iter().filter(|tile| tile.look.get() != Look::Free).count().to_string()
    });
    for (prefix, tile) in PREFIXES.into_iter().zip(&board.tiles) {
        self::tile(tile, prefix, &mut slots);
    }
    slots
}

/// What changes on one seat.
fn tile(tile: &TileBoard, prefix: &str, slots: &mut Slots) {
    let of = tile.clone();
    slots.attribute(&format!("{prefix}tile"), "class", move || {
        let tone = of.board.view.with(|view| view.as_ref().map_or(Tone::Quiet, |view| view.verdict.tone));
        let stale = if of.board.is_stale() { " stale" } else { "" };
        match of.look.get() {
            Look::Free => "unused".to_owned(),
            Look::OnStage => format!("tile {}{stale}", tone.name()),
            Look::Past => format!("tile past{stale}"),
        }
    });
    let name = tile.name.clone();
    slots.text(&format!("{prefix}name"), move || name.get());
    let place = tile.place.clone();
    slots.text(&format!("{prefix}place"), move || place.get());
    let mut of_view = |id: &str, read: fn(&timeline::view::View) -> String| {
        let view = tile.board.view.clone();
        slots.text(&format!("{prefix}{id}"), move || view.with(|view| view.as_ref().map(read).unwrap_or_default()));
    };
    of_view("figure", |view| format!("{} of {}", view.counts.new_available, view.wanted));
    of_view("sentence", |view| view.verdict.sentence.clone());
    of_view("why", timeline::view::View::explanation);
}

/// The page.
#[cfg(feature = "ssr")]
pub(super) fn page(payload: &WallPayload) -> impl IntoView + use<> {
    use crate::address;
    use crate::components::connection::bar;
    use crate::components::score::PATTERNS;
    use crate::scene::token::DRAWINGS;

    let board = WallBoard::new(payload);
    let slots = slots(&board);
    let columns = if payload.columns == 0 { String::new() } else { format!(" columns-{}", payload.columns) };
    let strip = (0..STRIP).map(|index| {
        let id = format!("strip-{index}");
        let words = slots.now(&id);
        view! { <span class="told" id=id>{words}</span> }
    });
    let code = format!("/qr.svg?path={}", address::segment(&address::list(&payload.list.query)));
    view! {
        <main class="wall" data-testid="wall" data-sound=payload.has_sound.then_some("on")>
            {bar(&slots, "stale", "stale")}
            <h1 class="aside">{crate::list::heading(&payload.list.query)}</h1>
            <p id="calm" class=slots.attribute_now("calm", "class") data-testid="calm">{slots.now("calm")}</p>
            <div class=format!("tiles{columns}") id="tiles" data-count="0" inner_html=PREFIXES.map(seat).concat()></div>
            <footer class="below">
                <span id="calm-count" data-testid="calm-count">{slots.now("calm-count")}</span>
                {strip.collect_view()}
                <span class="spread"></span>
                <span id="connections" data-testid="connections">{slots.now("connections")}</span>
                <img class="qr" src=code alt="A QR code: this list" width="76" height="76"/>
                <b id="clock" data-testid="clock"></b>
            </footer>
            <svg class="drawings" aria-hidden="true" inner_html=format!("{DRAWINGS}<defs>{PATTERNS}</defs>")></svg>
        </main>
    }
}

/// The markup of one seat: the parts of a score that are read from afar.
#[cfg(feature = "ssr")]
fn seat(prefix: &str) -> String {
    const MARKUP: &str = r##"<section id="@tile" class="unused" data-testid="tile">
<div class="who"><h2 id="@name"></h2><span id="@place"></span><b id="@figure"></b></div>
<p class="says"><span id="@sentence"></span> <span class="muted" id="@why"></span></p>
<div class="room" inert><div class="score">
<div class="strip"><div class="gutter"></div><div class="canvas"><svg class="bars" id="@strip" preserveAspectRatio="none" aria-hidden="true"><g id="@areas"></g></svg></div><div class="labels" id="@labels"></div></div>
<div class="axis"><div class="ticks" id="@ticks"></div><div class="marks" id="@marks"></div></div>
<div class="scroller" id="@scroller"><div class="picture" id="@picture"><div class="gutter" id="@gutter"></div><div class="canvas" id="@canvas">
<svg class="bars" id="@picture-box" preserveAspectRatio="none" aria-hidden="true"><defs><pattern id="@stripes" href="#stripes-terminating"></pattern><pattern id="@hatch" href="#hatch-starting"></pattern><pattern id="@dots" href="#dots-ready"></pattern></defs><g id="@bars"></g></svg>
<canvas class="bars" id="@paint" aria-hidden="true"></canvas><div class="gaps" id="@gaps"></div></div>
<svg class="tokens" aria-hidden="true"><g id="@heads"></g></svg></div></div><div class="now-line"></div>
</div></div></section>"##;
    MARKUP.replace('@', prefix)
}

/// Brings the page to life.
#[cfg(feature = "hydrate")]
pub(super) fn take_over(payload: WallPayload) {
    let board = WallBoard::new(&payload);
    slots(&board).follow();
    crate::live::wall::start(board, payload);
}
