//! Secrets are planted in every option, variable and key of the configuration file that can hold one, right ones and wrong ones: no message
//! of a command, page, frame or log repeats them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::until::until;
use crate::live::program::{Traced, config_of, get};
use crate::live::secrets::{PLANTED, found, streamed};
use crate::live::support::shop;

/// The variable of `--history-password-file`.
const PASSWORD_FILE: &str = "ROLLCAST_HISTORY_PASSWORD_FILE";

/// What people write as the address of a database, and what goes wrong with it.
fn databases() -> Vec<String> {
    [
        "postgres://rollcast:P@127.0.0.1:543x/rollcast",
        "postgres://rollcast:P@127.0.0.1:1/rollcast?sslmode=verify-full",
        "postgres://rollcast:P@127.0.0.1:1/rollcast?colour=blue",
        // The password would end at the first @.
        "postgres://rollcast:pa@P@127.0.0.1:1/rollcast",
        "postgres://rollcast:pa@127.0.0.1:1/P@db/rollcast",
        "postgres://rollcast:pa@127.0.0.1:1/rollcast?P@db",
        "postgres://rollcast:%zzP@127.0.0.1:1/rollcast",
        "postgres://rollcast:P\\q@127.0.0.1:543x/rollcast",
        "mysql://rollcast:P@127.0.0.1:1/rollcast",
        "rollcast:P@127.0.0.1:1",
        // Nothing is wrong with this one, but nobody answers there.
        "postgres://rollcast:P@127.0.0.1:1/rollcast",
        // The host would end before the @, and the password be taken for a database or a parameter.
        "postgres://rollcast:/P@127.0.0.1:1/rollcast",
        "postgres://rollcast:7/P@127.0.0.1:1/rollcast",
        "postgres://rollcast:7?P@127.0.0.1:1/rollcast",
        "postgres://rollcast:7#P@127.0.0.1:1/rollcast",
    ]
    .map(|text| text.replace('P', PLANTED))
    .to_vec()
}

/// What a command says, all of it; it fails.
fn refused(arguments: &[&str], variable: Option<(&str, &str)>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    let ended = command.args(arguments).envs(variable).env("ROLLCAST_LOG", "trace").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && !said.is_empty(), "{arguments:?} {variable:?}: {said}");
    assert_eq!(found(&said), None, "{arguments:?} {variable:?}: {said}");
    said
}

/// Writes a file that its owner alone can read.
fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn the_password_of_a_database_is_in_no_message_however_it_is_given_and_whatever_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "kubeconfig", &config_of("http://127.0.0.1:1", "shop").to_string());
    let check = ["check", "--kubeconfig", &config];
    for url in databases() {
        for command in [&check[..], &["history", "check"]] {
            refused(&[command, &["--history", &url]].concat(), None);
            refused(command, Some(("ROLLCAST_HISTORY", &url)));
        }
        for text in [
            format!("history = \"{url}\"\n"), // a backslash begins an escape here
            format!("history = '{url}'\n"),
            format!("history = {url}\n"),
            format!("history = ['{url}']\n"),
            format!("no_history = '{url}'\n"),
            format!("data_dir = 1\nhistory = '{url}\n"),
        ] {
            let file = written(folder.path(), "rollcast.toml", &text);
            refused(&[&check[..], &["--config", &file]].concat(), None);
        }
        // Somebody forgot the option before it.
        refused(&[&check[..], &[&url]].concat(), None);
    }
    let at = "it has more than one @: write an @ in the password as %40";
    let said = refused(&[&check[..], &["--history", "postgres://me:pa@ss@host/db"]].concat(), None);
    assert!(said.contains(at), "{said}");
    let (bare, with) = ("postgres://rollcast@127.0.0.1:1/rollcast", &*databases()[10]);
    let password = written(folder.path(), "password", &format!("{PLANTED}\n"));
    let empty = written(folder.path(), "empty", "\n");
    let open = |mode| std::fs::set_permissions(&password, std::fs::Permissions::from_mode(mode)).unwrap();
    for (mode, url, file, says) in [
        (0o604, bare, password.as_str(), "every user of this machine can read or write"),
        (0o600, bare, &password, "PostgreSQL at 127.0.0.1:1/rollcast"), // nobody answers there
        (0o600, with, &password, "remove one of them"),
        (0o600, bare, &empty, "it is empty"),
        (0o600, bare, PLANTED, "cannot read --history-password-file"), // somebody took it for the password
        (0o600, "", &password, "--history-password-file requires --history"),
    ] {
        open(mode);
        let given = ["--history", url, "--history-password-file", file];
        let given = if url.is_empty() { &given[2..] } else { &given[..] };
        for command in [&check[..], &["history", "check"]] {
            let said = refused(&[command, given].concat(), None);
            assert!(said.contains(says), "{says}: {said}");
            let said = refused(&[command, &given[..given.len() - 2]].concat(), Some((PASSWORD_FILE, file)));
            assert!(said.contains(says), "{says}: {said}");
        }
        let text = if url.is_empty() { String::new() } else { format!("history = '{url}'\n") };
        let config = written(folder.path(), "rollcast.toml", &format!("{text}history_password_file = '{file}'\n"));
        let said = refused(&[&check[..], &["--config", &config]].concat(), None);
        assert!(said.contains(says), "{says}: {said}");
    }
    let file = written(folder.path(), "rollcast.toml", "\n\nhistory = postgres://me@host/db\n");
    let said = refused(&[&check[..], &["--config", &file]].concat(), None);
    assert!(said.contains("line 3: "), "{said}");
    let exposed = "every user of this machine can read or write";
    for (url, mode, is_exposed) in [(with, 0o644, true), (with, 0o640, false), (bare, 0o644, false)] {
        let file = written(folder.path(), "rollcast.toml", &format!("history = '{url}'\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let said = refused(&[&check[..], &["--config", &file]].concat(), None);
        assert_eq!(said.contains(exposed), is_exposed, "{mode:o}: {said}");
    }
}

#[test]
fn passwords_in_other_addresses_and_secrets_in_files_are_in_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "kubeconfig", &config_of("http://127.0.0.1:1", "shop").to_string());
    let serve = ["serve", "--no-history", "--kubeconfig", &config, "--listen", "127.0.0.1:0"];
    for url in ["http://ann:P@127.0.0.1:1", "https://ann:P@id.example.com", "ftp://ann:P@host"] {
        let url = &url.replace('P', PLANTED);
        for (option, variable) in [("--oidc-issuer", "ROLLCAST_OIDC_ISSUER"), ("--public-url", "ROLLCAST_PUBLIC_URL")] {
            let oidc = ["--auth", "oidc", "--oidc-client-id", "rollcast"];
            refused(&[&serve[..], &oidc, &[option, url]].concat(), None);
            refused(&[&serve[..], &oidc].concat(), Some((variable, url)));
        }
        for text in [
            format!("public_url = '{url}'\n"),
            format!("listen = '{url}'\n"),
            format!("[auth]\nmode = 'oidc'\noidc_client_id = 'rollcast'\noidc_issuer = '{url}'\n"),
            format!("[auth]\nproxy_from = ['{url}']\n"),
        ] {
            let file = written(folder.path(), "rollcast.toml", &text);
            refused(&[&serve[..], &["--config", &file]].concat(), None);
        }
        for command in [
            &["wait", "web", "--namespace", "shop", "--cluster", "c", "--timeout", "1s"][..],
            &["trace", "web", "--namespace", "shop", "--cluster", "c"],
            &["share", "ls"],
            &["export", "deployment/web"],
        ] {
            refused(&[command, &["--server", url]].concat(), None);
            refused(command, Some(("ROLLCAST_SERVER", url)));
        }
    }
    let (short, empty) = (&PLANTED[..10], format!("{PLANTED}\n{PLANTED}\n"));
    for text in [short, &empty] {
        let file = written(folder.path(), "secret", text);
        refused(&[&serve[..], &["--auth", "token", "--session-keys", &file]].concat(), None);
        refused(&[&serve[..], &["--tls-cert", &file, "--tls-key", &file]].concat(), None);
        refused(&["share", "ls", "--server", "http://127.0.0.1:1", "--token-file", &file], None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_answer_is_told_without_its_password() {
    let api = shop().await;
    let folder = tempfile::tempdir().unwrap();
    let config =
        written(folder.path(), "kubeconfig", &config_of(&format!("http://{}", api.address), "shop").to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    command
        .args(["serve", "--kubeconfig", &config, "--listen", "127.0.0.1:0"])
        .env("ROLLCAST_HISTORY", format!("postgres://rollcast:{PLANTED}@127.0.0.1:1/rollcast"));
    let serving = Traced::start(&mut command);
    let address = serving.address.clone();
    until("it says that history is not written", async || {
        get(&address, "/history").await.contains("History has not been written")
    })
    .await;
    let mut said = streamed(&address, "shop").await;
    for path in ["/", "/history", "/api/v1/rollouts", "/metrics", "/readyz"] {
        said.push_str(&get(&address, path).await);
    }
    said.push_str(&serving.end());
    assert!(said.contains("Cannot read the history: PostgreSQL at 127.0.0.1:1/rollcast"), "what is wrong is said");
    assert_eq!(found(&said), None);
}
