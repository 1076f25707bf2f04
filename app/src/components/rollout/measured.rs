//! Expected time left, or duration, of the rollout compared with earlier ones: a figure beside the verdict.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use timeline::address;
use timeline::view::Tone;

use crate::browser;
use crate::detail::Detail;
use crate::exported::Exported;
use crate::measure::{Measure, RolloutProgress};
use crate::rollout::board::Board;
use crate::rollout::panel::{self, PanelContent};

/// The history may learn of a begin or an end later than the page: it is asked again this often.
const TRIES: u8 = 4;
/// And after this long.
const AGAIN: Duration = Duration::from_millis(1_500);

/// The figure, where there is ground for one.
#[component]
pub fn Measured(
    /// The board of the page.
    board: Board,
) -> impl IntoView {
    let asked = MeasureQuery { board, measure: RwSignal::new(None), times: StoredValue::new(0) };
    let is_file = Exported::of_app().is_some();
    let stands = Memo::new(move |_| {
        let is_shown = board.is_over || board.time.read().tenths.is_none();
        let (revision, tone) = board.said(|view| (view.revision, Some(view.verdict.tone)));
        // What is over took a time only once it was complete: before, that was the future.
        (is_shown && (!board.is_over || tone == Some(Tone::Ok))).then_some((revision, tone))
    });
    Effect::new(move |_| {
        if let Some((Some(revision), tone)) = stands.get().filter(|_| !is_file) {
            asked.ask(revision, tone, TRIES);
        }
    });
    let figure = Memo::new(move |_| {
        let (Some(revision), tone) = stands.get()? else { return None };
        let measure = asked.measure.get().filter(|measure| fits(measure, revision, tone, board.is_over))?;
        measure.figure(board.now_millis())
    });
    move || {
        figure.get().map(|figure| {
            view! {
                <div class="measured" title=figure.sentence data-testid="measured"><dt>{figure.words}</dt><dd>{figure.value}</dd></div>
            }
        })
    }
}

/// Returns whether an answer is about the rollout that the page shows, and about its present status.
fn fits(measure: &Measure, revision: u64, tone: Option<Tone>, is_over: bool) -> bool {
    measure.revision == revision
        && match measure.standing {
            RolloutProgress::GoingOn(_) => !is_over && tone == Some(Tone::Busy),
            RolloutProgress::Complete(_) => tone == Some(Tone::Ok),
            RolloutProgress::Otherwise => false,
        }
}

/// The request for a measure, and the last answer.
#[derive(Clone, Copy)]
struct MeasureQuery {
    board: Board,
    measure: RwSignal<Option<Measure>>,
    /// Number of requests. Answers to earlier ones are ignored.
    times: StoredValue<u32>,
}

impl MeasureQuery {
    fn ask(self, revision: u64, tone: Option<Tone>, tries: u8) {
        let number = self.times.try_update_value(|times| {
            *times += 1;
            *times
        });
        let address = self.board.workload.with_untracked(|workload| address::below(workload, "rollouts"));
        spawn_local(async move {
            let told = match panel::answer(&address).await {
                Some(PanelContent::Detail(Detail::Rollouts(rollouts))) => rollouts.measure,
                _ => None,
            };
            // Meanwhile the rollout may stand otherwise, which was asked for then, or the page be left.
            if self.times.try_get_value() != number {
                return;
            }
            let is_it = told.as_ref().is_some_and(|told| fits(told, revision, tone, self.board.is_over));
            self.measure.set(told);
            if !is_it && tries > 1 && matches!(tone, Some(Tone::Busy | Tone::Ok)) {
                browser::after(AGAIN, move || {
                    if self.times.try_get_value() == number {
                        self.ask(revision, tone, tries - 1);
                    }
                });
            }
        });
    }
}
