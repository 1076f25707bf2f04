//! A world behind the API. Its time passes with real time, multiplied by a speed.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch as latest;

use crate::World;

#[derive(Debug)]
struct State {
    world: World,
    /// A moment of real time, and the virtual time at that moment.
    since: (Instant, i64),
    /// Seconds of virtual time in one second of real time.
    speed: f64,
}

impl State {
    fn now_millis(&self) -> i64 {
        let (real, millis) = self.since;
        millis + (real.elapsed().as_secs_f64() * 1000.0 * self.speed) as i64
    }
}

/// A world whose time passes. Clones share it.
#[derive(Debug, Clone)]
pub struct Cluster {
    state: Arc<Mutex<State>>,
    /// The newest resourceVersion. Watches wait for it to change, and so does [`Cluster::run`]: a change may make a task due earlier.
    pub(super) revision: latest::Sender<u64>,
}

impl Cluster {
    /// Creates a cluster. Its time begins to pass with [`Cluster::run`].
    pub fn new(world: World) -> Self {
        let since = (Instant::now(), world.now_millis());
        let revision = latest::Sender::new(world.store().revision());
        let state = Arc::new(Mutex::new(State { world, since, speed: 1.0 }));
        Self { state, revision }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances the world to the present moment and uses it.
    pub fn with<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        let mut state = self.lock();
        let now = state.now_millis();
        state.world.advance_to(now);
        let found = work(&mut state.world);
        let revision = state.world.store().revision();
        drop(state);
        self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
        found
    }

    /// Returns the seconds of virtual time in one second of real time.
    pub fn speed(&self) -> f64 {
        self.lock().speed
    }

    /// Changes the speed of time from now on.
    pub fn set_speed(&self, speed: f64) {
        let mut state = self.lock();
        state.since = (Instant::now(), state.now_millis());
        state.speed = speed.clamp(0.01, 1000.0);
        drop(state);
        self.revision.send_modify(|_| {}); // no new revision: wakes `run`, whose wait depends on the speed
    }

    /// Replaces the world. Open watches get 410 (history expired), so that clients list again.
    pub fn replace(&self, make: impl FnOnce(i64, u64) -> World) {
        let mut state = self.lock();
        let now = state.now_millis();
        // A watch that has sent all changes is at the last revision. The new world begins after it, so that this watch ends with 410, too.
        let revision = state.world.store().revision() + 1;
        state.world = make(now, revision);
        let revision = state.world.store().revision();
        drop(state);
        self.revision.send_replace(revision);
    }

    /// Lets time pass; never returns.
    pub async fn run(self) {
        let mut revision = self.revision.subscribe();
        loop {
            let wait = self.with(|world| world.next_millis().map(|next| next - world.now_millis()));
            let speed = self.speed();
            let wait = wait.map_or(Duration::from_secs(1), |millis| {
                Duration::from_secs_f64(millis.max(1) as f64 / 1000.0 / speed)
            });
            tokio::select! {
                () = tokio::time::sleep(wait.min(Duration::from_secs(1))) => {}
                _ = revision.changed() => {}
            }
        }
    }
}

/// Creates a listener for the API. It binds to loopback only, because the API has no authentication.
///
/// # Errors
/// If the port is in use.
pub async fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

/// Returns a kubeconfig for a cluster at this address.
pub fn kubeconfig(name: &str, address: SocketAddr) -> String {
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name, "preferences": {},
        "clusters": [{ "name": name, "cluster": { "server": format!("http://{address}") } }],
        "users": [{ "name": name, "user": {} }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
    });
    serde_json::to_string_pretty(&config).unwrap_or_default()
}
