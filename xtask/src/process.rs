//! Runs other programs, and prints each command line first.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

pub fn workspace_path(path: &str) -> PathBuf {
    root().join(path)
}

/// Returns whether a file is missing or older than one of its sources, so that it must be made again.
pub fn is_outdated(made: &Path, sources: &[PathBuf]) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(made).is_none_or(|made| sources.iter().filter_map(|source| time(source)).any(|source| source > made))
}

/// Removes a file, or a folder with everything in it, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        std::fs::remove_dir_all(path)?;
    } else if path.exists() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Returns the paths of everything in a folder, in order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = read().with_context(|| format!("cannot read the folder {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Returns every file below a folder, in order.
pub fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let below = entries(path)?.iter().map(|path| files_below(path)).collect::<Result<Vec<_>>>()?;
    Ok(below.concat())
}

/// Time of the first command.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints the next command, and the time since the first one.
fn announce(line: &str) {
    let seconds = BEGAN.elapsed().as_secs();
    eprintln!("  {:02}:{:02} $ {line}", seconds / 60, seconds % 60);
}

pub fn print_note(text: &str) {
    eprintln!("xtask: {text}");
}

/// Returns a command that starts in the workspace root.
pub fn command(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Variables that `cargo run` sets for xtask: ring's build script reads them, and would run again, with everything
    // that uses ring, whenever cargo and xtask are called in turn.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name.to_string_lossy().starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(root());
    command
}

pub fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    announce(&line);
    let status = command.status().with_context(|| format!("cannot start {line}"))?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Runs a command and returns what it printed, trimmed.
pub fn output(command: &mut Command) -> Result<String> {
    output_with_input(command, "")
}

/// Runs a command with this input and returns what it printed, trimmed.
pub fn output_with_input(command: &mut Command, input: &str) -> Result<String> {
    let line = command_line(command);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().with_context(|| format!("cannot start {line}"))?;
    // A program that ends before it has read everything reports the reason itself.
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    let [printed, complaint] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    // kubeconform prints its errors to standard output.
    let why = [complaint.as_str(), printed.as_str()].join("\n");
    ensure!(output.status.success(), "`{line}` failed ({}): {}", output.status, why.trim());
    written.transpose().with_context(|| format!("{line} did not read its input"))?;
    Ok(printed)
}

/// Runs a command and returns its standard output; its standard error is shown as it comes.
pub fn stdout_of(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    announce(&line);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {line}"))?;
    ensure!(output.status.success(), "`{line}` failed ({})", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command for at most so long; returns whether it succeeded in time.
pub fn succeeds_within(command: &mut Command, limit: Duration) -> bool {
    announce(&command_line(command));
    let Ok(mut child) = command.stdin(Stdio::null()).spawn() else {
        return false;
    };
    if let Ok(status) = poll(limit, || child.try_wait()?.context("it still runs")) {
        return status.success();
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Retries something that another process must make possible, until it succeeds or the limit is over. Returns the last error.
pub fn poll<T>(limit: Duration, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(_) if started.elapsed() < limit => std::thread::sleep(Duration::from_millis(100)),
            ended => return ended,
        }
    }
}

/// Prints what is skipped, and why. Fails in continuous integration, where nothing may be skipped.
pub fn leave_out(what: &str, why: &str) -> Result<()> {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    ensure!(!is_ci, "with CI=true {what} may not be left out ({why})");
    print_note(&format!("LEFT OUT: {what} ({why})"));
    Ok(())
}

pub fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// Returns the path of a program in the PATH.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
