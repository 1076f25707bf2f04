//! Tones: a low one when something gets stuck, two rising ones when it is done. Pure: when there is one is decided here; the browser
//! plays it ([`crate::browser::Sound`]).

use timeline::view::Tone;

/// What can be heard of who sits on a seat: the name, and how it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatState {
    /// Name of the Deployment that sits there.
    pub name: String,
    /// How it stands; `None` while nothing goes on there.
    pub tone: Option<Tone>,
}

/// The tones of what happened on a seat: frequency in hertz, and seconds until it begins.
#[must_use]
pub fn tones(before: &SeatState, now: &SeatState) -> &'static [(f32, f64)] {
    let is_news = before.name == now.name && before.tone.is_some() && before.tone != now.tone;
    match now.tone.filter(|_| is_news) {
        Some(Tone::Bad) => &[(196.0, 0.0)],
        Some(Tone::Ok) => &[(523.0, 0.0), (784.0, 0.18)],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happens_to_who_was_there_is_heard() {
        let heard = |name: &str, tone| SeatState { name: name.into(), tone };
        let of = |before, now| tones(&before, &now).len();
        assert_eq!(of(heard("web", Some(Tone::Busy)), heard("web", Some(Tone::Bad))), 1);
        assert_eq!(of(heard("web", Some(Tone::Bad)), heard("web", Some(Tone::Ok))), 2);
        assert_eq!(of(heard("web", Some(Tone::Bad)), heard("web", Some(Tone::Bad))), 0);
        assert_eq!(of(heard("web", Some(Tone::Bad)), heard("api", Some(Tone::Ok))), 0, "somebody else sits there");
        assert_eq!(of(heard("web", None), heard("web", Some(Tone::Bad))), 0, "it was so when the wall began to look");
        assert_eq!(of(heard("web", Some(Tone::Bad)), heard("web", Some(Tone::Busy))), 0);
    }
}
