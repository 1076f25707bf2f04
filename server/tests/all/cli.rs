//! The command line: its help, and one clear sentence with exit code 2 where it cannot start.

mod configuration;
mod exposed;
mod recordings;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program, which finds no kubeconfig by itself.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    command.args(arguments).env_remove("KUBECONFIG").env("HOME", "/nonexistent").env("ROLLCAST_LOG", "warn");
    command
}

fn rollcast(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

/// Runs it and returns its one sentence; it must have ended with exit code 2 and without a stack trace.
fn refusal(arguments: &[&str]) -> String {
    let output = rollcast(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(!text.contains("panicked") && !text.contains("stack backtrace"), "{text}");
    text
}

fn file(name: &str, content: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}

const KUBECONFIG: &str = r#"{"apiVersion":"v1","kind":"Config","current-context":"here",
  "contexts":[{"name":"here","context":{"cluster":"c","user":"u"}}],
  "clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:9"}}],"users":[{"name":"u","user":{}}]}"#;

#[test]
fn without_a_command_it_tells_what_it_found_and_what_fits() {
    let alone = rollcast(&[]);
    let text = String::from_utf8(alone.stdout).unwrap();
    assert_eq!((alone.status.code(), text.lines().count()), (Some(0), 3), "{text}");
    assert!(text.starts_with("Found no cluster to watch: ") && text.contains("rollcast demo"), "{text}");
    let kubeconfig = file("alone.yaml", KUBECONFIG);
    let found = Command::new(env!("CARGO_BIN_EXE_rollcast")).env("KUBECONFIG", &kubeconfig).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.starts_with("Found context ") && text.contains(&kubeconfig), "{text}");
    assert!(text.contains("rollcast serve") && text.lines().count() == 3, "{text}");
}

#[test]
fn an_error_says_its_cause_once() {
    let database = ["--history", "postgres://a@127.0.0.1:1/x", "--history-password-file", "/nope"];
    let text = refusal(&[&["history", "check"][..], &database].concat());
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
}

#[test]
fn help_says_everything() {
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo", "--help"],
        &["replay", "--help"],
        &["record", "--help"],
        &["report", "--help"],
        &["trace", "--help"],
        &["wait", "--help"],
        &["open", "--help"],
        &["check", "--help"],
        &["history", "export", "--help"],
        &["export", "--help"],
    ] {
        let help = String::from_utf8(rollcast(command).stdout).unwrap();
        insta::assert_snapshot!(command.join(" ").replace("--", ""), help);
    }
}

#[test]
fn a_port_in_use_says_how_to_choose_another() {
    let config = file("port", KUBECONFIG);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let text = refusal(&["serve", "--kubeconfig", &config, "--listen", &address]);
    assert!(text.contains("already in use") && text.contains("--listen"), "{text}");
}

#[test]
fn an_unreachable_cluster_cannot_be_recorded() {
    let config = file("unreachable", KUBECONFIG);
    let text = refusal(&["record", "--kubeconfig", &config]);
    assert!(text.contains("cannot watch") && text.contains("in here"), "{text}");
}

#[test]
fn a_check_names_what_does_not_answer() {
    let config = file("check", KUBECONFIG);
    let text = refusal(&["check", "--kubeconfig", &config]);
    assert!(text.contains("here at http://127.0.0.1:9") && text.to_lowercase().contains("refused"), "{text}");
}

#[test]
fn a_command_whose_output_nobody_reads_ends_without_a_word() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/kill-pod.jsonl");
    for arguments in [&["report", trace][..], &["completion", "bash"], &[]] {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let running = program(arguments).stdout(closed).stderr(Stdio::piped()).spawn().unwrap();
        let ended = running.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.as_str()), (Some(141), ""), "{arguments:?}");
    }
}

#[test]
fn a_kubeconfig_that_is_somebody_elses_is_not_written_over() {
    let path = file("theirs", KUBECONFIG);
    let said = refusal(&["demo", "--listen", "127.0.0.1:0", "--write-kubeconfig", &path]);
    assert!(said.contains("already exists and is not the kubeconfig of a playground"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), KUBECONFIG);
    std::fs::remove_file(path).unwrap();
}

/// The kernel drops signals that the first process of a container does not catch.
#[cfg(target_os = "linux")]
#[test]
fn the_first_process_of_a_container_can_be_interrupted() {
    let container = ["--user", "--map-root-user", "--fork", "--pid"];
    if !Command::new("unshare").args(container).arg("true").status().is_ok_and(|ended| ended.success()) {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "no namespace of processes can be made here");
        println!("left out: no namespace of processes can be made here");
        return;
    }
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    // Its credentials take longer than Rollcast waits for them.
    let exec = serde_json::json!({ "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["600"], "interactiveMode": "Never",
    } });
    let config = file("first", &KUBECONFIG.replace("\"user\":{}", &format!("\"user\":{exec}")));
    for signal in ["INT", "TERM"] {
        // The program takes the place of the shell, which is the first process, and which would end at SIGINT.
        let script = format!("trap '' {signal}; while kill -{signal} 1; do sleep 0.05; done & exec \"$0\" \"$@\"");
        for (arguments, code) in [
            (&["wait", "web", "--server", &server, "--timeout", "30s"][..], 130),
            (&["serve", "--kubeconfig", &config, "--listen", "127.0.0.1:0", "--no-history"], 0),
            (&["open", "--kubeconfig", &config, "--no-browser"], 0),
            (&["trace", "web", "--kubeconfig", &config], 0),
        ] {
            let mut command = Command::new("unshare");
            command.args(container).args(["sh", "-c", &script, env!("CARGO_BIN_EXE_rollcast")]).args(arguments);
            let ended = command.env("HOME", "/nonexistent").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(code), "{signal} {arguments:?}: {said}");
        }
    }
}
