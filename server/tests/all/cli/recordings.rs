//! Commands that read a recording, and what they say of one that is damaged or hostile.

use std::process::{Command, Stdio};

use crate::cli::{file, program, refusal, rollcast};

#[test]
fn a_recorded_rollout_is_one_file() {
    let recording = format!("{}/tests/traces/rollover.jsonl", env!("CARGO_MANIFEST_DIR"));
    let made = rollcast(&["export", &recording, "deployment/web", "-n", "rollover", "--revision", "2"]);
    let html = String::from_utf8(made.stdout).unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<title>Rolling out: rollover / web"));
    let redacted = String::from_utf8(rollcast(&["export", &recording, "--redact"]).stdout).unwrap();
    assert!(redacted.contains(" / web — Rollcast</title>") && !redacted.contains("rollover"));
    // The name of the file is no name of the cluster.
    let named = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("web.jsonl");
    std::fs::copy(&recording, &named).unwrap();
    let redacted = rollcast(&["export", &named.display().to_string(), "--redact"]).stdout;
    assert!(String::from_utf8(redacted).unwrap().contains(": namespace-1 / web — Rollcast</title>"));
    let empty = file("empty.jsonl", "");
    for (arguments, why) in [
        (
            &[recording.as_str(), "deployment/other"][..],
            "name one Deployment, and its namespace with -n; the recording contains: rollover/web",
        ),
        (&[recording.as_str(), "-n", "other"], "name one Deployment"),
        (&[recording.as_str(), "--revision", "9"], "no such rollout; its history may have expired"),
        (&["/no/such/file.jsonl"], "cannot read the recording /no/such/file.jsonl"),
        (&[empty.as_str()], "contains no valid line"),
        (&["-"], "contains no valid line"),
    ] {
        let text = refusal(&[&["export"], arguments].concat());
        assert!(text.contains(why), "{arguments:?}: {text}");
    }
    // What the environment names for commands that ask a server is nothing to this one.
    let mut command = program(&["export", &recording, "--redact"]);
    let made = command.env("ROLLCAST_TOKEN_FILE", "/no/such/token").env("ROLLCAST_CLUSTER", "prod").output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    // A pipe is a recording as well, and no Deployment of the server that the environment names.
    let mut reader = Command::new("cat").arg(&recording).stdout(Stdio::piped()).spawn().unwrap();
    let mut command = program(&["export", "/dev/stdin"]);
    command.env("ROLLCAST_SERVER", "http://127.0.0.1:9").stdin(reader.stdout.take().unwrap());
    let made = command.output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(reader.wait().unwrap().success());
    let text = refusal(&["wait", "deployment/a", "deployment/b", "--export", "/tmp/never.html"]);
    assert!(text.contains("--export supports one Deployment only"), "{text}");
}

#[test]
fn a_deployment_that_was_created_again_is_exported_by_its_name() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/deleted-and-recreated.jsonl");
    let made = rollcast(&["export", trace, "deployment/web"]);
    let html = String::from_utf8(made.stdout).unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(html.contains("<title>Complete: deleted-and-recreated / web"));
    // Only the first one has revision 2.
    let of_first = |line: &str| match line.contains("65d0e912-2a02-4522-9449-a1ff469b38cc") {
        true => line.replace("kubernetes.io/revision\":\"1\"", "kubernetes.io/revision\":\"2\""),
        false => line.to_owned(),
    };
    let text: Vec<String> = std::fs::read_to_string(trace).unwrap().lines().map(of_first).collect();
    let recording = file("first-has-another-revision.jsonl", &text.join("\n"));
    for revision in ["1", "2"] {
        let made = rollcast(&["export", &recording, "deployment/web", "--revision", revision]);
        assert_eq!(made.status.code(), Some(0), "{revision}: {}", String::from_utf8_lossy(&made.stderr));
    }
}

#[test]
fn a_recording_that_is_none_is_told() {
    let text = refusal(&["replay", "/no/such/file.jsonl"]);
    assert!(text.contains("cannot read the recording /no/such/file.jsonl"), "{text}");
    let text = refusal(&["report", &file("none.jsonl", "hello\n")]);
    assert!(text.contains("contains no valid line (line 1:"), "{text}");
}

#[test]
fn a_malformed_line_is_named_by_its_number_and_the_rest_still_plays() {
    let good = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/kill-pod.jsonl")).unwrap();
    let mut lines: Vec<&str> = good.lines().collect();
    lines.insert(3, "{ this is no line");
    let output = rollcast(&["report", &file("malformed.jsonl", &lines.join("\n"))]);
    assert!(output.status.success());
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("line 4:"), "{warning}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["deployments"][0]["pods"].as_array().unwrap().len(), 4);
}

#[test]
fn bad_lines_of_standard_input_are_told_like_those_of_a_file() {
    let good = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollover.jsonl")).unwrap();
    let mut lines: Vec<&str> = good.lines().collect();
    lines.insert(3, "{ this is no line");
    let export = |name: &str, text: &str| {
        let piped = std::fs::File::open(file(name, text)).unwrap();
        let output = program(&["export", "-"]).stdin(piped).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, warning) = export("piped.jsonl", &lines.join("\n"));
    assert_eq!(code, Some(0), "{warning}");
    assert!(warning.contains("line 4:"), "{warning}");
    let (code, why) = export("piped-none.jsonl", "hello\n");
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("standard input contains no valid line (line 1:"), "{why}");
}

#[test]
fn a_recording_commands_no_terminal() {
    let strange = |text: &str| text.chars().find(|c| *c != '\n' && c.is_control());
    let line =
        r#"{"observedAtMillis":1,"kind":"Pod","type":"\u001b]0;owned\u0007\u001b[2J\nrollcast: forged","object":{}}"#;
    let evil = file("evil.jsonl", &format!("{line}\n"));
    for arguments in [&["report", &evil][..], &["export", &evil], &["replay", &evil, "--listen", "127.0.0.1:0"]] {
        let said = refusal(arguments);
        assert_eq!(strange(&said), None, "{arguments:?}: {said:?}");
        assert!(said.contains("]0;owned[2J rollcast: forged"), "{arguments:?}: {said:?}");
        assert_eq!(said.lines().filter(|line| line.starts_with("rollcast: ")).count(), 1, "{said:?}");
    }
    let trace = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollover.jsonl")).unwrap();
    let hostile = file("hostile.jsonl", &trace.replace("\"web-", "\"web\u{9b}31m-"));
    let report = String::from_utf8(rollcast(&["report", &hostile]).stdout).unwrap();
    assert_eq!(strange(&report), None);
    assert!(report.contains("web\\u009b31m-"), "{report}");
    assert!(serde_json::from_str::<serde_json::Value>(&report).unwrap().to_string().contains("web\u{9b}31m-"));
}
