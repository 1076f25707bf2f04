//! Options, variables, the configuration file and the kubeconfig: which one counts, and what is said of a wrong one.

use std::collections::BTreeSet;

use crate::cli::{KUBECONFIG, file, program, refusal};

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
        let mut command = program(arguments);
        command.env("ROLLCAST_LOG", "off");
        environment.iter().for_each(|name| {
            command.env(name, if *name == "ROLLCAST_REDACT" { "true" } else { "http://127.0.0.1:9/elsewhere" });
        });
        let ended = command.output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(!text.contains("Usage") && text.contains(says), "{arguments:?}: {text}");
    }
    let token = file("token", "a.token.of-somebody");
    let mut command = program(&["wait", "web", "--server", "http://rollouts.invalid", "--token-file", &token]);
    let text = String::from_utf8(command.env_remove("ROLLCAST_LOG").output().unwrap().stderr).unwrap();
    assert!(text.contains("the token is sent to http://rollouts.invalid without TLS"), "{text}");
    assert!(!text.contains("a.token.of-somebody"), "{text}");
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
    let document = include_str!("../../../../docs/configuration.md");
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
        let mut command = program(&["check", "--no-history"]);
        command.env("XDG_CONFIG_HOME", variable.unwrap_or(std::path::Path::new("/nonexistent")));
        let ended = command.current_dir(folder.path()).env_remove("ROLLCAST_LOG").output().unwrap();
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
        let mut command = program(arguments);
        command.current_dir(folder.path().join("here")).env("HOME", &home).env("ROLLCAST_LOG", "off");
        command.env_remove("XDG_CONFIG_HOME").envs(kubeconfig.map(|path| ("KUBECONFIG", path)));
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
fn false_in_the_environment_overrides_the_file_and_excludes_no_option() {
    let folder = tempfile::tempdir().unwrap();
    let exec = r#""exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"false","interactiveMode":"Never"}"#;
    let kubeconfig = file("switches.yaml", &KUBECONFIG.replace("\"user\":{}", &format!("\"user\":{{{exec}}}")));
    let empty = file("switches-empty.yaml", r#"{"apiVersion":"v1","kind":"Config"}"#);
    let said = |arguments: &[&str], variable: Option<&str>| {
        let mut command = program(arguments);
        command.env("XDG_STATE_HOME", folder.path()).envs(variable.map(|name| (name, "false")));
        let ended = command.output().unwrap();
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {text}");
        text
    };
    // The credential plugin fails, so nothing is ever served.
    let reachable = "listen = \"0.0.0.0:0\"\ninsecure_no_auth = true\n";
    for (command, kubeconfig, keys, switch, says) in [
        ("check", &kubeconfig, "", "no_history", "history: in "),
        ("check", &empty, "", "all_contexts", "it has no current context"),
        ("serve", &kubeconfig, "listen = \"0.0.0.0:0\"\n", "insecure_no_auth", "but sign-in is off"),
        ("serve", &kubeconfig, reachable, "allow_exec_plugins", "unless it is started with --allow-exec-plugins"),
    ] {
        let config = file("switches.toml", &format!("{keys}{switch} = true\n"));
        let arguments = [command, "--kubeconfig", kubeconfig, "--config", &config];
        let variable = format!("ROLLCAST_{}", switch.to_uppercase());
        for variable in [None, Some(variable.as_str())] {
            let text = said(&arguments, variable);
            assert_eq!(text.contains(says), variable.is_some(), "{switch}: {text}");
        }
    }
    let mut unset = program(&["check", "--kubeconfig", &kubeconfig, "--no-history"]);
    let ended = unset.env("ROLLCAST_NAMESPACE", "").output().unwrap();
    let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(text.contains("history: not stored"), "{text}");
    let data = folder.path().join("data").display().to_string();
    for (arguments, variable, says) in [
        (&["check", "--kubeconfig", &kubeconfig, "--data-dir", &data][..], "ROLLCAST_NO_HISTORY", "history: in "),
        (&["check", "--kubeconfig", &kubeconfig, "--context", "here"], "ROLLCAST_ALL_CONTEXTS", "history: in "),
        (&["replay", "/no/such/file", "--hold-at", "1"], "ROLLCAST_LOOP", "cannot read the recording /no/such/file"),
    ] {
        let text = said(arguments, Some(variable));
        assert!(text.contains(says), "{variable}: {text}");
    }
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
fn two_clusters_that_would_have_one_name_are_not_one() {
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: default\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: default, context: {cluster: c, user: u}}]\n";
    let (one, two) = (file("one.yaml", text), file("two.yaml", text));
    let clusters = format!("[[cluster]]\nkubeconfig = {one:?}\n[[cluster]]\nkubeconfig = {two:?}\n");
    let said = refusal(&["serve", "--listen", "127.0.0.1:0", "--config", &file("twice.toml", &clusters)]);
    assert!(said.contains("two clusters would be named \"default\""), "{said}");
}
