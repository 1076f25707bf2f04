//! Commands that begin, print and end: `rollcast` alone, `rollcast completion`, `rollcast export` and `rollcast history`; and the browser that
//! `rollcast open` opens. They stand above what they use, so that neither
//! history nor export knows the command line.

pub mod browser;
pub mod completion;
pub mod export;
pub mod history;
pub mod start;
