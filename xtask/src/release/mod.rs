//! Builds the files of a release: static programs, archives, the container image, and the manifests of package managers.
//!
//! ```text
//!   page ─► program (one for each platform) ─┬─► archive, checksums, krew manifest, formula, notes
//!                                            └─► image (Linux)
//! ```
//! Everything is below `target/dist`. The release workflow calls these commands and signs what they made.

mod archive;
mod check;
mod image;
mod manifests;
mod platform;
mod program;
mod reproduce;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

pub use image::name as image_name;
pub use platform::{Platform, VERSION};

/// `cargo xtask release …`.
#[derive(Subcommand)]
pub enum Command {
    /// Build the program of a platform; for Linux, one static file
    Program {
        /// The platform [default: this machine]
        #[arg(long, value_enum)]
        platform: Option<Platform>,
    },
    /// Build the container image of Linux platforms as OCI archives
    Image {
        /// Platforms
        #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Platform::LinuxAmd64])]
        platform: Vec<Platform>,
    },
    /// Pack the programs that were built, and write checksums, the krew manifest, the formula, the SBOM and the release notes
    Pack,
    /// Build the program in two folders and compare the two to the byte (an hour)
    Reproduce,
    /// Install the plugin by its krew manifest, and start the image (needs Go)
    Check,
    /// Push the images of all platforms that were built, as one; prints its digest
    Push {
        /// Where to, with the transport, such as docker://registry.example.com/rollcast; the version is added
        destination: String,
    },
    /// Check the workflows of continuous integration with actionlint (needs Go)
    Workflows,
}

/// Returns the OCI archive with the image of a platform, which is built if it is missing.
pub fn image(platform: Platform) -> Result<PathBuf> {
    let archive = image::archive(platform);
    if archive.exists() { Ok(archive) } else { image::build(platform) }
}

pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Program { platform } => {
            program::build(platform.unwrap_or(Platform::here())).map(|path| println!("{}", path.display()))
        }
        Command::Image { platform } => platform.into_iter().try_for_each(|platform| {
            println!("{}", image::build(platform)?.display());
            Ok(())
        }),
        Command::Pack => manifests::pack(),
        Command::Reproduce => reproduce::run(),
        Command::Check => check::run(),
        Command::Push { destination } => image::push(&destination).map(|digest| println!("{digest}")),
        Command::Workflows => check::workflows(),
    }
}
