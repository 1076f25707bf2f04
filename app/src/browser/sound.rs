//! Sound.

use send_wrapper::SendWrapper;
use wasm_bindgen::JsValue;
use web_sys::{AudioContext, AudioContextState};

/// Volume at the beginning of a tone.
const VOLUME: f32 = 0.15;
/// Volume at the end of a tone: inaudible.
const SILENCE: f32 = 0.001;
/// Duration of a tone.
const SECONDS: f64 = 0.5;

/// Sound output of a page, until it is dropped.
pub struct Sound(SendWrapper<AudioContext>);

impl Sound {
    /// Opens the sound output of this page; `None` if the browser has none.
    pub fn new() -> Option<Self> {
        AudioContext::new().ok().map(|audio| Self(SendWrapper::new(audio)))
    }

    /// Plays tones: the frequency of each in hertz, and the delay in seconds until it begins. Until the viewer allows sound
    /// ([`Self::allow`]) nothing is heard.
    pub fn play(&self, tones: &[(f32, f64)]) {
        // A context that is not running (not allowed yet, or interrupted) would queue the tones and play all of them together when it
        // resumes.
        if self.0.state() != AudioContextState::Running {
            return;
        }
        let now = self.0.current_time();
        for (hertz, after) in tones {
            let _ = tone(&self.0, *hertz, now + after); // if refused, nothing is heard
        }
    }

    /// Allows sound from now on. Called on a click of the viewer, which browsers require.
    pub fn allow(&self) {
        let _ = self.0.resume(); // if refused, nothing is heard
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        let _ = self.0.close(); // silent in either case
    }
}

fn tone(audio: &AudioContext, hertz: f32, at: f64) -> Result<(), JsValue> {
    let (oscillator, volume) = (audio.create_oscillator()?, audio.create_gain()?);
    oscillator.frequency().set_value(hertz);
    volume.gain().set_value_at_time(VOLUME, at)?;
    volume.gain().exponential_ramp_to_value_at_time(SILENCE, at + SECONDS)?;
    oscillator.connect_with_audio_node(&volume)?.connect_with_audio_node(&audio.destination())?;
    oscillator.start_with_when(at)?;
    oscillator.stop_with_when(at + SECONDS)
}
