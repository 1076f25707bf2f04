//! The board: what the page of one Deployment shows, as signals: texts, and what changes with every frame. Lists are
//! rows ([`crate::scene`]); the board holds the ones that the server renders.

use std::sync::Arc;

use leptos::prelude::*;
use timeline::Millis;
use timeline::frame::{Connection, ConnectionState};
use timeline::view::View;

use crate::live::link::LinkState;
use crate::payload::DeploymentPayload;
use crate::rows::Row;
use crate::scene::{self, Frame, Scene};
use crate::score::scale;

/// Height that the bands may use before the page was measured, in pixels.
const UNMEASURED_HEIGHT: f64 = 430.0;
/// Width of the picture before it was measured, in pixels.
const UNMEASURED_WIDTH: f64 = 900.0;

/// The stretch of time in the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// The right edge.
    pub now_millis: Millis,
    /// How much time is shown.
    pub window_millis: f64,
    /// Width of the picture, in pixels.
    pub width: f64,
}

/// What the page is about.
#[derive(Debug)]
pub struct Place {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub name: String,
}

/// The state of the page. Clones share it.
#[derive(Clone)]
pub struct Board {
    /// Where this is.
    pub place: Arc<Place>,
    /// The verdict line; `None` while there is no such Deployment.
    pub view: ArcRwSignal<Option<View>>,
    /// How the server gets on with the cluster.
    pub connection: ArcRwSignal<Connection>,
    /// How this page gets on with the server.
    pub link: ArcRwSignal<LinkState>,
    /// The stretch of time shown; changes with every frame, so only the time axis may follow it.
    pub axis: ArcRwSignal<Axis>,
    /// Whole seconds of the page's clock, for countdowns.
    pub second: ArcRwSignal<i64>,
    /// Height that the bands may use, in pixels.
    pub height: ArcRwSignal<f64>,
    /// Height of all bands, in pixels.
    pub total: ArcRwSignal<f64>,
    /// The lists as they were rendered.
    pub first: Arc<First>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: ArcRwSignal<Millis>,
    /// Times in the picture are counted from here, so that they are small numbers.
    pub base_millis: Millis,
}

/// The lists of a page as it was rendered.
#[derive(Debug)]
pub struct First {
    /// Everything in the picture and beside it.
    pub scene: Scene,
    /// Ticks of the axis.
    pub ticks: Vec<Row>,
}

impl Board {
    /// The board of a page that was just rendered.
    #[must_use]
    pub fn new(payload: &DeploymentPayload) -> Self {
        let snapshot = &payload.snapshot;
        let (model, now_millis) = (&snapshot.model, snapshot.now_millis);
        let deployment = snapshot.deployment.and_then(|uid| model.deployments.get(&uid));
        let window_millis = scale::window_millis(deployment, now_millis);
        let frame = Frame {
            now_millis,
            window_millis,
            base_millis: now_millis,
            height: UNMEASURED_HEIGHT,
            width: UNMEASURED_WIDTH,
        };
        let scene = scene::scene(model, snapshot.deployment, &snapshot.said, frame);
        let ticks = scene::ticks(&scale::ticks(now_millis, window_millis, UNMEASURED_WIDTH), now_millis);
        Self {
            view: ArcRwSignal::new(snapshot.said.view.clone()),
            connection: ArcRwSignal::new(payload.connection.clone()),
            link: ArcRwSignal::new(LinkState::Connecting { attempt: 0 }),
            axis: ArcRwSignal::new(Axis { now_millis, window_millis, width: UNMEASURED_WIDTH }),
            second: ArcRwSignal::new(now_millis.div_euclid(1000)),
            height: ArcRwSignal::new(UNMEASURED_HEIGHT),
            total: ArcRwSignal::new(scene.height),
            looking_since_millis: ArcRwSignal::new(snapshot.looking_since_millis),
            base_millis: now_millis,
            first: Arc::new(First { scene, ticks }),
            place: Arc::new(Place {
                cluster: payload.cluster.clone(),
                namespace: payload.namespace.clone(),
                name: payload.name.clone(),
            }),
        }
    }

    /// The time in the picture stands still: the page or the server has no word.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(self.connection.get().state, ConnectionState::Stale { .. })
            || matches!(self.link.get(), LinkState::Waiting { .. } | LinkState::Lost { .. })
    }
}

/// Sets a signal only when the value differs, so that nothing is redrawn for nothing.
pub fn set_if_new<T: PartialEq + Send + Sync + 'static>(signal: &ArcRwSignal<T>, value: T) {
    if signal.with_untracked(|known| *known != value) {
        signal.set(value);
    }
}
