//! The board: what the page of one Deployment shows, as signals. One signal per pod and per band, and one for their order,
//! so that a change of one pod touches one pod's nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use leptos::prelude::*;
use timeline::frame::{Connection, ConnectionState, Said};
use timeline::model::{Gap, Pod};
use timeline::story::Line;
use timeline::view::View;
use timeline::{Millis, Model, Uid};

use crate::live::link::LinkState;
use crate::payload::DeploymentPayload;
use crate::score::{lanes, scale};

/// Height that the bands may use before the page was measured, in pixels.
const UNMEASURED_HEIGHT: f64 = 430.0;
/// Width of the picture before it was measured, in pixels.
const UNMEASURED_WIDTH: f64 = 900.0;

/// Key of a band: the ReplicaSet, or `None` for "Out of rotation".
pub type BandKey = Option<Uid>;

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

/// What one pod shows.
#[derive(Clone)]
pub struct Row {
    /// The pod.
    pub pod: ArcRwSignal<Pod>,
}

/// What one band shows.
#[derive(Clone)]
pub struct BandRow {
    /// The band.
    pub band: ArcRwSignal<lanes::Band>,
    /// Where it is.
    pub place: ArcRwSignal<lanes::Place>,
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
    /// The bands, in order.
    pub order: ArcRwSignal<Vec<BandKey>>,
    /// The story, oldest first.
    pub story: ArcRwSignal<Vec<Line>>,
    /// How the server gets on with the cluster.
    pub connection: ArcRwSignal<Connection>,
    /// How this page gets on with the server.
    pub link: ArcRwSignal<LinkState>,
    /// Stretches of time that were not seen or are not kept.
    pub gaps: ArcRwSignal<Vec<(Gap, &'static str)>>,
    /// Ticks of the axis.
    pub ticks: ArcRwSignal<Vec<Millis>>,
    /// The stretch of time shown; changes with every frame, so only the time axis may follow it.
    pub axis: ArcRwSignal<Axis>,
    /// Whole seconds of the page's clock, for countdowns.
    pub second: ArcRwSignal<i64>,
    /// Height that the bands may use, in pixels.
    pub height: ArcRwSignal<f64>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: ArcRwSignal<Millis>,
    /// Times in the picture are counted from here, so that they are small numbers.
    pub base_millis: Millis,
    rows: Arc<Mutex<HashMap<Uid, Row>>>,
    bands: Arc<Mutex<HashMap<BandKey, BandRow>>>,
}

impl Board {
    /// The board of a page that was just rendered.
    #[must_use]
    pub fn new(payload: &DeploymentPayload) -> Self {
        let snapshot = &payload.snapshot;
        let (model, now_millis) = (&snapshot.model, snapshot.now_millis);
        let deployment = snapshot.deployment.and_then(|uid| model.deployments.get(&uid));
        let window_millis = scale::window_millis(deployment, now_millis);
        let board = Self {
            view: ArcRwSignal::new(None),
            order: ArcRwSignal::new(Vec::new()),
            story: ArcRwSignal::new(Vec::new()),
            gaps: ArcRwSignal::new(Vec::new()),
            connection: ArcRwSignal::new(payload.connection.clone()),
            link: ArcRwSignal::new(LinkState::Connecting { attempt: 0 }),
            ticks: ArcRwSignal::new(scale::ticks(now_millis, window_millis, UNMEASURED_WIDTH)),
            axis: ArcRwSignal::new(Axis { now_millis, window_millis, width: UNMEASURED_WIDTH }),
            second: ArcRwSignal::new(now_millis.div_euclid(1000)),
            height: ArcRwSignal::new(UNMEASURED_HEIGHT),
            looking_since_millis: ArcRwSignal::new(snapshot.looking_since_millis),
            base_millis: now_millis,
            rows: Arc::default(),
            bands: Arc::default(),
            place: Arc::new(Place {
                cluster: payload.cluster.clone(),
                namespace: payload.namespace.clone(),
                name: payload.name.clone(),
            }),
        };
        board.say(&snapshot.said);
        board.show(model, snapshot.deployment, now_millis);
        board
    }

    /// Shows what the server says.
    pub fn say(&self, said: &Said) {
        set_if_new(&self.view, said.view.clone());
        set_if_new(&self.story, said.story.clone());
    }

    /// Shows a model anew.
    pub fn show(&self, model: &Model, deployment: Option<Uid>, now_millis: Millis) {
        for pod in model.pods.values() {
            self.show_pod(pod);
        }
        self.derive(model, deployment, now_millis);
    }

    /// Shows one pod as it is now.
    pub fn show_pod(&self, pod: &Pod) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        match rows.get(&pod.uid) {
            Some(row) => {
                if row.pod.with_untracked(|known| known != pod) {
                    row.pod.set(pod.clone());
                }
            }
            None => {
                rows.insert(pod.uid, Row { pod: ArcRwSignal::new(pod.clone()) });
            }
        }
    }

    /// Derives everything that is more than one pod.
    pub fn derive(&self, model: &Model, deployment: Option<Uid>, now_millis: Millis) {
        let known = deployment.and_then(|uid| model.deployments.get(&uid));
        let from = now_millis - self.axis.with_untracked(|axis| axis.window_millis) as Millis;
        set_if_new(&self.gaps, known.map(|d| scale::gaps(d, from)).unwrap_or_default());
        let bands = known.map(|d| lanes::bands(model, d, from)).unwrap_or_default();
        let height = self.height.get_untracked();
        let places = lanes::places(&bands, height);
        let order: Vec<BandKey> = bands.iter().map(|band| band.replica_set).collect();
        {
            let mut rows = self.bands.lock().unwrap_or_else(PoisonError::into_inner);
            rows.retain(|key, _| order.contains(key));
            for (band, place) in bands.into_iter().zip(places) {
                match rows.get(&band.replica_set) {
                    Some(row) => {
                        set_if_new(&row.place, place);
                        set_if_new(&row.band, band);
                    }
                    None => {
                        let key = band.replica_set;
                        rows.insert(key, BandRow { band: ArcRwSignal::new(band), place: ArcRwSignal::new(place) });
                    }
                }
            }
        }
        set_if_new(&self.order, order);
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.retain(|uid, _| model.pods.contains_key(uid));
    }

    /// A pod's row.
    #[must_use]
    pub fn row(&self, uid: Uid) -> Option<Row> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).get(&uid).cloned()
    }

    /// A band's row.
    #[must_use]
    pub fn band(&self, key: BandKey) -> Option<BandRow> {
        self.bands.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// A time as a place on the axis, in seconds from the base.
    #[must_use]
    pub fn x(&self, at_millis: Millis) -> f64 {
        (at_millis - self.base_millis) as f64 / 1000.0
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
