//! Details of a Deployment, beside the picture or as pages of their own.

pub mod commands;
pub mod facts;
pub mod following;
pub mod frame;
pub mod link;
pub mod moment;
pub mod pod;
pub mod revision;
pub mod rollouts;
pub mod share;
