//! Behaviors of pods, selected by a word in an image's tag.

/// Behavior of a pod, from its first image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Ready after about a second.
    Healthy,
    /// Ready after four to five seconds.
    Slow,
    /// Runs and is never ready.
    Never,
    /// The image cannot be pulled.
    Missing,
    /// Exits with 1, again and again.
    Crash,
    /// Is killed for its memory use, again and again.
    OutOfMemory,
    /// Exits with 0, again and again.
    Ends,
    /// The ConfigMap of the container does not exist.
    BadConfig,
    /// The image takes long to pull.
    Large,
    /// The registry denies access to the image.
    Denied,
    /// The registry rejects pulls because of too many requests.
    TooMany,
    /// The host of the image's registry does not exist.
    NoHost,
    /// Alternates between ready and not ready.
    Flap,
    /// Takes its whole grace period to end.
    Linger,
    /// The node rejects every other pod; those pods stay as failed.
    Refused,
}

impl Behavior {
    /// Returns the behavior that a word in the image selects: `web:crash-v2`.
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
