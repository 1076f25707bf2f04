//! Startup of pods: the duration of each step from creation to being available.

use timeline::Millis;
use timeline::model::{Pod, PodState};
use timeline::view::Now;
use timeline::words::safe;

use crate::detail::pod::{STEPS, start};
use crate::measure::median;

/// Maximum number of pods that are listed one by one.
const MOST: usize = 60;

/// Startup of the pods of a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Startup {
    /// The steps, in order; only those that at least one pod completed.
    pub steps: Vec<StepTimes>,
    /// Duration of the whole startup: the median and the slowest; `None` while no pod has completed all steps.
    pub whole: Option<(Millis, Millis)>,
    /// The pods, slowest first.
    pub pods: Vec<PodStart>,
    /// Number of further pods.
    pub more: u32,
}

/// Duration of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTimes {
    /// Name of the step: "scheduled".
    pub name: &'static str,
    /// State of a pod until it completes the step.
    pub state: PodState,
    /// Number of pods that completed it.
    pub pods: u32,
    /// Median duration.
    pub median_millis: Millis,
    /// Duration for the slowest pod.
    pub slowest_millis: Millis,
    /// Name of the slowest pod.
    pub slowest: String,
}

/// Startup of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodStart {
    /// Name of the pod.
    pub name: String,
    /// Durations of its completed steps, in order.
    pub steps: Vec<Millis>,
}

impl PodStart {
    fn from_pod(pod: &Pod, now: Now) -> Option<Self> {
        let steps: Vec<Millis> = start(pod).into_iter().map(|step| step.after_millis).collect();
        let is_whole = pod.is_creation_seen(now.skew_millis) && !steps.is_empty();
        is_whole.then(|| Self { name: safe(&pod.name), steps })
    }

    /// Returns the time from creation to the last completed step.
    pub fn whole_millis(&self) -> Millis {
        self.steps.iter().sum()
    }
}

impl Startup {
    /// Collects the startup of pods; `None` if no creation was observed.
    pub fn from_pods<'p>(pods: impl Iterator<Item = &'p Pod>, now: Now) -> Option<Self> {
        let mut pods: Vec<PodStart> = pods.filter_map(|pod| PodStart::from_pod(pod, now)).collect();
        pods.sort_by(|one, other| (other.whole_millis(), &one.name).cmp(&(one.whole_millis(), &other.name)));
        let steps = STEPS.into_iter().enumerate().filter_map(|(index, (name, state))| {
            let times: Vec<(Millis, &PodStart)> =
                pods.iter().filter_map(|pod| pod.steps.get(index).map(|took| (*took, pod))).collect();
            let (slowest_millis, slowest) = times.iter().max_by_key(|(took, _)| *took)?;
            Some(StepTimes {
                name,
                state,
                pods: times.len() as u32,
                median_millis: median(times.iter().map(|(took, _)| *took))?,
                slowest_millis: *slowest_millis,
                slowest: slowest.name.clone(),
            })
        });
        let steps = steps.collect();
        // Pods that have not completed every step have no total duration.
        let whole = pods.iter().filter(|pod| pod.steps.len() == STEPS.len()).map(PodStart::whole_millis);
        let whole = median(whole.clone()).zip(whole.max());
        let more = pods.len().saturating_sub(MOST) as u32;
        pods.truncate(MOST);
        (!pods.is_empty()).then_some(Self { steps, whole, pods, more })
    }
}
