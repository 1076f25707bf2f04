//! The words in an image's tag that decide how a pod lives.

/// Behavior of a pod, from its first image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Ready after about a second.
    Healthy,
    /// Ready after four to five seconds.
    Slow,
    /// Runs and is never ready.
    Never,
    /// Its image cannot be pulled.
    Missing,
    /// Exits with 1, again and again.
    Crash,
    /// Is killed for its memory, again and again.
    OutOfMemory,
    /// Ends with 0, again and again.
    Ends,
    /// Its configuration does not exist.
    BadConfig,
    /// Its image takes long to be pulled.
    Large,
    /// The registry does not show its image.
    Denied,
    /// The registry is asked too often.
    TooMany,
    /// Its image's registry does not exist.
    NoHost,
    /// Ready and not ready in turn.
    Flap,
    /// Takes its whole grace period to go.
    Linger,
    /// Every other one is refused by its node, and lies about.
    Refused,
}

impl Behavior {
    /// By a word in the image: `web:crash-v2`.
    pub fn of_image(image: &str) -> Self {
        let words = [
            ("exit0", Self::Ends),
            ("large", Self::Large),
            ("denied", Self::Denied),
            ("toomany", Self::TooMany),
            ("nohost", Self::NoHost),
            ("never", Self::Never),
            ("missing", Self::Missing),
            ("crash", Self::Crash),
            ("oom", Self::OutOfMemory),
            ("badconfig", Self::BadConfig),
            ("flap", Self::Flap),
            ("linger", Self::Linger),
            ("outofcpu", Self::Refused),
            ("slow", Self::Slow),
        ];
        words.into_iter().find(|(word, _)| image.contains(word)).map_or(Self::Healthy, |(_, behavior)| behavior)
    }
}
