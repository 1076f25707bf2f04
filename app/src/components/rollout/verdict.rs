//! The verdict: one sentence, its reason, and figures.

use std::time::Duration;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use timeline::view::{Command, Tone, View};
use timeline::words::{duration, grouped};
use timeline::{Millis, address, say};

use crate::browser;
use crate::components::copy::CopyButton;
use crate::debounce::debounce;
use crate::detail::Detail;
use crate::images::with_short_images;
use crate::measure::{Measure, RolloutProgress};
use crate::rollout::board::Board;
use crate::rollout::panel;
use crate::rollout::picture::Picture;
use crate::rows::set_if_new;
use crate::scoped::ScopedFor;

/// Texts and figures about a Deployment at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct VerdictContent {
    badge: String,
    /// Class names of the badge.
    class: String,
    sentence: String,
    /// The reason, and the next step.
    why: String,
    remedy: Option<Command>,
    new_available: String,
    available: String,
    deadline_millis: Option<Millis>,
}

impl VerdictContent {
    /// Builds the texts. Those of a past moment are in the past tense and without advice.
    fn of(view: &View, is_past: bool) -> Self {
        let verdict = &view.verdict;
        Self {
            badge: verdict.badge.clone(),
            class: format!("badge {}", verdict.tone.name()),
            sentence: if is_past { say::past(&verdict.sentence) } else { verdict.sentence.clone() },
            why: if is_past { view.explanation_then() } else { view.explanation() },
            remedy: view.remedy.clone().filter(|_| !is_past),
            new_available: view.new_of_desired(),
            available: grouped(view.counts.available.into()),
            deadline_millis: view.deadline_millis,
        }
    }
}

/// Longest word that is kept on one line with a figure; a longer one could not be broken on a narrow line.
const LONGEST_UNIT: usize = 12;

/// Splits a text into pieces, each with whether it must not be broken: a figure with its unit or noun, and a revision's number with its
/// word.
fn pieces(text: &str) -> Vec<(String, bool)> {
    let words: Vec<&str> = text.split(' ').collect();
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    for (index, run) in words.chunk_by(|word, next| stays_beside(word, next)).enumerate() {
        if index > 0 {
            plain.push(' ');
        }
        if run.len() == 1 {
            plain.push_str(&run.concat());
        } else {
            pieces.push((std::mem::take(&mut plain), false));
            pieces.push((run.join(" "), true));
        }
    }
    pieces.push((plain, false));
    pieces.retain(|(piece, _)| !piece.is_empty());
    pieces
}

/// Returns whether a line must not end between these two words.
fn stays_beside(word: &str, next: &str) -> bool {
    let is_digit = |of: Option<char>| of.is_some_and(|of| of.is_ascii_digit());
    let figure = word.trim_start_matches('(');
    let is_figure = is_digit(figure.chars().next()) && is_digit(figure.chars().last());
    let is_unit = next.len() <= LONGEST_UNIT && !is_digit(next.chars().next());
    (is_figure && is_unit) || (word.ends_with("evision") && is_digit(next.chars().next()))
}

/// Renders a text whose marked pieces are not broken.
fn unbroken(text: &str) -> Vec<AnyView> {
    let render = |(piece, is_unbroken): (String, bool)| {
        if is_unbroken { view! { <span class="unbroken">{piece}</span> }.into_any() } else { piece.into_any() }
    };
    pieces(text).into_iter().map(render).collect()
}

/// The verdict line: badge, sentence, reason and figures.
#[component]
pub fn VerdictLine(board: Board, picture: Picture) -> impl IntoView {
    // A moment that the viewer chose is shown without delay.
    let is_at_once = Signal::derive(move || board.time.read().tenths.is_some());
    let words =
        debounce(Signal::derive(move || board.read_view(|view| VerdictContent::of(view, board.is_past()))), is_at_once);
    let said = move |read: fn(&VerdictContent) -> &str| {
        move || board.zone.replace_times(read(&words.read()), board.now_millis())
    };
    let sentence = said(|words| &words.sentence);
    let why_words = said(|words| &words.why);
    let explanation = Memo::new(move |_| why_words());
    // Whole image names would leave no room for the statement of the headline.
    let images = Memo::new(move |_| picture.images());
    let headline = Memo::new(move |_| {
        let images = images.read();
        with_short_images(&sentence(), &images.iter().map(|(_, images)| images.as_str()).collect::<Vec<_>>())
    });
    let whole_headline = move || Some(sentence()).filter(|sentence| *sentence != *headline.read());
    let remedy = Memo::new(move |_| words.read().remedy.clone());
    let cut = CutText::default();
    cut.watch(move || {
        headline.track();
        words.track();
    });
    let CutText { is_whole, is_cut, headline: headline_node, why, text_block } = cut;
    view! {
        <section class="verdict">
            <div>
                <span id="badge" class=move || words.read().class.clone() data-testid="badge">{move || words.read().badge.clone()}</span>
                <button
                    type="button"
                    class=move || if is_cut.get() { "more" } else { "unused" }
                    aria-controls="why"
                    aria-expanded=move || is_whole.get().to_string()
                    data-testid="more"
                    on:click=move |_| cut.toggle()
                >
                    {move || if is_whole.get() { "Less" } else { "Full text" }}
                </button>
                <div class="told" node_ref=text_block>
                    <h1 id="verdict" data-testid="verdict" title=whole_headline node_ref=headline_node>{move || unbroken(&headline.read())}</h1>
                    <p
                        id="why"
                        tabindex=move || if is_cut.get() { "0" } else { "-1" }
                        class=move || if is_whole.get() { "why whole" } else { "why" }
                        data-testid="why"
                        node_ref=why
                        on:click=move |_| cut.toggle()
                        on:blur=move |_| cut.measure()
                    >
                        {move || unbroken(&explanation.read())}
                    </p>
                </div>
                <Remedy remedy/>
            </div>
            <Figures board words/>
        </section>
    }
}

/// Headline and reason in little room: cut to their first lines until the viewer taps them, uses the button or focuses it.
#[derive(Clone, Copy, Default)]
struct CutText {
    /// Whether the whole text is shown, whatever room it takes.
    is_whole: RwSignal<bool>,
    /// Whether the text is cut, or would be if it were not expanded.
    is_cut: RwSignal<bool>,
    headline: NodeRef<html::H1>,
    why: NodeRef<html::P>,
    /// The element around headline and reason.
    text_block: NodeRef<html::Div>,
}

impl CutText {
    fn toggle(self) {
        if self.is_cut.get_untracked() {
            self.is_whole.update(|whole| *whole = !*whole);
        }
    }

    /// Measures again on each change of what `follow` reads, and of the window.
    fn watch(self, follow: impl Fn() + 'static) {
        let is_due = StoredValue::new(false);
        Effect::new(move |_| {
            follow();
            self.is_whole.track();
            // A hidden page has no frames.
            if !is_due.get_value() {
                is_due.set_value(true);
                browser::next_frame(move || {
                    is_due.try_set_value(false);
                    self.measure();
                });
            }
        });
        Effect::new(move |_| browser::on_window(leptos::ev::resize, move |_| self.measure()));
    }

    fn measure(self) {
        if self.is_whole.try_get_untracked() != Some(false) {
            return;
        }
        let is_cut = self.text_block.try_get_untracked().flatten().is_some_and(|told| browser::is_cut(&told))
            || self.why.try_get_untracked().flatten().is_some_and(|why| browser::is_cut(&why))
            || self.headline.try_get_untracked().flatten().is_some_and(|headline| browser::is_cut(&headline));
        set_if_new(&self.is_cut, is_cut);
    }
}

/// The command that undoes a failing rollout or shows why it fails, ready to copy. Renders nothing if there is none.
#[component]
fn Remedy(remedy: Memo<Option<Command>>) -> impl IntoView {
    move || {
        remedy.get().map(|remedy| {
            let what = format!("{}:", remedy.what);
            view! {
                <p class="remedy" data-testid="remedy">
                    <span title=what>{what.clone()}</span>" "<code title=remedy.command.clone()>{remedy.command.clone()}</code>" "<CopyButton text=remedy.command/>
                </p>
            }
        })
    }
}

/// The figures beside the verdict: new available, available in total, and the deadline.
#[component]
fn Figures(board: Board, words: Signal<VerdictContent>) -> impl IntoView {
    let new_available = Memo::new(move |_| words.read().new_available.clone());
    let available = Memo::new(move |_| words.read().available.clone());
    let left = Memo::new(move |_| {
        // Without a present time the time left is unknown.
        let left = words.read().deadline_millis.filter(|_| !board.is_stale())? - board.now_millis();
        Some(if left > 0 { duration(left) } else { "passed".to_owned() })
    });
    view! {
        <dl class="figures">
            <div><dt>"new available"</dt><dd data-testid="new-available"><Ticking text=new_available/></dd></div>
            <div><dt>"available in total"</dt><dd data-testid="available"><Ticking text=available/></dd></div>
            <div class=move || if left.read().is_some() { "" } else { "unused" }>
                <dt>{move || if left.with(|left| left.as_deref() == Some("passed")) { "progress deadline" } else { "until progress deadline" }}</dt>
                <dd id="deadline">{move || left.get().unwrap_or_default()}</dd>
            </div>
            <Measured board/>
        </dl>
    }
}

/// A figure that animates on change: each value gets a new element, which the style sheet fades in.
#[component]
fn Ticking(text: Memo<String>) -> impl IntoView {
    view! { <ScopedFor each=move || [text.get()] let:figure><span class="ticking">{figure}</span></ScopedFor> }
}

/// The history may record a beginning or an end later than the page sees it: maximum number of requests.
const TRIES: u8 = 4;
/// Delay between these requests.
const AGAIN: Duration = Duration::from_millis(1_500);

/// The expected time left, or the duration, compared with earlier rollouts. Renders nothing if too few are known.
#[component]
fn Measured(board: Board) -> impl IntoView {
    let asked = MeasureQuery { board, measure: RwSignal::new(None), times: StoredValue::new(0) };
    let stands = Memo::new(move |_| {
        let is_shown = board.is_over || board.time.read().tenths.is_none();
        let (revision, tone) = board.read_view(|view| view.revision.map(|revision| (revision, view.verdict.tone)))?;
        // At moments before the completion of an ended rollout its duration was still unknown.
        (is_shown && (!board.is_over || tone == Tone::Ok)).then_some((revision, tone))
    });
    Effect::new(move |_| {
        if let Some((revision, tone)) = stands.get().filter(|_| !board.is_file) {
            asked.request_measure(revision, tone, TRIES);
        }
    });
    let figure = Memo::new(move |_| {
        let (revision, tone) = stands.get()?;
        let measure = asked.measure.get().filter(|measure| fits(measure, revision, tone, board.is_over))?;
        // As with the deadline: without a present time the time left is unknown.
        if board.is_stale() && matches!(measure.standing, RolloutProgress::GoingOn(_)) {
            return None;
        }
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

/// Returns whether an answer belongs to the rollout that the page shows, with its present status.
fn fits(measure: &Measure, revision: u64, tone: Tone, is_over: bool) -> bool {
    measure.revision == revision
        && match measure.standing {
            RolloutProgress::GoingOn(_) => !is_over && tone == Tone::Busy,
            RolloutProgress::Complete(_) => tone == Tone::Ok,
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
    fn request_measure(self, revision: u64, tone: Tone, tries: u8) {
        let number = self.times.try_update_value(|times| {
            *times += 1;
            *times
        });
        let address = self.board.workload.with_untracked(|workload| address::below(workload, "rollouts"));
        spawn_local(async move {
            let told = match panel::fetch_content(&address).await {
                Some(Ok(Detail::Rollouts(rollouts))) => rollouts.measure,
                _ => None,
            };
            // In the meantime a later request may have been sent, for another status, or the viewer may have left the page.
            if self.times.try_get_value() != number {
                return;
            }
            let is_it = told.as_ref().is_some_and(|told| fits(told, revision, tone, self.board.is_over));
            self.measure.set(told);
            if !is_it && tries > 1 && matches!(tone, Tone::Busy | Tone::Ok) {
                browser::run_after(AGAIN, move || {
                    if self.times.try_get_value() == number {
                        self.request_measure(revision, tone, tries - 1);
                    }
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_ends_between_a_figure_and_its_unit() {
        let unbroken = |text| {
            let all = pieces(text);
            assert_eq!(all.iter().map(|(piece, _)| piece.as_str()).collect::<String>(), text);
            all.into_iter().filter(|(_, stays)| *stays).map(|(piece, _)| piece).collect::<Vec<_>>()
        };
        let told = "Revision 2 crashes: 0 of 12 pods run (3 s).";
        assert_eq!(unbroken(told), ["Revision 2 crashes:", "0 of", "12 pods", "(3 s)."]);
        assert_eq!(unbroken("In 5. Pod 779994c9bc-x waits. 443 https://registry.example.com"), [""; 0]);
        assert_eq!(unbroken(""), [""; 0]);
    }
}
