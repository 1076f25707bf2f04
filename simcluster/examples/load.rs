//! Serves a cluster of many pods, some of which change all the time: `cargo xtask load --pods 10000 --rate 500`.
//!
//! Prints a kubeconfig's path on the first line, then what was done, every second: changes, and how far behind the rate it is.

use std::time::{Duration, Instant, SystemTime};

use simcluster::api::{self, Cluster};
use simcluster::load::{self, Load};
use simcluster::{Settings, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pods, rate, old_replica_sets, seed, kubeconfig] = arguments.as_slice() else {
        return Err("start it with `cargo xtask load`, which names all arguments".into());
    };
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(serve(pods.parse()?, rate.parse()?, seed.parse()?, old_replica_sets.parse()?, kubeconfig))
}

async fn serve(
    pods: usize,
    rate: u32,
    seed: u64,
    old_replica_sets: usize,
    kubeconfig: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let now = i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?;
    let settings: Settings = load::settings(pods);
    let mut world = World::new(seed, now, settings);
    let started = Instant::now();
    let load = Load::fill(&mut world, pods, old_replica_sets)?;
    let cluster = Cluster::new(world);
    let listener = api::listen(0).await?;
    std::fs::write(kubeconfig, api::kubeconfig("load", listener.local_addr()?))?;
    println!("{kubeconfig}");
    println!("{pods} pods after {} ms", started.elapsed().as_millis());
    tokio::spawn(cluster.clone().run());
    tokio::spawn(cluster.clone().serve(listener));
    let (started, mut done, mut told) = (Instant::now(), 0_u64, 0_u64);
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    loop {
        tick.tick().await;
        let due = (started.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        // At most ten milliseconds' worth at once: whoever reads gets a turn in between.
        let now = (due - done).min(u64::from(rate) / 100 + 1);
        cluster.with(|world| {
            for _ in 0..now {
                load.change(world);
            }
        });
        done += now;
        if started.elapsed().as_secs() > told {
            told = started.elapsed().as_secs();
            let revision = cluster.with(|world| world.store().revision());
            println!("{told} s: {done} changes, {} behind, revision {revision}", due.saturating_sub(done));
        }
    }
}
