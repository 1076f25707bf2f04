//! The playground: a simulated cluster on loopback, watched like any other, and the strip of controls on its page.
//!
//! Owns the cluster and the autopilot. Pages get the cluster through the watch loop alone; this module only changes it, as kubectl
//! would.

pub mod controls;
mod requests;

use std::fs::File;
use std::io::Write;
use std::mem;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use app::playground::Playground as Strip;
use kube::config::Kubeconfig;
use serde_json::json;
use simcluster::action::{self, Choice, PLENTY};
use simcluster::api::{self, Cluster};
use simcluster::story::{self, Player, STORIES};
use simcluster::world::Pool;
use simcluster::{Key, Object, Resource, Settings, World};
use timeline::{Uid, Workload};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

pub use self::requests::RESET;
use crate::kube::SourceEvent;
use crate::telemetry::clock::{OwnClock, parse_speed};
use crate::telemetry::panics::locked;
use crate::telemetry::viewers::Viewers;

/// Name of the cluster in pages and addresses.
pub const NAME: &str = "playground";
/// Time between two steps of the autopilot.
const STEP_EVERY: Duration = Duration::from_millis(200);
/// Deployments besides the one that stories are about, so that lists and walls have something to show.
const NEIGHBOURS: [(&str, &str, i32); 4] =
    [("shop", "cart", 3), ("shop", "checkout", 5), ("shop", "catalogue", 4), ("search", "api", 6)];
/// Time between two new versions of them.
const NEIGHBOUR_MILLIS: i64 = 45_000;

struct State {
    player: Player,
    seed: u64,
    /// The first story waits for its first viewer.
    is_waiting: bool,
    refused: String,
    /// Time of the next new version of a neighbour, and its index.
    neighbour: (i64, usize),
}

/// Options of a playground.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Seed of the random numbers: the same seed gives the same cluster
    #[arg(long, env = "ROLLCAST_SEED", default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Speed of the simulated time as a factor, from 0.01 to 1000
    #[arg(long, env = "ROLLCAST_SPEED", default_value_t = 1.0, value_parser = parse_speed, value_name = "X")]
    pub speed: f64,
    /// Port of the simulated Kubernetes API on loopback; 0 picks a free port
    #[arg(long, env = "ROLLCAST_API_PORT", default_value_t = 0, value_name = "PORT")]
    pub api_port: u16,
    /// File to write the kubeconfig to [default: a new file in the folder for temporary files]
    #[arg(long, env = "ROLLCAST_WRITE_KUBECONFIG", value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// Play no stories: only your own actions change the cluster
    #[arg(long, env = "ROLLCAST_NO_STORIES")]
    pub no_stories: bool,
}

/// A running playground.
pub struct Playground {
    cluster: Cluster,
    of: Key,
    /// Path of the kubeconfig.
    pub kubeconfig: PathBuf,
    has_stories: bool,
    state: Mutex<State>,
    /// The strip as the text of an event; updated while there are receivers.
    strip: watch::Sender<Arc<str>>,
    clock: watch::Sender<OwnClock>,
    viewers: Viewers,
}

impl Playground {
    /// Starts the cluster, its API and the autopilot, and writes the kubeconfig. Each start of a playground whose history is
    /// stored has UIDs and versions of its own.
    ///
    /// # Errors
    /// When the port is taken or the kubeconfig cannot be written.
    pub async fn start(options: &Options, is_stored: bool, viewers: Viewers) -> anyhow::Result<Arc<Self>> {
        let has_stories = !options.no_stories;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let now_millis = i64::try_from(now).unwrap_or_default();
        // A stored history has the previous cluster: this is another one, with UIDs and versions of its own.
        let first_revision = if is_stored { now_millis.unsigned_abs() } else { 0 };
        let world = world(options.seed, now_millis, first_revision, has_stories)?;
        let cluster = Cluster::new(world);
        let clock = watch::Sender::new(start_clock(&cluster, options.speed));
        let listener = api::listen(options.api_port)
            .await
            .with_context(|| format!("cannot serve the API of the playground on port {}", options.api_port))?;
        let address = listener.local_addr()?;
        let kubeconfig = write_kubeconfig(options.write_kubeconfig.as_deref(), address)?;
        let of = Key::new("default", "web");
        let mut player = Player::new(of.clone());
        player.set_playing(false);
        let (refused, neighbour) = (String::new(), (now_millis + NEIGHBOUR_MILLIS / 3, 0));
        let state = State { player, seed: options.seed, is_waiting: has_stories, refused, neighbour };
        let playground = Arc::new(Self {
            cluster: cluster.clone(),
            of,
            kubeconfig,
            has_stories,
            state: Mutex::new(state),
            strip: watch::Sender::new("".into()),
            clock,
            viewers,
        });
        tokio::spawn(cluster.clone().run());
        tokio::spawn(cluster.serve(listener));
        tokio::spawn(playground.clone().play());
        Ok(playground)
    }

    /// Returns the lines for the terminal at the start.
    pub fn welcome(&self, origin: &str) -> String {
        let (kubeconfig, page, wall) = (self.kubeconfig.display(), self.page(), timeline::address::at("/wall"));
        format!(
            "Guided story:      {origin}{page}\n\
             Wall:              {origin}{wall}\n\
             Change something:  kubectl --kubeconfig {kubeconfig} delete pod -l app=web\n\
             Stop:              Ctrl-C; this also deletes the simulated cluster\n"
        )
    }

    /// Returns the address of the page of the Deployment that stories are about.
    pub fn page(&self) -> String {
        timeline::address::whatever_bears_the_name(&Workload::deployment(NAME, &*self.of.namespace, &*self.of.name))
    }

    /// Returns the UID of the Deployment that stories are about; `None` while there is none.
    pub fn uid(&self) -> Option<Uid> {
        self.cluster.with(|world| world.store().get(Resource::Deployment, &self.of)?.object.uid().parse().ok())
    }

    /// Subscribes to changes of the strip.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<str>> {
        self.strip.subscribe()
    }

    async fn play(self: Arc<Self>) {
        let mut tick = tokio::time::interval(STEP_EVERY);
        loop {
            tick.tick().await;
            self.step();
            if self.strip.receiver_count() > 0 {
                self.publish_strip();
            }
        }
    }

    fn step(&self) {
        let mut state = locked(&self.state);
        if state.is_waiting && self.viewers.count() > 0 {
            state.is_waiting = false;
            state.player.set_playing(true);
        }
        self.cluster.with(|world| {
            state.player.look(world);
            if self.has_stories {
                update_neighbour(world, &mut state.neighbour);
            }
        });
    }

    /// Sends the strip to subscribers, if it changed.
    pub fn publish_strip(&self) {
        let strip: Arc<str> = self.strip().to_text().into();
        self.strip.send_if_modified(|known| mem::replace(known, strip.clone()) != strip);
    }

    /// Returns the strip.
    pub fn strip(&self) -> Strip {
        let state = locked(&self.state);
        let told = state.player.told();
        let (buttons, pods) = self.cluster.with(|world| {
            let choice = Choice::of(world, &self.of).unwrap_or_default();
            (controls::buttons(world, &self.of, &choice), [choice.pods, choice.out_of_rotation].concat())
        });
        let (title, step, sentence, command) = if self.has_stories || told.is_playing {
            (told.title, format!("Step {} of {}", told.step, told.steps), told.sentence, told.command)
        } else {
            ("No story is playing", String::new(), "Choose a story, or use the buttons.", String::new())
        };
        Strip {
            title: title.to_owned(),
            step,
            sentence: sentence.to_owned(),
            command,
            is_playing: told.is_playing,
            stories: STORIES.iter().map(|story| (story.name.to_owned(), story.title.to_owned())).collect(),
            buttons,
            pods,
            kubeconfig: self.kubeconfig.display().to_string(),
            speed: self.cluster.speed().to_string(),
            seed: state.seed,
            refused: state.refused.clone(),
            page: self.page(),
        }
    }

    /// Sets the speed of the cluster's time, in its seconds per second.
    fn set_speed(&self, speed: f64) {
        self.clock.send_replace(start_clock(&self.cluster, speed));
    }

    /// Sends the cluster's clock to a hub, so that ages and deadlines on its pages are right at every speed.
    pub async fn send_clock(self: Arc<Self>, events: mpsc::Sender<SourceEvent>) {
        let mut clock = self.clock.subscribe();
        loop {
            let now = *clock.borrow_and_update();
            if events.send(SourceEvent::Paced(now)).await.is_err() || clock.changed().await.is_err() {
                return;
            }
        }
    }

    fn reset(&self, state: &mut State, seed: u64) {
        state.seed = seed;
        state.player = Player::new(self.of.clone());
        state.player.set_playing(self.has_stories);
        let has_stories = self.has_stories;
        self.cluster.replace(|now, revision| {
            // The manifests are ours: this cannot fail.
            world(seed, now, revision, has_stories).unwrap_or_else(|_| World::new(seed, now, Settings::default()))
        });
    }
}

/// Lets a cluster's time pass at a speed; returns its clock.
fn start_clock(cluster: &Cluster, speed: f64) -> OwnClock {
    cluster.set_speed(speed);
    // In this order a pause in between puts the clock ahead: late observations are usual, those from the future are not.
    let started = Instant::now();
    OwnClock { start_millis: cluster.with(|world| world.now_millis()), started, speed: cluster.speed() }
}

/// Returns the cluster at the begin of a playground.
fn world(seed: u64, now_millis: i64, first_revision: u64, has_neighbours: bool) -> anyhow::Result<World> {
    let settings = Settings { first_revision, pool: Some(Pool::default()), ..Settings::default() };
    let mut world = World::new(seed, now_millis, settings);
    let quota = Object::read(Resource::ResourceQuota, action::quota("default", PLENTY))?;
    world.create(quota)?;
    let neighbours = NEIGHBOURS.iter().filter(|_| has_neighbours);
    let all = [("default", "web", 4)];
    for (namespace, name, replicas) in all.iter().chain(neighbours) {
        if world.store().get(Resource::Namespace, &Key::new("", namespace)).is_none() {
            world.create(Object::read(Resource::Namespace, json!({ "metadata": { "name": namespace } }))?)?;
        }
        world.create(Object::read(Resource::Deployment, story::manifest(namespace, name, *replicas))?)?;
    }
    Ok(world)
}

/// Sets a new version of a neighbour from time to time.
fn update_neighbour(world: &mut World, (next_millis, index): &mut (i64, usize)) {
    if world.now_millis() < *next_millis {
        return;
    }
    if let Some((namespace, name, _)) = NEIGHBOURS.get(*index) {
        let of = Key::new(namespace, name);
        let fate = if *index == 1 { "slow" } else { "" };
        if let Some(choice) = Choice::of(world, &of) {
            // A viewer may have deleted it.
            let _ = action::Action::Image(choice.next_image(fate)).perform(world, &of);
        }
    }
    *index = (*index + 1) % NEIGHBOURS.len();
    *next_millis = world.now_millis() + NEIGHBOUR_MILLIS;
}

/// Returns `true` for an empty file, or one that a playground wrote.
fn is_of_playground(text: &str) -> bool {
    let config = Kubeconfig::from_yaml(text).unwrap_or_default();
    text.trim().is_empty()
        || (!config.clusters.is_empty() && config.clusters.iter().all(|cluster| cluster.name == NAME))
}

fn write_kubeconfig(wanted: Option<&Path>, address: SocketAddr) -> anyhow::Result<PathBuf> {
    let default = || std::env::temp_dir().join(format!("rollcast-playground-{}.kubeconfig", address.port()));
    let path = wanted.map_or_else(default, Path::to_path_buf);
    let path = std::path::absolute(&path)?;
    if wanted.is_some() && std::fs::read_to_string(&path).is_ok_and(|text| !is_of_playground(&text)) {
        anyhow::bail!(
            "{} already exists and is not the kubeconfig of a playground: choose another file",
            path.display()
        );
    }
    let text = api::kubeconfig(NAME, address);
    let written = if wanted.is_some() {
        std::fs::write(&path, text)
    } else {
        // Others can write to this folder: an existing file may be a link of theirs.
        let _ = std::fs::remove_file(&path);
        File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()))
    };
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
