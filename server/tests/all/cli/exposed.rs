//! Who else may reach the server: it starts for nobody else unless they sign in, or somebody says that they need not.

use std::sync::LazyLock;

use crate::cli::{KUBECONFIG, file, refusal};

/// Watches the cluster of a kubeconfig and stores nothing.
static SERVE: LazyLock<[&str; 4]> = LazyLock::new(|| {
    let kubeconfig: &str = file("exposed.yaml", KUBECONFIG).leak();
    ["serve", "--no-history", "--kubeconfig", kubeconfig]
});

#[test]
fn the_playground_listens_on_loopback_only() {
    let text = refusal(&["demo", "--listen", "0.0.0.0:0"]);
    assert!(text.contains("the playground listens on loopback only"), "{text}");
}

#[test]
fn a_provider_is_named_whole_and_can_be_trusted() {
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
        let text = refusal(&[&SERVE[..], &["--listen", "127.0.0.1:0", "--auth", "oidc"], &more.concat()].concat());
        assert!(text.contains(says), "{more:?}: {text}");
    }
}

#[test]
fn beyond_loopback_people_sign_in_or_somebody_says_that_they_need_not() {
    let recording = format!("{}/tests/traces/rollover.jsonl", env!("CARGO_MANIFEST_DIR"));
    let replay = &["replay", &recording][..];
    for (command, reachable) in [
        (replay, &["--listen", "0.0.0.0:0"][..]),
        (&SERVE[..], &["--listen", "0.0.0.0:0"]),
        (&SERVE[..], &["--listen", "[::]:0", "--auth", "none"]),
    ] {
        let text = refusal(&[command, reachable].concat());
        assert!(text.contains("can be reached from other machines, but sign-in is off"), "{text}");
        assert!(text.contains("--insecure-no-auth"), "{text}");
    }
    // Something in front passes on what others ask.
    for command in [replay, &SERVE[..], &[&SERVE[..], &["--auth", "none"]].concat(), &["demo"]] {
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
    let serve = |more: &[&str]| refusal(&[&SERVE[..], &["--listen", "127.0.0.1:0"], more].concat());
    let text = serve(&["--auth", "proxy"]);
    assert!(text.contains("--auth-proxy-from"), "{text}");
    let keys = file("keys", "too short\n");
    let text = serve(&["--auth", "token", "--session-keys", &keys]);
    assert!(
        text.contains("line 1 of the file of session keys is too short") && !text.contains("too short\""),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn secrets_that_everybody_can_read_are_refused_where_others_reach_the_server() {
    use std::os::unix::fs::PermissionsExt;

    let secret = file("open", "too short\n");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
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
            let text = refusal(&[&SERVE[..], &["--listen"], others, &given].concat());
            assert!(text.contains(&says) && !text.contains(of_loopback), "{given:?}: {text}");
        }
        // Nobody but who sits there reaches it: it is a warning, and what is wrong besides is said.
        let text = refusal(&[&SERVE[..], &["--listen", "127.0.0.1:0"], &given].concat());
        assert!(text.contains(&says) && text.contains("WARN") && text.contains(of_loopback), "{given:?}: {text}");
    }
}

#[test]
fn a_network_that_is_everybody_is_no_proxy() {
    // Every start ends at the file of links, which is none.
    let links = file("links", "no links");
    let given = |network: &str, more: &[&str]| {
        let proxy = ["--listen", "127.0.0.1:0", "--shares", &links, "--auth", "proxy", "--auth-proxy-from", network];
        refusal(&[&SERVE[..], &proxy, more].concat())
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
