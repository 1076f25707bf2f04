//! Platforms of programs, and where the files of a release are.

use std::path::PathBuf;

use crate::process;

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
    pub const ALL: [Self; 4] = [Self::LinuxAmd64, Self::LinuxArm64, Self::DarwinAmd64, Self::DarwinArm64];

    /// Returns operating system and architecture, by the names of Go and OCI.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Self::LinuxAmd64 => ["linux", "amd64"],
            Self::LinuxArm64 => ["linux", "arm64"],
            Self::DarwinAmd64 => ["darwin", "amd64"],
            Self::DarwinArm64 => ["darwin", "arm64"],
        }
    }

    /// Returns the target of the compiler. Programs for Linux are static.
    pub const fn target(self) -> &'static str {
        match self {
            Self::LinuxAmd64 => "x86_64-unknown-linux-musl",
            Self::LinuxArm64 => "aarch64-unknown-linux-musl",
            Self::DarwinAmd64 => "x86_64-apple-darwin",
            Self::DarwinArm64 => "aarch64-apple-darwin",
        }
    }

    pub const fn is_linux(self) -> bool {
        matches!(self, Self::LinuxAmd64 | Self::LinuxArm64)
    }

    pub const fn here() -> Self {
        match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
            (false, false) => Self::LinuxAmd64,
            (false, true) => Self::LinuxArm64,
            (true, false) => Self::DarwinAmd64,
            (true, true) => Self::DarwinArm64,
        }
    }

    /// `linux-amd64`.
    pub fn name(self) -> String {
        self.names().join("-")
    }

    pub fn program(self) -> PathBuf {
        dist("programs").join(self.name()).join("rollcast")
    }

    /// Returns the path of the file beside its program that names the compiler.
    pub fn compiler(self) -> PathBuf {
        self.program().with_file_name("compiler")
    }

    pub fn archive(self) -> PathBuf {
        dist(&format!("rollcast-{VERSION}-{}.tar.gz", self.name()))
    }
}

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns a path below `target/dist`.
pub fn dist(path: &str) -> PathBuf {
    process::workspace_path("target/dist").join(path)
}
