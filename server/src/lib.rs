//! The server of Rollcast: the only crate with input and output.
pub mod decode;
pub mod recording;
pub mod translate;
