//! The score: time runs to the right, the right edge is now, one band per ReplicaSet, one bar per pod. Contains the geometry and
//! its painters, which are the same on the server and in the browser.
//!
//! ```text
//!   model ─► lanes (bands, slots) ─► places (pixels) ─► scene: bars, ribbon, budget as marks and objects
//!                                                         │
//!   ink (what states look like) ─► bars::paint ─► elements, a canvas, a preview's file
//! ```

pub mod bars;
pub mod budget;
pub mod canvas;
pub mod frame;
pub mod ink;
pub mod lanes;
pub mod motion;
pub mod order;
pub mod places;
pub mod ribbon;
pub mod scale;
pub mod scene;
pub mod style_sheet;
