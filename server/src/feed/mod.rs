//! Feeds a hub from anything that is no cluster: a recording, or the simulated cluster of the playground.
//! Owns the format of recordings, their replay, and the controls of the playground.
//! Must not know Kubernetes' API: objects are decoded by `kube`.

pub mod playground;
pub mod recording;
pub mod replay;
