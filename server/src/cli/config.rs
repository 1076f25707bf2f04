//! `rollcast.toml`: the clusters to watch and the options of the server. The command line and the environment override
//! the file. Every key is optional; an unknown key is an error.
//!
//! `docs/configuration.md` has an example and all keys; tests read both.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use bytesize::ByteSize;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer};

use crate::access::AuthMode;
use crate::database::address::DatabaseUrl;
use crate::database::private;
use crate::telemetry::clock::parse_duration;
use crate::web::server_address::{BasePath, PublicUrl};

const INVALID_SIZE: &str = "must be a size, such as 500MB or 2GB";
/// Name of the file, if none is given.
const NAME: &str = "rollcast.toml";

/// Content of `rollcast.toml`: the options of these names.
#[allow(missing_docs, reason = "the options have the help")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    #[serde(deserialize_with = "read_address")]
    pub listen: Option<SocketAddr>,
    pub allow_host: Vec<String>,
    #[serde(deserialize_with = "read_parsed")]
    pub public_url: Option<PublicUrl>,
    #[serde(deserialize_with = "read_parsed")]
    pub base_path: Option<BasePath>,
    #[serde(deserialize_with = "read_networks")]
    pub trust_proxy: Vec<IpNet>,
    pub public_pictures: bool,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub kubeconfig: Option<PathBuf>,
    #[serde(deserialize_with = "read_namespaces")]
    pub namespaces: Vec<String>,
    pub all_contexts: bool,
    pub hide_messages: bool,
    pub data_dir: Option<PathBuf>,
    pub history: Option<DatabaseUrl>,
    pub history_password_file: Option<PathBuf>,
    pub no_history: bool,
    #[serde(deserialize_with = "read_duration")]
    pub keep_for: Option<Duration>,
    #[serde(deserialize_with = "read_size")]
    pub keep_bytes: Option<ByteSize>,
    #[serde(deserialize_with = "read_duration")]
    pub history_age: Option<Duration>,
    pub history_pods: Option<usize>,
    pub history_rollouts: Option<usize>,
    pub insecure_no_auth: bool,
    pub allow_exec_plugins: bool,
    pub auth: Auth,
    #[serde(rename = "cluster")]
    pub clusters: Vec<Cluster>,
}

/// The `[auth]` section of the file.
#[allow(missing_docs, reason = "the options have the help")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    pub mode: Option<AuthMode>,
    #[serde(deserialize_with = "read_networks")]
    pub proxy_from: Vec<IpNet>,
    pub insecure_proxy_from_anywhere: bool,
    pub user_header: Option<String>,
    pub groups_header: Option<String>,
    pub user_prefix: Option<String>,
    pub groups_prefix: Option<String>,
    pub session_keys: Option<PathBuf>,
    pub shares: Option<PathBuf>,
    pub audit_log: Option<PathBuf>,
    pub oidc_issuer: Option<String>,
    pub oidc_client_id: Option<String>,
    pub oidc_client_secret_file: Option<PathBuf>,
    pub oidc_scopes: Option<Vec<String>>,
    pub oidc_user_claim: Option<String>,
    pub oidc_groups_claim: Option<String>,
}

/// A cluster in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// Context of the kubeconfig; without it, the current one.
    pub context: Option<String>,
    /// Name in pages and addresses.
    pub name: Option<String>,
    /// Accent of its name on pages, by its number; 0 for none.
    #[serde(deserialize_with = "read_colour")]
    pub colour: u8,
    /// Kubeconfig file of this cluster.
    pub kubeconfig: Option<PathBuf>,
    /// Namespaces to watch.
    #[serde(deserialize_with = "read_namespaces")]
    pub namespaces: Vec<String>,
}

/// Accents of clusters. Style sheets refer to each by its index.
const COLOURS: [&str; 9] = ["none", "blue", "amber", "pink", "green", "violet", "red", "teal", "grey"];

impl Config {
    /// Reads the named file, or the user's own if it exists. Ignores a file in the current folder: a folder may come
    /// from anybody, and the file names kubeconfigs, which name commands.
    ///
    /// # Errors
    /// When the named file does not exist, a file cannot be used, or every user can read a password in it.
    pub fn read(named: Option<&Path>) -> anyhow::Result<Self> {
        if named.is_none() && Path::new(NAME).exists() {
            tracing::warn!("the {NAME} in the current folder is ignored; use --config {NAME} to read it");
        }
        let own = dirs::config_dir().map(|folder| folder.join("rollcast").join(NAME));
        let Some(path) = named.map(Path::to_owned).or(own) else { return Ok(Self::default()) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(why) if named.is_none() && why.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(why) => return Err(why).with_context(|| format!("cannot read {}", path.display())),
        };
        let config: Self =
            text.parse().map_err(|why: String| anyhow::anyhow!("{} is invalid: {why}", path.display()))?;
        if config.history.as_ref().is_some_and(DatabaseUrl::has_password) {
            private::check(&path)?;
        }
        Ok(config)
    }
}

impl std::str::FromStr for Config {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let config: Self = toml::from_str(text).map_err(|error| describe(text, &error))?;
        let mut names = BTreeSet::new();
        for name in config.clusters.iter().filter_map(|cluster| cluster.name.as_ref().or(cluster.context.as_ref())) {
            if name.is_empty() {
                return Err("the name of a cluster is empty".to_owned());
            }
            if !names.insert(name) {
                return Err(format!("two clusters are named {name:?}; give one of them another name"));
            }
        }
        Ok(config)
    }
}

/// Describes an error with its line. Neither the line nor a value is repeated: it may hold a password.
fn describe(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let why = match error.message().split_once("string \"") {
        Some((before, quoted)) => {
            let after = quoted.rsplit_once('"').map_or("", |(_, after)| after);
            format!("{before}string{after}")
        }
        None => error.message().to_owned(),
    };
    format!("{place}{}", why.trim_end())
}

pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:7440 or [::]:7440".to_owned())
}

pub(super) fn parse_network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "must be an IP address such as 10.0.0.7, or a network such as 10.0.0.0/8".to_owned())
}

/// Parses a namespace or the URL of a server. A request with an empty namespace would be one for all namespaces.
pub(super) fn parse_nonempty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

pub(super) fn parse_size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_: String| INVALID_SIZE.to_owned())
}

fn read_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

fn read_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_address(&text).map(Some).map_err(serde::de::Error::custom)
}

fn read_networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| parse_network(text)).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

fn read_namespaces<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| parse_nonempty(text)).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

fn read_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ByteSize>, D::Error> {
    ByteSize::deserialize(deserializer).map(Some).map_err(|_| serde::de::Error::custom(INVALID_SIZE))
}

fn read_colour<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let name = String::deserialize(deserializer)?;
    let accent = (0..).zip(COLOURS).find(|(_, colour)| *colour == name).map(|(accent, _)| accent);
    accent.ok_or_else(|| serde::de::Error::unknown_variant(&name, &COLOURS))
}

fn read_parsed<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_documents_is_read() {
        let document = include_str!("../../../docs/configuration.md");
        let example = document.split("```toml").nth(1).unwrap().split("```").next().unwrap();
        let first =
            "public_url = 'https://rollouts.example.com'\nhistory_age = '24h'\ndata_dir = '/var/lib/rollcast'\n";
        let last = "[auth]\nmode = 'proxy'\nproxy_from = ['10.0.0.7']\n";
        let config: Config = format!("{first}{example}{last}").parse().unwrap();
        assert_eq!(config.clusters.len(), 2);
        assert_eq!(config.clusters[0].colour, 1, "blue");
        assert_eq!(config.clusters[1].namespaces, ["shop"]);
        assert_eq!(config.history_age, Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            ("listne = 1", "unknown field `listne`"),
            ("listen = \"here\"", "line 1"),
            ("history_age = \"10\"", "whole number with a unit"),
            ("listen = \"localhost\"", "line 1: must be an IP address and a port"),
            ("trust_proxy = [\"10.0.0.7\", \"here\"]", "line 1: must be an IP address such as 10.0.0.7"),
            ("keep_bytes = \"much\"", "line 1: must be a size, such as 500MB"),
            ("[[cluster]]\ncolour = \"mauve\"", "unknown variant `mauve`"),
            ("[[cluster]]\nname = \"a\"\n[[cluster]]\ncontext = \"a\"", "two clusters are named \"a\""),
            ("[[cluster]]\nname = \"\"", "is empty"),
            ("namespaces = [\"shop\", \"\"]", "line 1: must not be empty"),
            ("[[cluster]]\nnamespaces = [\"\"]", "must not be empty"),
            // Lines and values are not repeated: they may hold a password.
            ("no_history = true\nhistory = \"postgres://me:SECRET\\z@db/x\"", "line 2: "),
            ("history = postgres://me:SECRET@db/x", "line 1: "),
            ("no_history = \"postgres://me:SECRET@db/x\"", "line 1: invalid type: string, expected a boolean"),
        ] {
            let error = text.parse::<Config>().unwrap_err();
            assert!(error.contains(says) && !error.contains("SECRET"), "{text}: {error}");
        }
    }
}
