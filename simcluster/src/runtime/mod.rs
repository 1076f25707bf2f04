//! The kubelet's state of a pod's containers: programs, probes, back-off, and the record of each pod. Nothing here reads or
//! writes the cluster.

mod back_off;
mod behavior;
pub(crate) mod config_maps;
mod probe;
mod program;
mod record;

pub(crate) use back_off::{BackOff, crash_back_off, pull_back_off};
pub use behavior::Behavior;
pub(crate) use probe::{Probe, ProbeKind};
pub(crate) use program::{full_name, is_detailed, refusal};
pub(crate) use record::{ContainerPhase, ContainerRecord, Exit, PodRecord, Step, Timer};
