//! Performs the requests of the strip's forms.

use simcluster::action::Choice;
use simcluster::api::Cluster;
use timeline::words::safe;

use super::{Playground, controls};
use crate::telemetry::panics::locked;

const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=20.0;
/// Most pods of one Deployment that the page's button scales to.
const MOST_REPLICAS: i32 = 50;

/// The action that begins again with another cluster.
pub const RESET: &str = "reset";

impl Playground {
    /// Performs the action of a form; the strip shows why one is refused.
    pub fn perform(&self, form: &controls::Form) {
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let mut state = locked(&self.state);
        state.refused.clear();
        state.is_waiting = false;
        let is_playing = state.player.told().is_playing;
        match field("action") {
            "pause-story" => state.player.set_playing(!is_playing),
            "next-story" => state.player.next_story(),
            "story" => {
                if !state.player.choose(field("story")) {
                    "There is no such story.".clone_into(&mut state.refused);
                }
            }
            "speed" => match field("speed").parse::<f64>() {
                Ok(speed) if SPEEDS.contains(&speed) => self.set_speed(speed),
                _ => state.refused = format!("The speed must be a number from {} to {}.", SPEEDS.start(), SPEEDS.end()),
            },
            RESET => match field("seed").parse() {
                Ok(seed) => self.reset(&mut state, seed),
                Err(_) => "The seed must be a whole number.".clone_into(&mut state.refused),
            },
            name => {
                // The viewer takes over.
                state.player.set_playing(false);
                state.refused = perform(&self.cluster, &self.of, name, form).err().unwrap_or_default();
            }
        }
    }
}

fn perform(cluster: &Cluster, of: &simcluster::Key, name: &str, form: &controls::Form) -> Result<(), String> {
    cluster.with(|world| {
        let choice = Choice::of(world, of)
            .ok_or_else(|| format!("The Deployment {} no longer exists: reset the playground.", of.name))?;
        let action = controls::action(name, &choice, form).ok_or("This action is not possible right now.")?;
        if let simcluster::action::Action::Scale(replicas) = action
            && replicas > MOST_REPLICAS
        {
            return Err(format!("At most {MOST_REPLICAS} pods here; kubectl has no such limit."));
        }
        action.perform(world, of).map_err(|error| safe(&error.message))
    })
}
