//! How long the rollout may still take, or took, measured by those before it: a figure beside the verdict.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use timeline::view::Tone;

use crate::address;
use crate::browser;
use crate::compare::measure::{Measure, Standing};
use crate::detail::Detail;
use crate::exported::Exported;
use crate::rollout::board::Board;
use crate::rollout::panel::{self, Shown};

/// What is kept may know of a begin or an end a little later than the page: so often it is asked again.
const TRIES: u8 = 4;
/// And after this long.
const AGAIN: Duration = Duration::from_millis(1_500);

/// The figure, where there is ground for one.
#[component]
pub fn Measured(
    /// What it follows.
    board: Board,
) -> impl IntoView {
    let measure = RwSignal::new(None);
    let is_file = Exported::of_app().is_some();
    let stands = Memo::new(move |_| {
        let is_shown = board.is_over || board.time.read().tenths.is_none();
        is_shown.then(|| (board.current.get(), board.said(|view| Some(view.verdict.tone))))
    });
    Effect::new(move |_| {
        if !is_file && stands.get().is_some_and(|(revision, _)| revision.is_some()) {
            ask(board, measure, stands, TRIES);
        }
    });
    let figure = Memo::new(move |_| {
        let (_, tone) = stands.get()?;
        let measure = measure.get().filter(|measure| fits(measure, tone, board.is_over))?;
        measure.figure(board.now_millis())
    });
    move || {
        figure.get().map(|figure| {
            view! {
                <div class="measured" title=figure.sentence data-testid="measured"><dd>{figure.value}</dd><dt>{figure.words}</dt></div>
            }
        })
    }
}

/// What was told is of how the rollout stands on the page.
fn fits(measure: &Measure, tone: Option<Tone>, is_over: bool) -> bool {
    match measure.standing {
        Standing::GoingOn(_) => !is_over && tone == Some(Tone::Busy),
        Standing::Complete(_) => is_over || tone == Some(Tone::Ok),
        Standing::Otherwise => false,
    }
}

fn ask(board: Board, measure: RwSignal<Option<Measure>>, stands: Memo<Option<(Option<u64>, Option<Tone>)>>, tries: u8) {
    let asked_for = stands.get_untracked();
    let address = board.workload.with_untracked(|workload| address::below(workload, "rollouts"));
    spawn_local(async move {
        let told = match panel::answer(&address).await {
            Some(Shown::Detail(Detail::Rollouts(rollouts))) => rollouts.measure,
            _ => None,
        };
        // Meanwhile the rollout may stand otherwise, which was asked for then, or the page be left.
        if stands.try_get_untracked() != Some(asked_for) {
            return;
        }
        let tone = asked_for.and_then(|(_, tone)| tone);
        let is_it = told.as_ref().is_some_and(|told| fits(told, tone, board.is_over));
        measure.set(told);
        if !is_it && tries > 1 && matches!(tone, Some(Tone::Busy | Tone::Ok)) {
            browser::after(AGAIN, move || {
                if stands.try_get_untracked() == Some(asked_for) {
                    ask(board, measure, stands, tries - 1);
                }
            });
        }
    });
}
