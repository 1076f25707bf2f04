//! Which mistakes the tests would find: cargo-mutants makes them one at a time, in a copy of the sources.

use anyhow::{Result, ensure};

use crate::process;

/// Figures in docs/mutants.md are of this version; another one makes other mutants.
const VERSION: &str = "27.1.0";

/// A changed part of the code, and the tests that have to notice.
struct Part {
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
    timeout_seconds: &'static str,
}

const TIMELINE: Part = Part {
    package: "timeline",
    files: &["timeline/src/**"],
    // That one takes longer than all others together, and is about time.
    tests: &["--tests", "--", "--skip", "two_thousand_replica_sets_are_no_trouble"],
    timeout_seconds: "60",
};
const SERVER: Part = Part {
    package: "server",
    files: &["server/src/kube/**", "server/src/hub/**"],
    // Their own unit tests, and those against a fake API server.
    tests: &["--lib", "--test=all", "--", "kube::", "hub::", "live::"],
    timeout_seconds: "300",
};

/// Changes a part of the product and runs the tests of its own package, with more arguments for cargo-mutants.
pub fn run(only: &str, arguments: &[String]) -> Result<()> {
    let part = match only {
        "timeline" => TIMELINE,
        "server" => SERVER,
        _ => anyhow::bail!("there is no part {only:?}; there are: timeline, server"),
    };
    let program = ensure_program()?;
    let mut command = process::command(program, &["mutants", "--jobs=1", "--no-shuffle", "--baseline=run"]);
    command.args(["--package", part.package, "--test-package", part.package, "--timeout", part.timeout_seconds]);
    let out = format!("target/mutants/{only}");
    std::fs::create_dir_all(process::workspace_path(&out))?;
    command.args(["--output", &out]).args(arguments);
    if !arguments.iter().any(|argument| argument.starts_with("--file") || argument == "-f") {
        for files in part.files {
            command.args(["--file", files]);
        }
    }
    if !part.tests.is_empty() {
        command.arg("--").args(part.tests);
    }
    // One folder for the dependencies of all runs of a part, of which cargo-mutants lets only one run at a time; nobody debugs a
    // mutant; a few cases find most of what many find.
    command.env("CARGO_TARGET_DIR", process::workspace_path(&out).join("build"));
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("PROPTEST_CASES", "40").env("INSTA_UPDATE", "no");
    let status = command.status()?;
    // 2 and 3: mutants were missed, or ran out of time. That is what was asked.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants failed ({status})");
    process::print_note(&format!(
        "what was caught and missed: {out}/mutants.out; the figures of record: docs/mutants.md"
    ));
    Ok(())
}

/// cargo-mutants of our version, in a folder of its own: another one that is installed stays as it is.
fn ensure_program() -> Result<std::path::PathBuf> {
    let program = process::workspace_path("target/tools/bin/cargo-mutants");
    let is_there = program.is_file()
        && process::output(&mut process::command(&program, &["mutants", "--version"]))
            .is_ok_and(|line| line.ends_with(VERSION));
    if !is_there {
        process::print_note(&format!("installing cargo-mutants {VERSION} into target/tools (minutes, once)"));
        let install = ["install", "cargo-mutants", "--locked", "--force", "--root=target/tools", "--version", VERSION];
        process::run(&mut process::command("cargo", &install))?;
    }
    Ok(program)
}
