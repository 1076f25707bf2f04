//! The board: signals of the texts on a Deployment's page. The picture has its own ([`super::picture`]).

use std::borrow::Cow;

use leptos::prelude::*;
use timeline::episodes::StatusMark;
use timeline::view::{Tone, View};
use timeline::viewer::DeploymentCopy;
use timeline::wire::{Connection, ConnectionState, Moment, Said};
use timeline::{Millis, Model, Workload};

use crate::connection::known_until_millis;
use crate::exported::Exported;
use crate::payload::DeploymentPayload;
use crate::scoped::ScopedSignal;
use crate::score::frame::Frame;
use crate::score::scale::{self, EndedRollout};
use crate::zone::Zone;

/// Number of steps of the time slider.
pub const SLIDER: i64 = 10_000;

/// Marks of the time slider, as parts of the whole history: of [`SLIDER_PARTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SliderMarks {
    /// The rollouts, each from its beginning to its end.
    pub rollouts: Vec<(StatusMark, i64, i64)>,
    pub window: (i64, i64),
}

/// Resolution of the slider's marks.
pub const SLIDER_PARTS: i64 = 1_000;

/// The shown moment, as the time controls set it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// The moment, in whole tenths of a second; `None` for the present.
    pub tenths: Option<Millis>,
    pub is_playing: bool,
    /// Number of lines added to the story since the viewer left the present.
    pub news: usize,
}

/// State of the page. Copies are handles of the same state.
#[derive(Clone, Copy, Default)]
pub struct Board {
    /// The time zone of the page.
    pub zone: Zone,
    /// The Deployment that the page is about.
    pub workload: RwSignal<Workload>,
    /// The revision that the link to the page names; `None` if it names none.
    pub linked_revision: Option<u64>,
    /// Whether a rollout in progress is shown as it was when the page was opened.
    pub is_snapshot: bool,
    /// Whether the page is an exported file, without a server.
    pub is_file: bool,
    /// Whether this is a single stored rollout: it has an end and no present.
    pub is_over: bool,
    /// Whether any data of the Deployment has arrived.
    pub is_known: RwSignal<bool>,
    /// The verdict line; `None` if there is no such Deployment.
    pub view: RwSignal<Option<View>>,
    /// The verdict line of the present, whatever moment is shown.
    pub now: RwSignal<Option<View>>,
    /// Connection of the server to the cluster.
    pub connection: RwSignal<Connection>,
    /// Whether the page is connected to the server, or is connecting for the first time.
    pub is_linked: RwSignal<bool>,
    /// The shown moment, and whether it advances.
    pub time: RwSignal<Time>,
    /// Position of the slider, of [`SLIDER`].
    pub slider_position: RwSignal<i64>,
    /// Marks of the time slider.
    pub slider_marks: RwSignal<SliderMarks>,
    /// The shown time in whole seconds, for countdowns.
    pub second: RwSignal<i64>,
    /// The cluster's time of the last frame from the server, while the present stands still.
    pub heard_millis: RwSignal<Millis>,
    /// The present with which times are compared ([`Self::compare_with`]). Scoped, because rows that come and go read it.
    present_millis: ScopedSignal<Millis>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: RwSignal<Millis>,
    /// Text that screen readers announce.
    pub announced: RwSignal<String>,
}

impl Board {
    /// Creates the board of a Deployment without data.
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

    /// Returns the board of the page around this component; `None` on a wall.
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// Creates the board of a page that was just rendered, and the data from which it was rendered.
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

    /// Returns the ended rollout of the page, if the page is about a single one.
    pub fn ended_rollout(self, copy: &DeploymentCopy) -> Option<EndedRollout> {
        copy.deployment()
            .filter(|_| self.is_over)
            .and_then(|deployment| EndedRollout::from_model(&copy.model, deployment))
    }

    /// Returns whether the picture stands still because the page or the server has no connection. Follows both.
    pub fn is_stale(self) -> bool {
        self.connection.read().state.is_stale() || !self.is_linked.get()
    }

    /// Returns whether a recording is shown: its present is not that of a cluster. Follows the connection.
    pub fn is_recorded(self) -> bool {
        self.is_over || matches!(self.connection.read().state, ConnectionState::Replay { .. })
    }

    /// Returns the title of an episode without a rollout, if its recording is shown. Follows the connection.
    pub fn episode_title(self) -> Option<String> {
        let connection = self.connection.read();
        let ConnectionState::Replay { name } = &connection.state else { return None };
        let title = |workload: &Workload| Some(name.strip_prefix(&workload.name)?.strip_prefix(": ")?.to_owned());
        self.workload.with(title)
    }

    /// Returns whether the page shows another moment than the present, or something without a present. Follows both.
    pub fn is_past(self) -> bool {
        self.is_over || self.time.read().tenths.is_some()
    }

    /// Returns the present with which times are compared: times far from it are shown with their date. Follows it.
    pub fn present(self) -> Millis {
        self.present_millis.get()
    }

    /// Sets the present with which times are compared, to the minute: the cluster's present, whatever moment is shown and while nothing
    /// arrives. An ended rollout, and a past moment of a recording, may be of any day.
    pub fn compare_with(self, present_millis: Millis, is_past: bool) {
        let is_of_any_day = self.is_over || (is_past && untrack(|| self.is_recorded()));
        self.present_millis.set(if is_of_any_day { Millis::MAX } else { minute(present_millis) });
    }

    /// Returns whether the present stands still until the viewer leaves it. Follows the connection.
    pub fn is_held(self) -> bool {
        self.is_over || self.is_stale() || self.connection.read().speed_percent == 0
    }

    /// Reads a part of the verdict line; the default if there is no such Deployment. Follows it.
    pub fn read_view<T: Default>(self, read: impl FnOnce(&View) -> T) -> T {
        self.view.with(|view| view.as_ref().map(read)).unwrap_or_default()
    }

    /// Returns the present revision, whatever moment is shown. Follows it.
    pub fn current(self) -> Option<u64> {
        self.now.with(|view| view.as_ref().and_then(|view| view.revision))
    }

    /// Formats a time of day, with its date if it is not within the last hours. Follows the zone and the present.
    pub fn moment(self, at_millis: Millis) -> String {
        self.zone.moment(at_millis, self.present())
    }

    /// Formats the same with the zone.
    pub fn dated(self, at_millis: Millis) -> String {
        format!("{} {}", self.moment(at_millis), self.zone.name(at_millis))
    }

    /// Returns the shown time, in whole seconds. Follows it.
    pub fn now_millis(self) -> Millis {
        self.second.get() * 1_000
    }
}

/// Returns the minute of a moment.
pub const fn minute(at_millis: Millis) -> Millis {
    at_millis.div_euclid(60_000) * 60_000
}

/// Data from which a page was rendered, in the form of a viewer's copy.
pub struct RenderedPage {
    /// The Deployment at present.
    pub copy: DeploymentCopy,
    /// The cluster's time when the server rendered the page.
    pub told_millis: Millis,
    /// The moment that the link names, with its sentences; `None` for the present.
    pub moment: Option<Moment>,
}

impl RenderedPage {
    /// Returns the data of a page that the server did not render. Called in browsers.
    pub fn empty() -> Self {
        Self { copy: DeploymentCopy::default(), told_millis: crate::browser::now_millis(), moment: None }
    }

    /// Returns the first content of the page, of the present or of the moment of its link: the objects, the verdict and the story at that
    /// time, and the time range, with a default size until it is measured.
    pub fn first_content(&self, board: Board) -> (Cow<'_, Model>, Cow<'_, Said>, Frame) {
        let Self { copy, told_millis, moment } = self;
        let (told_millis, moment) = (*told_millis, moment.as_ref());
        let now_millis = moment.map_or(told_millis, |moment| moment.at_millis);
        let (model, said) = match (moment, copy.deployment) {
            (Some(moment), Some(uid)) => {
                (Cow::Owned(copy.model.as_of(uid, moment.at_millis)), said_then(moment.said.as_ref(), &copy.said))
            }
            _ => (Cow::Borrowed(&copy.model), Cow::Borrowed(&copy.said)),
        };
        let deployment = copy.deployment.and_then(|uid| model.deployments.get(&uid));
        let window_millis = scale::fitting_millis(board.ended_rollout(copy), &model, deployment, now_millis);
        let frame = Frame::unmeasured(now_millis, window_millis);
        (model, said, frame)
    }
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
