//! The board: what the texts of a Deployment's page follow, as signals. The picture has its own ([`super::picture`]).

use std::borrow::Cow;

use leptos::prelude::*;
use timeline::episodes::StatusMark;
use timeline::view::{Tone, View};
use timeline::viewer::DeploymentCopy;
use timeline::wire::{Connection, ConnectionState, Moment, Said};
use timeline::{Millis, Model, Uid, Workload};

use crate::connection::known_until_millis;
use crate::exported::Exported;
use crate::payload::DeploymentPayload;
use crate::scoped::ScopedSignal;
use crate::score::frame::Frame;
use crate::score::scale::{self, EndedRollout};
use crate::zone::Zone;

/// Number of steps of the time slider.
pub const SLIDER: i64 = 10_000;

/// Marks of the time slider, in parts of the whole history: of [`SLIDER_PARTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SliderMarks {
    /// The rollouts, each from its begin to its end.
    pub rollouts: Vec<(StatusMark, i64, i64)>,
    pub window: (i64, i64),
}

/// Number of parts by which marks on the slider differ.
pub const SLIDER_PARTS: i64 = 1_000;

/// Which moment is shown, as the controls of time tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// The moment, in whole tenths of a second; `None` for the present.
    pub tenths: Option<Millis>,
    pub is_playing: bool,
    /// Lines that the story got since the present was left.
    pub news: usize,
}

/// The state of the page. Copies are handles of the same one.
#[derive(Clone, Copy, Default)]
pub struct Board {
    /// The zone in which the page tells times of day.
    pub zone: Zone,
    /// The Deployment that the page is about.
    pub workload: RwSignal<Workload>,
    /// The revision that the link to the page names; `None` where it names none.
    pub linked_revision: Option<u64>,
    /// A rollout that goes on is shown as it was when the page was opened.
    pub is_snapshot: bool,
    /// The page is a file of its own, behind which there is no server.
    pub is_file: bool,
    /// This is a rollout by itself, from what was kept of it: it has an end and no present.
    pub is_over: bool,
    /// True once anything was heard of it.
    pub is_known: RwSignal<bool>,
    /// The verdict line; `None` while there is no such Deployment.
    pub view: RwSignal<Option<View>>,
    /// The verdict line of the present, whatever moment is shown.
    pub now: RwSignal<Option<View>>,
    /// Connection of the server to the cluster.
    pub connection: RwSignal<Connection>,
    /// The page has a connection to the server, or is making its first.
    pub is_linked: RwSignal<bool>,
    /// Which moment is shown, and whether it moves on.
    pub time: RwSignal<Time>,
    /// Where the slider stands, of [`SLIDER`].
    pub slider_position: RwSignal<i64>,
    /// Marks of the time slider.
    pub slider_marks: RwSignal<SliderMarks>,
    /// Whole seconds of the time shown, for countdowns.
    pub second: RwSignal<i64>,
    /// The cluster's time when the server was heard last, while the present stands still.
    pub heard_millis: RwSignal<Millis>,
    /// The present as times are compared with it, which rows read that come and go ([`Self::compare_with`]).
    present_millis: ScopedSignal<Millis>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: RwSignal<Millis>,
    /// Text that screen readers announce.
    pub announced: RwSignal<String>,
}

impl Board {
    /// The board of a Deployment of which nothing is known yet.
    pub fn for_workload(workload: Workload, linked_revision: Option<u64>) -> Self {
        let is_file = Exported::of_app().is_some();
        let is_over = is_file || workload.rollout.is_some();
        let board = Self { zone: Zone::of_page(), is_file, is_over, linked_revision, ..Self::default() };
        board.workload.set(workload);
        board.is_linked.set(true);
        board.slider_position.set(SLIDER);
        board.compare_with(0, false);
        board
    }

    /// The board of the page around this component; on a wall there is none.
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// The board of a page that was just rendered, and what it was rendered from.
    pub fn rendered(payload: DeploymentPayload) -> (Self, RenderedPage) {
        let DeploymentPayload { workload, revision, connection, snapshot, moment, is_snapshot } = payload;
        let (told_millis, looking_since_millis) = (snapshot.now_millis, snapshot.looking_since_millis);
        let board = Self { is_snapshot, ..Self::for_workload(workload, revision) };
        let copy: DeploymentCopy = snapshot.into();
        let told_millis = board.ended_rollout(&copy).map_or(told_millis, |over| told_millis.min(over.until_millis()));
        let told_millis = known_until_millis(&copy, &connection).map_or(told_millis, |until| told_millis.min(until));
        let rendered = RenderedPage { copy, told_millis, moment };
        board.is_known.set(true);
        board.now.set(rendered.copy.said.view.clone());
        board.connection.set(connection);
        board.looking_since_millis.set(looking_since_millis);
        board.heard_millis.set(told_millis);
        board.compare_with(told_millis, rendered.moment.is_some());
        let tenths = rendered.moment.as_ref().map(|moment| moment.at_millis.div_euclid(100));
        board.time.set(Time { tenths, ..Time::default() });
        (board, rendered)
    }

    /// Returns the rollout that the page is about, where it is a rollout by itself that is over.
    pub fn ended_rollout(self, copy: &DeploymentCopy) -> Option<EndedRollout> {
        copy.deployment()
            .filter(|_| self.is_over)
            .and_then(|deployment| EndedRollout::from_model(&copy.model, deployment))
    }

    /// The time in the picture stands still: the page or the server has no word. Follows both.
    pub fn is_stale(self) -> bool {
        self.connection.read().state.is_stale() || !self.is_linked.get()
    }

    /// Returns whether a recording is shown: its present is not that of a cluster. Follows the connection.
    pub fn is_recorded(self) -> bool {
        self.is_over || matches!(self.connection.read().state, ConnectionState::Replay { .. })
    }

    /// The title of an episode without a rollout, where its recording is shown. Follows the connection.
    pub fn episode_title(self) -> Option<String> {
        let connection = self.connection.read();
        let ConnectionState::Replay { name } = &connection.state else { return None };
        let title = |workload: &Workload| Some(name.strip_prefix(&workload.name)?.strip_prefix(": ")?.to_owned());
        self.workload.with(title)
    }

    /// A moment is shown that is not the present, or something that has none. Follows both.
    pub fn is_past(self) -> bool {
        self.is_over || self.time.read().tenths.is_some()
    }

    /// The present as times are compared with it: those that are far from it have their date. Follows it.
    pub fn present(self) -> Millis {
        self.present_millis.get()
    }

    /// Times are compared with this present of the cluster, to the minute, whatever moment is shown and while nothing is heard. What is
    /// over may be of any day, and so may a past moment of a recording.
    pub fn compare_with(self, present_millis: Millis, is_past: bool) {
        let is_of_any_day = self.is_over || (is_past && untrack(|| self.is_recorded()));
        self.present_millis.set(if is_of_any_day { Millis::MAX } else { minute(present_millis) });
    }

    /// The present stands still: nothing moves in it until it is left. Follows the connection.
    pub fn is_held(self) -> bool {
        self.is_over || self.is_stale() || self.connection.read().speed_percent == 0
    }

    /// Reads a part of the verdict line; the default while there is no such Deployment. Follows it.
    pub fn read_view<T: Default>(self, read: impl FnOnce(&View) -> T) -> T {
        self.view.with(|view| view.as_ref().map(read)).unwrap_or_default()
    }

    /// The revision that is current now, whatever moment is shown. Follows it.
    pub fn current(self) -> Option<u64> {
        self.now.with(|view| view.as_ref().and_then(|view| view.revision))
    }

    /// A time of day of the page, with its date where it is not of the last hours. Follows the zone and the present.
    pub fn moment(self, at_millis: Millis) -> String {
        self.zone.moment(at_millis, self.present())
    }

    /// Formats the same with the zone.
    pub fn dated(self, at_millis: Millis) -> String {
        format!("{} {}", self.moment(at_millis), self.zone.name(at_millis))
    }

    /// The time shown, in whole seconds. Follows it.
    pub fn now_millis(self) -> Millis {
        self.second.get() * 1_000
    }
}

/// The minute in which a moment lies.
pub const fn minute(at_millis: Millis) -> Millis {
    at_millis.div_euclid(60_000) * 60_000
}

/// Data from which a page was rendered, as a viewer holds it.
pub struct RenderedPage {
    /// The Deployment as it is at present.
    pub copy: DeploymentCopy,
    /// The cluster's time when the server rendered the page.
    pub told_millis: Millis,
    /// The moment that the link names, and what was said then; `None` for the present.
    pub moment: Option<Moment>,
}

impl RenderedPage {
    /// Returns the data of a page that the server did not render. Called in browsers.
    pub fn empty() -> Self {
        Self { copy: DeploymentCopy::default(), told_millis: crate::browser::now_millis(), moment: None }
    }

    /// Returns the first content of the page, the present or the moment of its link: the objects, the verdict and the story as they were
    /// then, and the stretch of time, with the room as long as it was not measured.
    pub fn first_content(&self, board: Board) -> (Cow<'_, Model>, Cow<'_, Said>, Frame) {
        let Self { copy, told_millis, moment } = self;
        let (told_millis, moment) = (*told_millis, moment.as_ref());
        let now_millis = moment.map_or(told_millis, |moment| moment.at_millis);
        let (model, said) = match (moment, copy.deployment) {
            (Some(moment), Some(uid)) => {
                let model = model_then(&copy.model, uid, moment.at_millis, Some(moment));
                (Cow::Owned(model), said_then(moment.said.as_ref(), &copy.said))
            }
            _ => (Cow::Borrowed(&copy.model), Cow::Borrowed(&copy.said)),
        };
        let deployment = copy.deployment.and_then(|uid| model.deployments.get(&uid));
        let window_millis = scale::fitting_millis(board.ended_rollout(copy), &model, deployment, now_millis);
        let frame = Frame::unmeasured(now_millis, window_millis);
        (model, said, frame)
    }
}

/// Returns the objects of a moment, with the reasons of their pods if `told` is of that moment.
pub fn model_then(now: &Model, deployment: Uid, at_millis: Millis, told: Option<&Moment>) -> Model {
    let mut then = now.as_of(deployment, at_millis);
    if let Some(told) = told.filter(|told| told.at_millis == at_millis) {
        then.set_reasons(&told.reasons);
    }
    then
}

/// Returns the verdict and the story of a moment, or a note that they are not known.
pub fn said_then<'p>(then: Option<&'p Said>, now: &'p Said) -> Cow<'p, Said> {
    if let Some(then) = then {
        return Cow::Borrowed(then);
    }
    let view = now.view.clone().map(|mut view| {
        view.verdict.badge = "Past".to_owned();
        view.verdict.tone = Tone::Quiet;
        view.verdict.sentence = "The status of that moment is not stored here.".to_owned();
        view.verdict.why.clear();
        view.next.clear();
        view.remedy = None;
        view.deadline_millis = None;
        view
    });
    Cow::Owned(Said { view, story: now.story.clone(), ..Said::default() })
}

#[cfg(test)]
mod tests {
    use timeline::model::{Pod, PodState};
    use timeline::wire::{Objects, Snapshot};

    use super::*;
    use crate::scoped::reader::is_forgotten;

    #[test]
    fn what_is_known_of_a_cluster_that_does_not_respond_ends_with_its_last_word() {
        let told = |state, changed_millis| {
            let pod = Pod { states: vec![(PodState::Available, changed_millis)], ..Pod::default() };
            let objects = Objects { pods: vec![pod], ..Objects::default() };
            let payload = DeploymentPayload {
                connection: Connection { state, ..Connection::default() },
                snapshot: Snapshot { now_millis: 600_000, objects, ..Snapshot::default() },
                ..DeploymentPayload::default()
            };
            Owner::new().with(|| Board::rendered(payload).1.told_millis.div_euclid(1_000))
        };
        let stale = || ConnectionState::Stale { since_millis: 50_000, retry_at_millis: None, why: String::new() };
        assert_eq!(told(ConnectionState::Live, 40_000), 600);
        assert_eq!(told(stale(), 40_000), 50);
        assert_eq!(told(stale(), 70_000), 70, "of another namespace nothing is heard");
    }

    #[test]
    fn rows_that_told_a_time_and_are_gone_leave_nothing_behind() {
        Owner::new().with(|| {
            let board = Board::for_workload(Workload::default(), None);
            assert!(is_forgotten(|| drop(board.dated(0))));
        });
    }

    #[test]
    fn what_may_be_of_any_day_has_its_date() {
        Owner::new().with(|| {
            let board = Board::for_workload(Workload::default(), None);
            let told = |is_past| {
                board.compare_with(60_000, is_past);
                board.moment(0)
            };
            assert_eq!([false, true].map(told), ["00:00:00", "00:00:00"]);
            let state = ConnectionState::Replay { name: "r".into() };
            board.connection.set(Connection { state, ..Connection::default() });
            assert_eq!([false, true].map(told), ["00:00:00", "1970-01-01 00:00:00"]);
        });
    }
}
