//! `rollcast`: parses the command line, runs it, turns an error into one sentence and exit code 2.

use std::process::ExitCode;

use clap::CommandFactory;
use server::cli::commands::completion;
use server::cli::{self, run};
use server::telemetry::{error_chain, log, print};

/// glibc's allocator keeps the memory of a burst; this one returns it to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if cli::asks_for_completion(&arguments) {
        return completion::for_kubectl(cli::Cli::command(), &arguments)
            .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let cli = cli::Cli::read(arguments).unwrap_or_else(|why| why.exit());
    log::init(cli.usual_log());
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let ended = runtime.block_on(run::run(cli));
    // Does not wait for anything: a command that fetches credentials may hang.
    runtime.shutdown_background();
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) if run::is_output_closed(&error) => ExitCode::from(run::OUTPUT_CLOSED),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    print::error(&error_chain::join(&**error));
    ExitCode::from(2)
}
