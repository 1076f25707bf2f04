//! Time controls of the screen.

use leptos::prelude::*;
use timeline::episodes::Status;
use timeline::model::{Deployment, Rollout};
use timeline::playback::{self, Playback};
use timeline::rollout::Outcome;
use timeline::view::Tone;
use timeline::viewer::DeploymentCopy;
use timeline::{Millis, Model, address, rollout};

use super::board::{self, SLIDER_PARTS, SliderMarks, Time};
use super::screen::RolloutScreen;
use crate::browser::{self, iso, page_millis, readdress};
use crate::elements::Neighbour;
use crate::live::client::ScreenRequest;
use crate::rows::set_if_new;
use crate::score::frame::Frame;
use crate::score::scale;

/// Number of steps of the slider, as a float.
const SLIDER: f64 = board::SLIDER as f64;
/// The query parameter that starts playback at once.
const PLAY: &str = "play=yes";
/// Interval of updates while the slider moves.
const KEPT_MILLIS: f64 = 250.0;
/// Delay between the last change and the update of the address, and minimum interval between updates: Safari refuses more than a hundred in
/// half a minute, and `public/start.js` retries.
const REMEMBER_MILLIS: f64 = 400.0;

impl RolloutScreen {
    /// Returns the first stored moment, where the slider begins.
    fn first_millis(&self) -> Option<Millis> {
        self.0.state.borrow().copy.deployment().map(Deployment::known_since_millis)
    }

    pub(super) fn live_millis(&self) -> Millis {
        self.0.state.borrow().live_millis(page_millis())
    }

    pub(super) fn moment(&self) -> Option<Millis> {
        self.0.state.borrow().playback.moment(page_millis(), self.live_millis())
    }

    /// Returns the shown moment: the present, or a past one.
    pub(super) fn shown_millis(&self) -> Millis {
        self.moment().unwrap_or_else(|| self.live_millis())
    }

    pub(super) fn play(&self, next: &dyn Fn(Playback, f64, Millis, f64) -> Playback) {
        self.change(next);
        if !matches!(self.0.state.borrow().playback, Playback::Playing { .. }) {
            self.remember();
        }
    }

    fn change(&self, next: &dyn Fn(Playback, f64, Millis, f64) -> Playback) {
        let live_millis = self.live_millis();
        let mut state = self.0.state.borrow_mut();
        if state.playback == Playback::Live {
            state.lines = state.copy.said.story.len();
        }
        state.playback = next(state.playback, page_millis(), live_millis, state.speed);
        (state.is_dirty, state.remember_at) = (true, None);
    }

    /// Writes the shown moment into the address, and updates the panel to that moment.
    fn remember(&self) {
        let page_millis = page_millis();
        {
            let state = &mut *self.0.state.borrow_mut();
            if page_millis - state.remembered_at < REMEMBER_MILLIS {
                state.remember_at = Some(page_millis + REMEMBER_MILLIS);
                return;
            }
            (state.remember_at, state.remembered_at) = (None, page_millis);
        }
        if self.0.exported.is_none() {
            remember(self.moment());
        }
        self.tell_panel(true, page_millis);
    }

    /// Shows a moment while a pointer moves; the address is updated once it rests.
    pub(super) fn glide(&self, to_millis: Millis) {
        let to_millis = to_millis.max(self.first_millis().unwrap_or(to_millis));
        self.change(&|_, clock, live, _| Playback::Live.sought(to_millis, clock, live));
        self.0.state.borrow_mut().remember_at = Some(page_millis() + REMEMBER_MILLIS);
    }

    /// Pauses or resumes; at the end of an ended rollout plays it again.
    pub fn toggle(&self) {
        let is_held = untrack(|| self.0.board.is_held());
        let began = match self.0.board.is_over {
            true => self.0.state.borrow().began_millis(),
            false => self.first_millis().filter(|_| is_held),
        };
        if let Some(began) = began.filter(|_| self.moment().is_none()) {
            self.seek(began);
        }
        self.play(&|playback, clock, live, speed| playback.toggled(clock, live, speed));
    }

    /// Starts playback at the moment of the address, if the address requests it.
    pub fn play_if_asked(&self) {
        let is_asked = browser::search().contains(PLAY);
        if is_asked && self.moment().is_some() {
            self.toggle();
        }
    }

    /// Shows the present with the automatic range, and follows it.
    pub fn live(&self) {
        self.zoom(None);
        self.play(&|_, _, _, _| Playback::Live);
    }

    /// Shows a moment, not earlier than the first known one.
    pub fn seek(&self, to_millis: Millis) {
        let first = self.first_millis().unwrap_or(to_millis);
        self.play(&|playback, clock, live, _| playback.sought(to_millis.max(first), clock, live));
    }

    /// Moves the shown moment by so much, backwards if negative.
    pub fn seek_by(&self, millis: Millis) {
        self.seek(self.shown_millis() + millis);
    }

    /// Shows the next change of a pod, or the previous one.
    pub fn step(&self, neighbour: Neighbour) {
        self.step_among(neighbour, |model| {
            let pods = model.pods.values().flat_map(|pod| pod.states.iter().map(|(_, at)| *at));
            let sets = model.replica_sets.values().flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
            pods.chain(sets).collect()
        });
    }

    /// Shows the begin of the next rollout, or of the previous one.
    pub fn step_rollout(&self, neighbour: Neighbour) {
        self.step_among(neighbour, |model| {
            let rollouts = model.deployments.values().flat_map(|of| of.rollouts.iter().map(move |one| (of, one)));
            rollouts.filter_map(|(of, one)| rollout::began_millis(model, of, one)).collect()
        });
    }

    /// Shows the next or the previous one of some times; after the last one the present.
    fn step_among(&self, neighbour: Neighbour, times: fn(&Model) -> Vec<Millis>) {
        let at = self.shown_millis();
        let times = times(&self.0.state.borrow().copy.model);
        match (playback::step(times.into_iter(), at, neighbour == Neighbour::Next), neighbour) {
            (Some(to), _) => self.seek(to),
            (None, Neighbour::Next) => self.live(),
            (None, Neighbour::Previous) => {}
        }
    }

    /// Zooms in or out; `None` restores the automatic range.
    pub fn zoom(&self, factor: Option<f64>) {
        let now_millis = self.shown_millis();
        let mut state = self.0.state.borrow_mut();
        let wanted = state.chosen_millis.unwrap_or_else(|| state.fitting_millis(now_millis));
        state.chosen_millis = factor.map(|factor| scale::zoomed(wanted, factor));
        state.is_dirty = true;
    }

    /// Shows the moment at a position of the slider.
    pub fn slide(&self, value: f64) {
        let live = self.live_millis();
        let from = self.first_millis().unwrap_or(live);
        self.seek(from + ((live - from) as f64 * value / SLIDER) as Millis);
    }

    /// Sets the speed of playback.
    pub fn pace(&self, speed: f64) {
        self.0.state.borrow_mut().speed = speed;
        self.play(&|playback, clock, live, _| playback.paced(clock, live, speed));
    }

    /// Updates the time controls.
    pub(super) fn tell_time(&self, moment: Option<Millis>, page_millis: f64) {
        let is_rested = self.0.state.borrow().remember_at.is_some_and(|at| page_millis > at);
        if is_rested {
            self.remember();
        }
        let live = self.live_millis();
        let from = self.first_millis().unwrap_or(live);
        let state = &mut *self.0.state.borrow_mut();
        let time = Time {
            tenths: moment.map(|at| at.div_euclid(100)),
            is_playing: matches!(state.playback, Playback::Playing { .. }),
            news: if moment.is_some() { state.copy.said.story.len().saturating_sub(state.lines) } else { 0 },
        };
        set_if_new(&self.0.board.time, time);
        if let Some(exported) = &self.0.exported {
            exported.show(moment);
        }
        if page_millis - state.kept_at > KEPT_MILLIS {
            state.kept_at = page_millis;
            set_if_new(&self.0.board.slider_marks, slider_marks(&state.copy, state.frame, (from, live)));
        }
        let share = moment.map_or(1.0, |at| (at - from) as f64 / (live - from).max(1) as f64);
        set_if_new(&self.0.board.slider_position, (share * SLIDER) as i64);
    }

    /// Requests the sentences of a moment, if the connection is open.
    pub(super) fn request_moment(&self, moment: Option<Millis>, page_millis: f64) -> Option<ScreenRequest> {
        let mut state = self.0.state.borrow_mut();
        let shown = moment.filter(|_| self.0.board.is_linked.get_untracked());
        shown.and_then(|at| state.question.next_request(at, page_millis)).map(ScreenRequest::Moment)
    }

    /// Returns an absolute link to the shown revision or moment.
    pub fn link(&self) -> String {
        let revision = self.0.board.view.with_untracked(|view| view.as_ref().and_then(|view| view.revision));
        let uid = self.0.state.borrow().copy.deployment;
        let mut link = self.0.board.workload.with_untracked(|workload| match uid {
            Some(uid) => address::permanent(workload, uid, revision),
            None => address::whatever_bears_the_name(workload),
        });
        if let Some(at) = self.moment().filter(|_| uid.is_some()) {
            link.push_str(&format!("&at={}", iso(at)));
        }
        browser::origin() + &link
    }
}

/// Returns the marks of the slider, from the first stored moment to the present.
fn slider_marks(copy: &DeploymentCopy, frame: Frame, (from, live): (Millis, Millis)) -> SliderMarks {
    let is_failing = copy.said.view.as_ref().is_some_and(|view| view.verdict.tone == Tone::Bad);
    let part =
        |at: Millis| ((at - from) * SLIDER_PARTS).checked_div(live - from).unwrap_or_default().clamp(0, SLIDER_PARTS);
    let bar = |deployment: &Deployment, one: &Rollout| {
        let outcome = rollout::outcome(deployment, one);
        let has_trouble = is_failing && outcome == Outcome::Progressing;
        let mark = Status::of_rollout(outcome, one.deadline_exceeded_millis.is_some(), has_trouble).mark;
        // It ends with its Deployment.
        let ended = one.ended_millis().or(deployment.deleted_millis).unwrap_or(live);
        rollout::began_millis(&copy.model, deployment, one).map(|began| (mark, part(began), part(ended)))
    };
    let bars = |known: &Deployment| known.rollouts.iter().filter_map(|one| bar(known, one)).collect();
    SliderMarks {
        rollouts: copy.deployment().map(bars).unwrap_or_default(),
        window: (part(frame.from_millis()), part(frame.now_millis)),
    }
}

/// Writes the shown moment into the address of the page, so that it can be copied from there.
fn remember(moment: Option<Millis>) {
    let asked = browser::search();
    let kept = asked.trim_start_matches('?').split('&');
    let kept = kept.filter(|part| !part.is_empty() && !part.starts_with("at=") && *part != PLAY);
    let query: Vec<String> = kept.map(str::to_owned).chain(moment.map(|at| format!("at={}", iso(at)))).collect();
    if query.is_empty() { readdress(&browser::path()) } else { readdress(&format!("?{}", query.join("&"))) }
}

#[cfg(test)]
mod tests {
    use timeline::Change;
    use timeline::episodes::StatusMark;

    use super::*;
    use crate::score::scale::tests::rolling_out;

    fn marks(web: Deployment) -> Vec<(StatusMark, i64, i64)> {
        let (mut copy, uid) = (DeploymentCopy::default(), web.uid);
        copy.deployment = Some(uid);
        copy.model.apply_change(Change::Deployment(Box::new(web)));
        slider_marks(&copy, Frame::unmeasured(5_000, 60_000.0), (1_000, 5_000)).rollouts
    }

    #[test]
    fn a_rollout_on_the_slider_ends_with_its_deployment() {
        assert_eq!(marks(rolling_out(None)), [(StatusMark::Busy, 0, 1_000)]);
        assert_eq!(marks(rolling_out(Some(3_000))), [(StatusMark::Quiet, 0, 500)], "nothing goes on any more");
    }

    #[test]
    fn a_rollout_on_the_slider_has_the_mark_of_the_history() {
        let complete = |deadline_exceeded_millis| {
            let mut web = rolling_out(None);
            let rollout = web.rollouts.first_mut().unwrap();
            (rollout.completed_millis, rollout.deadline_exceeded_millis) = (Some(3_000), deadline_exceeded_millis);
            marks(web)
        };
        assert_eq!(complete(None), [(StatusMark::Ok, 0, 500)]);
        assert_eq!(complete(Some(2_000)), [(StatusMark::Late, 0, 500)]);
    }
}
