//! Commands that begin, print and end: `rollcast` alone, `rollcast export` and `rollcast history`. They stand above what they use, so that neither
//! history nor export knows the command line.

pub mod export;
pub mod history;
pub mod start;
