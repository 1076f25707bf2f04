//! Builds the files of a release: static programs, archives, the container image, and the manifests of package managers.
//!
//! ```text
//!   page ─► program (one for each platform) ─┬─► archive, checksums, krew manifest, formula, notes
//!                                            └─► image (Linux)
//! ```
//! Everything is below `target/dist`. The release workflow calls these commands and signs what they made.

mod archive;
mod image;
mod manifests;
mod program;
mod reproduce;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

pub use image::name as image_name;

use crate::process;

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

/// A platform with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Platform {
    /// Linux on x86-64
    LinuxAmd64,
    /// Linux on 64-bit ARM
    LinuxArm64,
    /// macOS on Intel
    DarwinAmd64,
    /// macOS on Apple silicon
    DarwinArm64,
}

impl Platform {
    const ALL: [Self; 4] = [Self::LinuxAmd64, Self::LinuxArm64, Self::DarwinAmd64, Self::DarwinArm64];

    /// Operating system and architecture, by the names of Go and OCI.
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::LinuxAmd64 => ["linux", "amd64"],
            Self::LinuxArm64 => ["linux", "arm64"],
            Self::DarwinAmd64 => ["darwin", "amd64"],
            Self::DarwinArm64 => ["darwin", "arm64"],
        }
    }

    /// The target of the compiler. Programs for Linux are static.
    const fn target(self) -> &'static str {
        match self {
            Self::LinuxAmd64 => "x86_64-unknown-linux-musl",
            Self::LinuxArm64 => "aarch64-unknown-linux-musl",
            Self::DarwinAmd64 => "x86_64-apple-darwin",
            Self::DarwinArm64 => "aarch64-apple-darwin",
        }
    }

    const fn is_linux(self) -> bool {
        matches!(self, Self::LinuxAmd64 | Self::LinuxArm64)
    }

    /// The platform of this machine.
    pub const fn here() -> Self {
        match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
            (false, false) => Self::LinuxAmd64,
            (false, true) => Self::LinuxArm64,
            (true, false) => Self::DarwinAmd64,
            (true, true) => Self::DarwinArm64,
        }
    }

    /// `linux-amd64`.
    fn name(self) -> String {
        self.names().join("-")
    }

    /// Where its program is once it is built.
    fn program(self) -> PathBuf {
        dist("programs").join(self.name()).join("rollcast")
    }

    /// Where its archive is once it is packed.
    fn archive(self) -> PathBuf {
        dist(&format!("rollcast-{VERSION}-{}.tar.gz", self.name()))
    }
}

/// Version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A path below `target/dist`.
fn dist(path: &str) -> PathBuf {
    process::workspace_path("target/dist").join(path)
}

/// Returns the OCI archive with the image of a platform, which is built if it is missing.
pub fn image(platform: Platform) -> Result<PathBuf> {
    let archive = image::archive(platform);
    if archive.exists() { Ok(archive) } else { image::build(platform) }
}

/// Runs a release command.
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
        Command::Check => manifests::check(),
        Command::Push { destination } => image::push(&destination).map(|digest| println!("{digest}")),
        Command::Workflows => manifests::check_workflows(),
    }
}
