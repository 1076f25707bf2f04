//! The score: time runs to the right, now is the line at the right edge, one band per ReplicaSet, one bar per pod. Pure geometry:
//! the model, the time and the size of the picture go in, places come out, the same on the server and in the browser.

pub mod lanes;
pub mod places;
pub mod scale;
