//! Details of a Deployment, beside the picture or as a page of their own.

pub mod commands;
pub mod conditions;
pub mod containers;
pub mod difference;
pub mod facts;
pub mod following;
pub mod frame;
pub mod history;
pub mod images;
pub mod link;
pub mod moment;
pub mod past_moment;
pub mod past_rollouts;
pub mod pod;
pub mod revision;
pub mod rollouts;
pub mod share;
pub mod shared_link;
pub mod start;
pub mod view;
