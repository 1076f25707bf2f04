//! Runs mutation tests: cargo-mutants makes mistakes one at a time, in a copy of the sources.

use anyhow::{Context, Result, ensure};

use crate::{process, setup};

/// Changes a part of the product and runs the tests of its own package, with more arguments for cargo-mutants.
pub fn run(only: &str, arguments: &[String]) -> Result<()> {
    let (timeout_seconds, changed, tests): (&str, &[&str], &[&str]) = match only {
        // The test that is left out takes longer than all others together, and is about time.
        "timeline" => {
            ("60", &["timeline/src/**"], &["--tests", "--", "--skip", "two_thousand_replica_sets_are_no_trouble"])
        }
        // Their own unit tests, and those against a fake API server.
        "server" => (
            "300",
            &["server/src/kube/**", "server/src/hub/**"],
            &["--lib", "--test=all", "--", "kube::", "hub::", "live::"],
        ),
        _ => anyhow::bail!("there is no part {only:?}; there are: timeline, server"),
    };
    let program = setup::MUTANTS.ensure().context("cargo-mutants cannot be installed here")?;
    let mut command = process::command(program, &["mutants", "--jobs=1", "--no-shuffle", "--baseline=run"]);
    command.args(["--package", only, "--test-package", only, "--timeout", timeout_seconds]);
    let out = format!("target/mutants/{only}");
    std::fs::create_dir_all(process::workspace_path(&out))?;
    command.args(["--output", &out]).args(arguments);
    if !arguments.iter().any(|argument| argument.starts_with("--file") || argument == "-f") {
        for files in changed {
            command.args(["--file", files]);
        }
    }
    command.arg("--").args(tests);
    // All runs of a part share one folder for dependencies, because cargo-mutants runs only one at a time. Mutants need
    // no debug information, and a few cases find most of what many find.
    command.env("CARGO_TARGET_DIR", process::workspace_path(&out).join("build"));
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("PROPTEST_CASES", "40").env("INSTA_UPDATE", "no");
    let status = command.status()?;
    // 2 and 3: mutants were missed, or timed out. Both are results, not errors.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants failed ({status})");
    process::print_note(&format!(
        "what was caught and missed: {out}/mutants.out; the figures of record: docs/mutants.md"
    ));
    Ok(())
}
