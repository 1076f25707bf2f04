//! Feeds a hub from a recording, or from the simulated cluster of the playground.
//! Owns the format of recordings, their replay, and the controls of the playground.
//! Must not know Kubernetes' API: objects are decoded by `kube`.

pub mod playground;
pub mod recording;
pub mod replay;
