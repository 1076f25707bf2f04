//! `rollcast`: parses the command line, runs it, turns an error into one sentence and exit code 2.

use std::process::ExitCode;

use clap::Parser;
use server::{cli, run};

/// glibc's allocator keeps the memory of a burst; this one gives it back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    run::log(&cli.command);
    match run::run(cli).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("rollcast: {error:#}");
            ExitCode::from(2)
        }
    }
}
