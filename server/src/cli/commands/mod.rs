//! Commands that begin, print and end: `rollcast` alone, `rollcast completion`, `rollcast export` and `rollcast history`. They stand above
//! what they use, so that neither history nor export knows the command line.

pub mod completion;
pub mod export;
pub mod history;
pub mod start;
