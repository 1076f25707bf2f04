//! Commands that print and exit: `rollcast` alone, `rollcast completion`, `rollcast export` and `rollcast history`.
//! They are above the modules that they use, so that neither history nor export knows the command line.

pub mod completion;
pub mod export;
pub mod history;
pub mod start;
