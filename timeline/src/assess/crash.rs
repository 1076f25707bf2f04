//! Containers that end: once, or again and again. A crash loop is one state, from its second exit until the container has run
//! for as long as its last back-off, and for a minute at least.
//!
//! ```text
//!  runs ─► first exit ─► runs again ─► second exit ─► back-off ⇄ runs ─(60 s and as long as the back-off)─► runs
//!                                      └──────────── crash loop ───────┘
//! ```

use super::assessment::Now;
use crate::Millis;
use crate::model::container::{FORGETS_MILLIS, LOOP_EXITS};
use crate::model::fact::{Container, ContainerState, RESTARTING_ALL, Role};
use crate::model::{Pod, PodState};
use crate::rules::phase::{awaits_init_container, is_done, is_over};

/// A container of a pod that ended and has not recovered.
#[derive(Debug, Clone, Copy)]
pub struct Crash<'p> {
    /// The container.
    pub container: &'p Container,
    /// It ends again and again.
    pub is_loop: bool,
    /// Its own restart policy does not start it again, and no rule of another container can.
    pub is_final: bool,
    /// Since when it runs again, by our clock; `None` while it does not run.
    pub runs_since_millis: Option<Millis>,
}

/// Returns the container of a pod that ended most often and has not recovered.
///
/// Those that ended by themselves come first.
pub fn crash<'p>(pod: &'p Pod, now: Now) -> Option<Crash<'p>> {
    if pod.now.terminal_millis.is_some() || pod.state().is_ending() {
        return None;
    }
    let crashes = pod.now.containers.iter().filter_map(|container| of_container(pod, container, now));
    let rank = |crash: &Crash<'_>| (crash.is_loop, !is_taken_along(crash.container), crash.container.exits());
    // Of several the first one that ended most often.
    crashes.reduce(|most, next| if rank(&next) > rank(&most) { next } else { most })
}

/// Returns the other containers of the pod that end again and again, and by themselves.
pub fn other_crashing_containers<'p>(pod: &'p Pod, crash: &Crash<'_>, now: Now) -> impl Iterator<Item = &'p Container> {
    let others = pod.now.containers.iter().filter(move |container| container.name != crash.container.name);
    let others = others.filter(|container| !is_taken_along(container));
    others.filter(move |container| of_container(pod, container, now).is_some_and(|other| other.is_loop))
}

fn of_container<'p>(pod: &Pod, container: &'p Container, now: Now) -> Option<Crash<'p>> {
    let exit = container.last_exit.as_ref();
    let exits = container.exits();
    let is_backing_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
    // A kubelet that backs off and does not tell how often the container ended says enough.
    let is_told = is_backing_off && exit.is_none();
    if (exits == 0 && !is_told) || (container.role == Role::Init && is_done(container)) {
        return None;
    }
    let is_running = container.state == Some(ContainerState::Running);
    let told_since = container.started_millis.map(|at| at.saturating_add(now.skew_millis).min(now.millis));
    let runs_since_millis = is_running.then(|| told_since.unwrap_or_else(|| pod.since_millis()));
    let runs_for = runs_since_millis.map_or(0, |since| now.millis - since);
    let is_again = is_told || container.ends_again_and_again() || (exits >= LOOP_EXITS && is_backing_off);
    let is_loop = is_again && !container.is_final;
    let has_recovered = runs_for >= container.recovers_after_millis();
    // One exit is worth a word until the pod counts again, or takes longer than a start does, or its init containers run again. While
    // `minReadySeconds` run, the container may end before they are over each time.
    let counts = pod.state() == PodState::Available || (pod.state().is_ready() && !is_running);
    let is_starting = container.is_in_startup && runs_for < FORGETS_MILLIS;
    let is_before_init = awaits_init_container(container, &pod.now.containers);
    let is_past = counts || exit.is_none() || is_before_init || (has_recovered && !is_starting);
    let is_over = if is_loop { has_recovered } else { is_past };
    let is_final = container.is_final && !pod.now.containers.iter().any(may_restart_all);
    (!is_over).then_some(Crash { container, is_loop, is_final, runs_since_millis })
}

/// Returns whether the container was removed for the rule of another one.
///
/// That one ended, and its rule has the kubelet start all containers of the pod again.
fn is_taken_along(container: &Container) -> bool {
    !container.restarts_all && container.last_exit.as_ref().is_some_and(|exit| exit.reason == RESTARTING_ALL)
}

/// Returns whether this container can still cause a restart of all containers.
fn may_restart_all(container: &Container) -> bool {
    container.restarts_all && !is_over(container)
}
