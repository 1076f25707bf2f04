//! The command line: its help, and one clear sentence with exit code 2 where it cannot start.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output};

fn rollcast(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rollcast"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .env("ROLLCAST_LOG", "warn")
        .output()
        .unwrap()
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
    let path = std::env::temp_dir().join(format!("rollcast-cli-{}-{name}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(content.as_bytes()).unwrap();
    path.display().to_string()
}

const KUBECONFIG: &str = r#"{"apiVersion":"v1","kind":"Config","current-context":"here",
  "contexts":[{"name":"here","context":{"cluster":"c","user":"u"}}],
  "clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:9"}}],"users":[{"name":"u","user":{}}]}"#;

#[test]
fn what_the_environment_names_for_other_commands_is_not_in_the_way() {
    let kubeconfig = file("environment.yaml", KUBECONFIG);
    for (arguments, environment, says) in [
        (
            &["wait", "web", "--kubeconfig", &kubeconfig, "--timeout", "20s"][..],
            &["ROLLCAST_TOKEN_FILE", "ROLLCAST_CLUSTER", "ROLLCAST_REDACT", "ROLLCAST_SERVER"][..],
            "cannot watch",
        ),
        (
            &["wait", "web", "--server", "http://127.0.0.1:9"],
            &["ROLLCAST_CONTEXT", "ROLLCAST_KUBECONFIG"],
            "127.0.0.1:9",
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(arguments).env_remove("KUBECONFIG").env("HOME", "/nonexistent").env("ROLLCAST_LOG", "off");
        environment.iter().for_each(|name| {
            command.env(name, if *name == "ROLLCAST_REDACT" { "true" } else { "http://127.0.0.1:9/elsewhere" });
        });
        let ended = command.output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(!text.contains("Usage") && text.contains(says), "{arguments:?}: {text}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    let token = file("token", "a.token.of-somebody");
    command.args(["wait", "web", "--server", "http://rollouts.invalid", "--token-file", &token]);
    let text = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(text.contains("the token is sent to http://rollouts.invalid without TLS"), "{text}");
    assert!(!text.contains("a.token.of-somebody"), "{text}");
}

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
fn the_playground_listens_on_loopback_only() {
    let text = refusal(&["demo", "--listen", "0.0.0.0:0"]);
    assert!(text.contains("the playground listens on loopback only"), "{text}");
}

#[test]
fn a_provider_is_named_whole_and_can_be_trusted() {
    let kubeconfig = file("provider.yaml", KUBECONFIG);
    let (empty, config) = (file("secret", " \n"), file("provider.toml", "[auth]\noidc_issuer = \"http://10.0.0.1\"\n"));
    let (issuer, client) = (&["--oidc-issuer", "https://id.example.com"][..], &["--oidc-client-id", "rollcast"][..]);
    for (more, says) in [
        (vec![], "set --oidc-issuer and --oidc-client-id"),
        (vec![issuer], "set --oidc-issuer and --oidc-client-id"),
        (vec![client], "set --oidc-issuer and --oidc-client-id"),
        (vec![client, &["--oidc-issuer", "http://id.example.com"]], "must be a URL that begins with https://"),
        (vec![client, &["--config", &config]], "the issuer URL \"http://10.0.0.1\" is invalid: it must be"),
        (vec![issuer, client, &["--oidc-client-secret-file", "/nowhere"]], "cannot read the client secret from"),
        (vec![issuer, client, &["--oidc-client-secret-file", &empty]], "it is empty"),
    ] {
        let mut arguments = vec!["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen", "127.0.0.1:0"];
        arguments.extend(["--auth", "oidc"]);
        arguments.extend(more.concat());
        let text = refusal(&arguments);
        assert!(text.contains(says), "{more:?}: {text}");
    }
}

#[test]
fn beyond_loopback_people_sign_in_or_somebody_says_that_they_need_not() {
    let recording = format!("{}/tests/traces/rollover.jsonl", env!("CARGO_MANIFEST_DIR"));
    let kubeconfig = file(
        "open.yaml",
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{ name: a, context: { cluster: c, user: u } }]\nclusters: [{ name: c, cluster: { server: 'http://127.0.0.1:1' } }]\nusers: [{ name: u, user: {} }]\n",
    );
    for command in [
        &["replay", &recording, "--listen", "0.0.0.0:0"][..],
        &["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen", "0.0.0.0:0"],
        &["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen", "[::]:0", "--auth", "none"],
    ] {
        let text = refusal(command);
        assert!(text.contains("can be reached from other machines, but sign-in is off"), "{text}");
        assert!(text.contains("--insecure-no-auth"), "{text}");
    }
    // Something in front passes on what others ask.
    for command in [
        &["replay", &recording][..],
        &["serve", "--kubeconfig", &kubeconfig, "--no-history"],
        &["serve", "--kubeconfig", &kubeconfig, "--no-history", "--auth", "none"],
        &["demo"],
    ] {
        for named in [
            ["--public-url", "https://rollouts.example.com"],
            ["--trust-proxy", "127.0.0.1"],
            ["--allow-host", "rollouts.example.com"],
        ] {
            let text = refusal(&[command, &["--listen", "127.0.0.1:0"], &named].concat());
            assert!(text.contains("can be reached by others"), "{command:?} {named:?}: {text}");
            assert!(text.contains("but sign-in is off") && text.contains("--insecure-no-auth"), "{text}");
        }
    }
    let text =
        refusal(&["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen", "127.0.0.1:0", "--auth", "proxy"]);
    assert!(text.contains("--auth-proxy-from"), "{text}");
    let keys = file("keys", "too short\n");
    let text = refusal(&[
        "serve",
        "--kubeconfig",
        &kubeconfig,
        "--no-history",
        "--listen",
        "127.0.0.1:0",
        "--auth",
        "token",
        "--session-keys",
        &keys,
    ]);
    assert!(
        text.contains("line 1 of the file of session keys is too short") && !text.contains("too short\""),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn secrets_that_everybody_can_read_are_refused_where_others_reach_the_server() {
    use std::os::unix::fs::PermissionsExt;

    let kubeconfig = file("secrets.yaml", KUBECONFIG);
    let secret = file("open", "too short\n");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
    let serve = ["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen"];
    let says = format!("every user of this machine can read or write {secret}, which contains a secret");
    let oidc = ["--auth", "oidc", "--oidc-issuer", "https://id.example.com", "--oidc-client-id", "rollcast"];
    for (given, of_loopback) in [
        (vec!["--auth", "token", "--session-keys", &secret], "too short"),
        ([&oidc[..], &["--session-keys", &secret]].concat(), "too short"),
        (
            [&oidc[..], &["--oidc-client-secret-file", &secret, "--session-keys", "/nowhere"]].concat(),
            "cannot read the session keys",
        ),
        (vec!["--insecure-no-auth", "--tls-cert", &secret, "--tls-key", &secret], "contains no certificate"),
    ] {
        for others in [&["0.0.0.0:0"][..], &["127.0.0.1:0", "--public-url", "https://rollouts.example.com"]] {
            let text = refusal(&[&serve[..], others, &given].concat());
            assert!(text.contains(&says) && !text.contains(of_loopback), "{given:?}: {text}");
        }
        // Nobody but who sits there reaches it: it is a warning, and what is wrong besides is said.
        let text = refusal(&[&serve[..], &["127.0.0.1:0"], &given].concat());
        assert!(text.contains(&says) && text.contains("WARN") && text.contains(of_loopback), "{given:?}: {text}");
    }
}

#[test]
fn a_network_that_is_everybody_is_no_proxy() {
    let kubeconfig = file("proxies.yaml", KUBECONFIG);
    // Every start ends at the file of links, which is none.
    let links = file("links", "no links");
    let serve = ["serve", "--kubeconfig", &kubeconfig, "--no-history", "--listen", "127.0.0.1:0", "--shares", &links];
    let given = |network: &str, more: &[&str]| {
        refusal(&[&serve[..], &["--auth", "proxy", "--auth-proxy-from", network], more].concat())
    };
    for network in ["0.0.0.0/0", "::/0", "10.0.0.7,0.0.0.0/0"] {
        let text = given(network, &[]);
        assert!(
            text.contains("trusts the headers of everyone who connects")
                && text.contains("--insecure-auth-proxy-from-anywhere"),
            "{text}"
        );
        let text = given(network, &["--insecure-auth-proxy-from-anywhere"]);
        assert!(text.contains("cannot read the share links") && text.contains("is a large network"), "{text}");
    }
    for (network, is_wide) in [
        ("10.0.0.0/8", true),
        ("10.0.0.0/23", true),
        ("10.0.0.0/24", false),
        ("10.0.0.7", false),
        ("fd00::/63", true),
        ("fd00::/64", false),
        ("fd00::7", false),
    ] {
        let text = given(network, &[]);
        assert!(text.contains("cannot read the share links"), "{text}");
        assert_eq!(text.contains(&format!("--auth-proxy-from {network} is a large network")), is_wide, "{text}");
    }
}

#[test]
fn a_recorded_rollout_is_one_file() {
    let recording = format!("{}/tests/traces/rollover.jsonl", env!("CARGO_MANIFEST_DIR"));
    let made = rollcast(&["export", &recording, "deployment/web", "-n", "rollover", "--revision", "2"]);
    let html = String::from_utf8(made.stdout).unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<title>Rolling out: rollover / web"));
    let redacted = String::from_utf8(rollcast(&["export", &recording, "--redact"]).stdout).unwrap();
    assert!(redacted.contains(" / web — Rollcast</title>") && !redacted.contains("rollover"));
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    command.args(["export", &recording, "--redact"]).env("HOME", "/nonexistent");
    command.env("ROLLCAST_TOKEN_FILE", "/no/such/token").env("ROLLCAST_CLUSTER", "prod");
    let made = command.output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let text = refusal(&["wait", "deployment/a", "deployment/b", "--export", "/tmp/never.html"]);
    assert!(text.contains("--export supports one Deployment only"), "{text}");
}

#[test]
fn every_option_has_a_variable() {
    let command = <server::cli::Cli as clap::CommandFactory>::command();
    for sub in command.get_subcommands() {
        for option in sub.get_arguments().filter(|argument| argument.get_long().is_some()) {
            let variable = option.get_env().map(|name| name.to_string_lossy().into_owned());
            let wanted = format!("ROLLCAST_{}", option.get_id().as_str().to_uppercase().replace("R#", ""));
            // Those name the address and the folder of a server for others.
            let own = [("open", "listen"), ("demo", "data_dir"), ("replay", "data_dir")];
            let is_own = own.contains(&(sub.get_name(), option.get_id().as_str()));
            assert_eq!(variable, (!is_own).then_some(wanted), "{} --{}", sub.get_name(), option.get_id());
        }
    }
}

/// The words of a text that stand in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_key_of_the_configuration_is_documented_and_has_its_option() {
    let document = include_str!("../../../docs/configuration.md");
    let rows = |head: &str| {
        let (_, rows) = document.split_once(head).unwrap();
        rows.lines().skip(2).map_while(|row| row.strip_prefix("| ")?.split_once(" | "))
    };
    // An unknown key is refused with all keys that its section has.
    let keys = |section: &str| -> BTreeSet<String> {
        let refused = format!("{section}\nunknown = 1").parse::<server::cli::config::Config>().unwrap_err();
        quoted(&refused).skip(1).map(str::to_owned).collect()
    };
    let command = <server::cli::Cli as clap::CommandFactory>::command();
    let serve = command.find_subcommand("serve").unwrap();
    let options: BTreeSet<&str> = serve.get_arguments().filter_map(clap::Arg::get_long).collect();
    let (mut of_file, mut of_auth) = (BTreeSet::from(["auth", "cluster"].map(str::to_owned)), BTreeSet::new());
    for (subject, names) in rows("| subject | keys |") {
        let known = if subject.starts_with("`[auth]`") { &mut of_auth } else { &mut of_file };
        for key in quoted(names) {
            let name = match key {
                "namespaces" => "namespace".to_owned(),
                "mode" => "auth".to_owned(),
                key => key.replace('_', "-"),
            };
            let is_its = |option: &&str| match subject.contains("proxy") {
                true => option.contains("auth-") && option.replace("auth-", "") == name,
                false => *option == name,
            };
            assert!(known.insert(key.to_owned()) && options.iter().any(is_its), "{key}");
        }
    }
    let of_cluster: BTreeSet<String> =
        rows("| key of `[[cluster]]` | default |").flat_map(|(key, _)| quoted(key)).map(str::to_owned).collect();
    assert_eq!([of_file, of_auth, of_cluster], ["", "[auth]", "[[cluster]]"].map(keys));
    let named: BTreeSet<&str> = rows("| option | default |").flat_map(|(option, _)| quoted(option)).collect();
    assert_eq!(named.len(), 3);
    assert!(named.iter().all(|option| options.contains(option.trim_start_matches('-'))), "{named:?}");
}

#[test]
fn a_configuration_is_read_from_the_users_own_folder_and_never_from_the_current_one() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own/rollcast");
    std::fs::create_dir_all(&own).unwrap();
    // It names a kubeconfig, whose users may name commands.
    std::fs::write(folder.path().join("rollcast.toml"), "kubeconfig = \"/no/such/planted\"\n").unwrap();
    let check = |variable: Option<&std::path::Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command
            .args(["check", "--no-history"])
            .current_dir(folder.path())
            .env_remove("KUBECONFIG")
            .env("HOME", "/nonexistent");
        let ended =
            command.env("XDG_CONFIG_HOME", variable.unwrap_or(std::path::Path::new("/nonexistent"))).output().unwrap();
        String::from_utf8(ended.stderr).unwrap()
    };
    let said = check(None);
    assert!(said.contains("the rollcast.toml in the current folder is ignored") && !said.contains("planted"), "{said}");
    std::fs::write(own.join("rollcast.toml"), "kubeconfig = \"/no/such/own\"\n").unwrap();
    let said = check(own.parent());
    assert!(said.contains("/no/such/own") && !said.contains("planted"), "{said}");
}

#[test]
fn commands_for_credentials_are_run_of_the_users_own_kubeconfig_and_of_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (home, ran) = (folder.path().join("home"), folder.path().join("ran"));
    let run = format!("touch {}; exit 1", ran.display());
    let exec = serde_json::json!({ "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", run], "interactiveMode": "Never",
    } });
    let config = KUBECONFIG.replace("\"user\":{}", &format!("\"user\":{exec}"));
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let ended = |arguments: &[&str], kubeconfig: Option<&str>| {
        let _ = std::fs::remove_file(&ran); // of the last time
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(arguments).current_dir(folder.path().join("here")).env("HOME", &home).env("ROLLCAST_LOG", "off");
        command
            .env_remove("KUBECONFIG")
            .env_remove("XDG_CONFIG_HOME")
            .envs(kubeconfig.map(|path| ("KUBECONFIG", path)));
        let output = command.output().unwrap();
        (ran.exists(), String::from_utf8(output.stderr).unwrap())
    };
    // Whatever lies in the current folder is nobody's choice.
    for planted in ["kubeconfig", "config", "kubeconfig.yaml", ".kube/config"] {
        put(&format!("here/{planted}"), &config);
    }
    put("here/rollcast.toml", "kubeconfig = \"kubeconfig\"\n");
    put("here/rollcast/rollcast.toml", "kubeconfig = \"kubeconfig\"\n");
    let check = &["check", "--no-history"][..];
    for arguments in [check, &["wait", "web", "--timeout", "1s"], &["trace", "deployment/web"], &["record"]] {
        let (has_run, said) = ended(arguments, None);
        assert!(!has_run && said.contains("no kubeconfig found"), "{arguments:?}: {said}");
    }
    // The user's own, in each of the ways to say so.
    let own = put("own", &config);
    assert!(ended(&["check", "--no-history", "--kubeconfig", &own], None).0);
    assert!(ended(check, Some(&own)).0);
    put("home/.kube/config", &config);
    assert!(ended(check, None).0);
    // Where others reach the program it runs none, unless that is said; its command fails, so it never serves here.
    let allowed = put("allowed.toml", "allow_exec_plugins = true\n");
    let here = "127.0.0.1:0";
    for (listen, others) in [
        (here, &[][..]),
        (here, &["--auth", "token"]),
        (here, &["--auth", "proxy", "--auth-proxy-from", "127.0.0.1"]),
        (here, &["--trust-proxy", "127.0.0.1", "--insecure-no-auth"]),
        (here, &["--public-url", "https://rollouts.example.com", "--insecure-no-auth"]),
        (here, &["--allow-host", "rollouts.example.com", "--insecure-no-auth"]),
        ("0.0.0.0:0", &["--insecure-no-auth"]),
        ("[::]:0", &["--auth", "token"]),
    ] {
        let serve = ["serve", "--no-history", "--kubeconfig", &own, "--listen", listen];
        let served = |more: &[&str]| ended(&[&serve[..], others, more].concat(), None);
        let (has_run, said) = served(&[]);
        assert_eq!(has_run, others.is_empty(), "{listen} {others:?}: {said}");
        assert_eq!(said.contains("none unless it is started with --allow-exec-plugins"), !has_run, "{said}");
        assert!(served(&["--allow-exec-plugins"]).0, "{listen} {others:?}");
        assert!(served(&["--config", &allowed]).0, "{listen} {others:?}");
    }
    // Who asks a server needs no credentials of a cluster.
    let (has_run, said) = ended(&["wait", "web", "--server", "http://127.0.0.1:9", "--timeout", "1s"], Some(&own));
    assert!(!has_run, "{said}");
}

#[test]
fn a_configuration_that_cannot_be_used_is_told_with_its_line() {
    let text = refusal(&["serve", "--config", "/no/such/rollcast.toml"]);
    assert!(text.contains("cannot read /no/such/rollcast.toml"), "{text}");
    let wrong = file("wrong.toml", "listen = \"127.0.0.1:0\"\n\n[[cluster]]\ncolor = \"blue\"\n");
    let text = refusal(&["serve", "--config", &wrong]);
    assert!(text.contains("unknown field `color`") && text.contains("line 4"), "{text}");
    let config = file("unknown.toml", "[[cluster]]\ncontext = \"there\"\n");
    let text = refusal(&["serve", "--config", &config, "--kubeconfig", &file("known", KUBECONFIG)]);
    assert!(text.contains(r#"no context "there"; it has: here"#), "{text}");
    let text = refusal(&["serve", "--all-contexts", "--context", "here"]);
    assert!(text.contains("cannot be used with"), "{text}");
}

#[test]
fn a_missing_kubeconfig_is_named() {
    let text = refusal(&["serve", "--kubeconfig", "/no/such/file"]);
    assert!(text.contains("cannot read the kubeconfig /no/such/file") && text.contains("--kubeconfig"), "{text}");
}

#[test]
fn no_kubeconfig_at_all_says_where_one_is_looked_for() {
    let text = refusal(&["serve"]);
    assert!(text.contains("no kubeconfig found") && text.contains("~/.kube/config"), "{text}");
}

#[test]
fn an_unknown_context_names_the_known_ones() {
    let config = file("context", KUBECONFIG);
    let text = refusal(&["serve", "--kubeconfig", &config, "--context", "there"]);
    assert!(text.contains(r#"no context "there"; it has: here"#), "{text}");
}

#[test]
fn every_context_of_a_kubeconfig_that_has_none_is_no_cluster() {
    let config = file("empty", r#"{"apiVersion":"v1","kind":"Config"}"#);
    for command in ["serve", "check"] {
        let text = refusal(&[command, "--no-history", "--all-contexts", "--kubeconfig", &config]);
        assert!(text.contains("the kubeconfig has no context"), "{command}: {text}");
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
fn a_command_whose_output_nobody_reads_ends_without_a_word() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/kill-pod.jsonl");
    for arguments in [&["report", trace][..], &["completion", "bash"], &[]] {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(arguments).env_remove("KUBECONFIG").env("HOME", "/nonexistent").env("ROLLCAST_LOG", "warn");
        let ended = command.stdout(closed).stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output();
        let ended = ended.unwrap();
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

#[test]
fn two_clusters_that_would_have_one_name_are_not_one() {
    let folder = std::env::temp_dir().join(format!("rollcast-twice-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kubeconfig = |name: &str| {
        let path = folder.join(name);
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: default\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: default, context: {cluster: c, user: u}}]\n";
        std::fs::write(&path, text).unwrap();
        path
    };
    let (one, two) = (kubeconfig("one"), kubeconfig("two"));
    let config = folder.join("rollcast.toml");
    let text = format!("[[cluster]]\nkubeconfig = {one:?}\n[[cluster]]\nkubeconfig = {two:?}\n");
    std::fs::write(&config, text).unwrap();
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_rollcast"))
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("two clusters would be named \"default\""), "{said}");
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
    for signal in ["INT", "TERM"] {
        // The program takes the place of the shell, which is the first process.
        let script = format!("while kill -{signal} 1; do sleep 0.05; done & exec \"$0\" \"$@\"");
        let mut command = Command::new("unshare");
        command.args(container).args(["sh", "-c", &script, env!("CARGO_BIN_EXE_rollcast")]);
        command.args(["wait", "web", "--server", &server, "--timeout", "30s"]).env("HOME", "/nonexistent");
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{signal}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
