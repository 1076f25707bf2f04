//! Parts of a page.

pub mod icon;
pub mod notify;
pub mod panel;
