//! The board: what the texts of a Deployment's page follow, as signals. Lists are rows ([`crate::scene`]).

use std::borrow::Cow;
use std::sync::Arc;

use leptos::prelude::*;
use timeline::frame::{Connection, Moment, Said, Snapshot};
use timeline::view::{Tone, View};
use timeline::{Millis, Model, Uid};

use crate::live::link::LinkState;
use crate::payload::DeploymentPayload;
use crate::scene::Frame;
use crate::score::scale;

/// Height that the bands may use before the page was measured, in pixels.
const UNMEASURED_HEIGHT: f64 = 430.0;
/// Width of the picture before it was measured, in pixels.
const UNMEASURED_WIDTH: f64 = 900.0;

/// Which moment is shown, as the controls of time tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// The moment, in whole tenths of a second; `None` for the present.
    pub tenths: Option<Millis>,
    /// It goes on.
    pub is_playing: bool,
    /// Lines that the story got since the present was left.
    pub news: usize,
}

/// What the page is about.
#[derive(Debug, Default)]
pub struct Place {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub name: String,
    /// The one of that name that the link names.
    pub uid: Option<Uid>,
    /// The revision that the link names.
    pub revision: Option<u64>,
}

/// The state of the page. Clones share it.
#[derive(Clone)]
pub struct Board {
    /// Where this is.
    pub place: Arc<Place>,
    /// The verdict line; `None` while there is no such Deployment.
    pub view: ArcRwSignal<Option<View>>,
    /// The revision that is current now, whatever moment is shown.
    pub current: ArcRwSignal<Option<u64>>,
    /// How the server gets on with the cluster.
    pub connection: ArcRwSignal<Connection>,
    /// How this page gets on with the server.
    pub link: ArcRwSignal<LinkState>,
    /// Which moment is shown.
    pub time: ArcRwSignal<Time>,
    /// Whole seconds of the time shown, for countdowns.
    pub second: ArcRwSignal<i64>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: ArcRwSignal<Millis>,
}

/// What a page is rendered from: the present, or the moment that its link names.
pub struct Shown<'p> {
    /// The model then.
    pub model: Cow<'p, Model>,
    /// What was said then.
    pub said: Cow<'p, Said>,
    /// The stretch of time, and the room as long as it was not measured.
    pub frame: Frame,
}

/// What to render first.
#[must_use]
pub fn first_shown<'p>(snapshot: &'p Snapshot, moment: Option<&'p Moment>) -> Shown<'p> {
    let now_millis = moment.map_or(snapshot.now_millis, |moment| moment.at_millis);
    let (model, said) = match (moment, snapshot.deployment) {
        (Some(moment), Some(uid)) => {
            (Cow::Owned(snapshot.model.as_of(uid, moment.at_millis)), said_then(moment.said.as_ref(), &snapshot.said))
        }
        _ => (Cow::Borrowed(&snapshot.model), Cow::Borrowed(&snapshot.said)),
    };
    let deployment = snapshot.deployment.and_then(|uid| model.deployments.get(&uid));
    let frame = Frame {
        now_millis,
        window_millis: scale::window_millis(deployment, now_millis),
        base_millis: snapshot.now_millis,
        height: UNMEASURED_HEIGHT,
        width: UNMEASURED_WIDTH,
        is_painted: false,
    };
    Shown { model, said, frame }
}

/// What was said at a moment, or that it is not known.
#[must_use]
pub fn said_then<'p>(then: Option<&'p Said>, now: &'p Said) -> Cow<'p, Said> {
    if let Some(then) = then {
        return Cow::Borrowed(then);
    }
    let view = now.view.clone().map(|mut view| {
        view.verdict.badge = "Past".to_owned();
        view.verdict.tone = Tone::Quiet;
        view.verdict.sentence = "What was said then is not known here.".to_owned();
        view.verdict.why.clear();
        view.next.clear();
        view.remedy = None;
        view.deadline_millis = None;
        view
    });
    Cow::Owned(Said { view, story: now.story.clone() })
}

impl Board {
    /// The board of a page that was just rendered.
    #[must_use]
    pub fn new(payload: &DeploymentPayload) -> Self {
        let snapshot = &payload.snapshot;
        let Shown { said, frame, .. } = first_shown(snapshot, payload.moment.as_ref());
        let now_millis = frame.now_millis;
        let tenths = payload.moment.as_ref().map(|moment| moment.at_millis.div_euclid(100));
        Self {
            view: ArcRwSignal::new(said.view.clone()),
            current: ArcRwSignal::new(snapshot.said.view.as_ref().and_then(|view| view.revision)),
            connection: ArcRwSignal::new(payload.connection.clone()),
            link: ArcRwSignal::new(LinkState::Connecting { attempt: 0, tried_millis: None }),
            time: ArcRwSignal::new(Time { tenths, ..Time::default() }),
            second: ArcRwSignal::new(now_millis.div_euclid(1000)),
            looking_since_millis: ArcRwSignal::new(snapshot.looking_since_millis),
            place: Arc::new(Place {
                cluster: payload.cluster.clone(),
                namespace: payload.namespace.clone(),
                name: payload.name.clone(),
                uid: payload.uid,
                revision: payload.revision,
            }),
        }
    }

    /// The board of a place where nothing is shown yet.
    #[must_use]
    pub fn idle() -> Self {
        Self {
            view: ArcRwSignal::default(),
            current: ArcRwSignal::default(),
            connection: ArcRwSignal::default(),
            link: ArcRwSignal::new(LinkState::Connecting { attempt: 0, tried_millis: None }),
            time: ArcRwSignal::default(),
            second: ArcRwSignal::default(),
            looking_since_millis: ArcRwSignal::default(),
            place: Arc::default(),
        }
    }

    /// The time in the picture stands still: the page or the server has no word.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.connection.get().state.is_stale()
            || matches!(self.link.get(), LinkState::Waiting { .. } | LinkState::Lost { .. })
    }
}

/// Sets a signal only when the value differs, so that nothing is redrawn for nothing; true when it did.
pub fn set_if_new<T: PartialEq + Send + Sync + 'static>(signal: &ArcRwSignal<T>, value: T) -> bool {
    let is_new = signal.with_untracked(|known| *known != value);
    if is_new {
        signal.set(value);
    }
    is_new
}
