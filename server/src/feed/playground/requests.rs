//! What the strip's forms ask for, done to the simulated cluster.

use simcluster::action::Choice;
use simcluster::api::Cluster;
use timeline::words::safe;

use super::{Playground, controls};

/// The fastest that time passes, and the slowest.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=20.0;
/// The most pods of one Deployment that the page's button asks for.
const MOST: i32 = 50;

/// What the form asks for that begins again with another cluster.
pub const RESET: &str = "reset";

impl Playground {
    /// Does what a form asks for; what is refused is told.
    pub fn ask(&self, form: &controls::Form) {
        let said = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let mut state = self.lock();
        state.refused.clear();
        state.is_waiting = false;
        let is_playing = state.player.told().is_playing;
        match said("action") {
            "pause-story" => state.player.set_playing(!is_playing),
            "next-story" => state.player.next_story(),
            "story" => {
                if !state.player.choose(said("story")) {
                    state.refused = format!("There is no story {:?}.", safe(said("story")));
                }
            }
            "speed" => match said("speed").parse::<f64>() {
                Ok(speed) if SPEEDS.contains(&speed) => self.set_speed(speed),
                _ => state.refused = format!("The speed must be a number from {} to {}.", SPEEDS.start(), SPEEDS.end()),
            },
            RESET => match said("seed").parse() {
                Ok(seed) => self.reset(&mut state, seed),
                Err(_) => "The seed must be a whole number.".clone_into(&mut state.refused),
            },
            name => {
                // Whoever does something has taken over.
                state.player.set_playing(false);
                state.refused = perform(&self.cluster, &self.of, name, form).err().unwrap_or_default();
            }
        }
    }
}

/// Does what a button means.
fn perform(cluster: &Cluster, of: &simcluster::Key, name: &str, form: &controls::Form) -> Result<(), String> {
    cluster.with(|world| {
        let choice = Choice::of(world, of)
            .ok_or_else(|| format!("The Deployment {} no longer exists: reset the playground.", of.name))?;
        let action = controls::action(name, &choice, form).ok_or("This action is not possible right now.")?;
        if let simcluster::action::Action::Scale(replicas) = action
            && replicas > MOST
        {
            return Err(format!("At most {MOST} pods here; kubectl has no such limit."));
        }
        action.perform(world, of).map_err(|error| safe(&error.message))
    })
}
