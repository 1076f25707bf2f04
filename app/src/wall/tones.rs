//! Tones: a low one when something gets stuck, two rising ones when it is done. When there is one is decided by [`crate::news`]; the
//! browser plays it ([`crate::browser::Sound`]).

use timeline::view::Tone;

/// The tones of what is told of a Deployment: frequency in hertz, and seconds until it begins.
pub const fn tones(told: Tone) -> &'static [(f32, f64)] {
    match told {
        Tone::Bad => &[(196.0, 0.0)],
        Tone::Ok => &[(523.0, 0.0), (784.0, 0.18)],
        Tone::Busy | Tone::Quiet => &[],
    }
}
