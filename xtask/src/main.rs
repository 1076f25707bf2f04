//! The project's commands, in one place: `cargo xtask setup | run | demo | dev | load | check | test | nightly | invariants | simulate | cluster | chart | book | lint | size | bench | soak | mutants | release | shots`.
//!
//! README, CONTRIBUTING and `.ci/run` call these and nothing else. Each command first prepares what it needs, prints
//! what it installs, and skips what exists.

mod bench;
mod book;
mod build;
mod chart;
mod cluster;
mod dev;
mod documents;
mod fonts;
mod lint;
mod moments;
mod mutants;
mod page;
mod process;
mod release;
mod server;
mod setup;
mod shots;
mod size;
mod story;
mod test;
mod test_programs;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::test_programs::Extent;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The commands of the Rollcast project")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Forwarded {
    /// Arguments for `rollcast`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing on this machine: wasm target, page tools, browser, control plane
    Setup,
    /// Build server and page and start rollcast: on the current kubeconfig context, or the playground if there is none
    Run(Forwarded),
    /// Build server and page and start the playground: a simulated cluster to do things to
    Demo(Forwarded),
    /// Start the playground, and build page and server again after each change, without optimisation; open pages reload
    Dev(Forwarded),
    /// Serve a simulated cluster of many pods that change all the time
    Load {
        /// Pods, up to 100,000
        #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        pods: u32,
        /// Changes per second, up to 20,000
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=20_000))]
        rate: u32,
        /// Old ReplicaSets of each Deployment, up to 10
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10))]
        old_replica_sets: u32,
        /// What its chances follow from
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Build page and server; with --release one file with everything embedded
    Build {
        /// As it is shipped
        #[arg(long)]
        release: bool,
    },
    /// Run what every change should pass before it is sent (minutes): format, clippy, unit tests, documents, words, architecture
    Check,
    /// Run the tests of every change: lint, Rust, browsers, control plane; a sample of the long sets
    Test {
        /// Only these parts: lint, rust, page, cluster
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Run every test with nothing left out (hours): pictures at every number of pods, every story, chaos, 200 kills, the thousand
    /// clusters of `invariants`, the ten thousand seeds of `simulate`, and the files of a release
    Nightly {
        /// Only these parts: lint, rust, page, cluster, release
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Hold every sentence to the arithmetic at every instant of a thousand random clusters (minutes)
    Invariants,
    /// Play random faults on simulated clusters, each from a seed: what viewers see must become right again (minutes)
    Simulate {
        /// Number of seeds
        #[arg(long, default_value_t = 1_000)]
        seeds: u32,
        /// The first of them
        #[arg(long, default_value_t = 0)]
        first: u32,
    },
    /// A real Kubernetes control plane on this machine
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Check the Helm chart: lint, snapshots, refused values, schemas; installs helm and kubeconform
    Chart {
        /// Write what is generated from it first: deploy/kubernetes.yaml, the README's table, the snapshots
        #[arg(long)]
        write: bool,
        /// Install it with the image of a release on a real node of the test cluster (an image that is missing is built)
        #[arg(long, conflicts_with = "write")]
        install: bool,
    },
    /// Format check, clippy for server and page; licences, sources and advisories of dependencies
    Lint,
    /// Bytes of a first visit, and memory of an idle server
    Size,
    /// CPU cost of one pod event through every layer, and more
    Bench {
        /// Only beside other clients of the same cluster: a reflector of kube-rs, kubectl and k9s (minutes)
        #[arg(long)]
        peers: bool,
        /// Only 10,000 viewers of one Deployment: memory, CPU, returns after a restart, and viewers that read nothing (minutes)
        #[arg(long, conflicts_with = "peers")]
        viewers: bool,
    },
    /// Watch memory and descriptors for hours, with viewers and faults of the network
    Soak {
        /// How long
        #[arg(long, default_value_t = 8.0)]
        hours: f64,
    },
    /// Make mistakes in the sources, one at a time, and see which of them no test finds (hours)
    Mutants {
        /// The part to change: timeline, or server (server/src/kube and server/src/hub)
        #[arg(long, default_value = "timeline")]
        only: String,
        /// More arguments for cargo-mutants, such as `--file timeline/src/rules/budget.rs` or `--shard 1/8`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the files of a release: programs, archives, images, manifests
    #[command(subcommand)]
    Release(release::Command),
    /// Screenshots of the README into a folder
    Shots {
        /// Only the film of the README: a rollout that supersedes another
        #[arg(long)]
        film: bool,
        /// Only sheets: all pages side by side in one picture, for each size and theme
        #[arg(long, conflicts_with = "film")]
        sheet: bool,
        /// Only the pictures of the book: the moments of end2end/measure/moments.toml, into docs/picture
        #[arg(long, conflicts_with_all = ["film", "sheet"])]
        book: bool,
        /// Where to put them [default: target/shots]
        folder: Option<String>,
    },
    /// Check the links of all documents, and build the book of `docs` into target/book
    Book,
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Setup => setup::everything(),
        Command::Run(Forwarded { arguments }) => build::run(&arguments),
        Command::Demo(Forwarded { arguments }) => build::demo(&arguments),
        Command::Dev(Forwarded { arguments }) => dev::run(&arguments),
        Command::Load { pods, rate, old_replica_sets, seed } => build::load(pods, rate, old_replica_sets, seed),
        Command::Build { release: false } => build::build(page::Optimization::Full).map(drop),
        Command::Build { release: true } => build::release().map(|path| println!("{}", path.display())),
        Command::Check => test::check(),
        Command::Test { only } => test::run(&only, Extent::Sample),
        Command::Nightly { only } => test::run(&only, Extent::Whole),
        Command::Invariants => test::thousand_clusters(),
        Command::Simulate { seeds, first } => test::simulate(seeds, first),
        Command::Cluster(command) => cluster::run(command),
        Command::Chart { install: true, .. } => chart::install(),
        Command::Chart { write: true, .. } => chart::write(),
        Command::Chart { write: false, .. } => chart::check(),
        Command::Lint => lint::lint(),
        Command::Size => size::print(),
        Command::Bench { peers: true, .. } => bench::print_peers(),
        Command::Bench { viewers: true, .. } => bench::print_viewers(),
        Command::Bench { .. } => bench::print(),
        Command::Soak { hours } => bench::soak(hours),
        Command::Mutants { only, arguments } => mutants::run(&only, &arguments),
        Command::Release(command) => release::run(command),
        Command::Shots { film, sheet, book, folder } => {
            let folder = folder.as_deref().unwrap_or(if book { moments::FOLDER } else { shots::FOLDER });
            match (film, sheet, book) {
                (true, ..) => shots::film(folder),
                (_, true, _) => shots::sheet(folder),
                (.., true) => moments::take(folder),
                _ => shots::take(folder),
            }
        }
        Command::Book => book::build(),
    }
}
