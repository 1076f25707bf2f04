//! Tones: a low one when something gets stuck, two rising ones when it is done. When there is one is decided here as well.

use timeline::view::Tone;
use web_sys::AudioContext;

/// How loud a tone begins.
const VOLUME: f32 = 0.15;
/// How loud it ends: nothing that anybody hears.
const SILENCE: f32 = 0.001;
/// How long it takes.
const SECONDS: f64 = 0.5;

/// What can be heard of who sits on a seat: the name, and how it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatState {
    /// Who sits there.
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

/// Plays them. Browsers may want to be allowed to play sound first; until then nothing is heard.
pub fn play(audio: &AudioContext, tones: &[(f32, f64)]) {
    for (hertz, after) in tones {
        let _ = tone(audio, *hertz, audio.current_time() + after); // refused: nothing is heard
    }
}

fn tone(audio: &AudioContext, hertz: f32, at: f64) -> Result<(), wasm_bindgen::JsValue> {
    let (oscillator, volume) = (audio.create_oscillator()?, audio.create_gain()?);
    oscillator.frequency().set_value(hertz);
    volume.gain().set_value_at_time(VOLUME, at)?;
    volume.gain().exponential_ramp_to_value_at_time(SILENCE, at + SECONDS)?;
    oscillator.connect_with_audio_node(&volume)?.connect_with_audio_node(&audio.destination())?;
    oscillator.start_with_when(at)?;
    oscillator.stop_with_when(at + SECONDS)
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
