//! Credentials from a command in the kubeconfig (client-go's "exec plugin"). This module runs it instead of kube, which runs it
//! three times for one client, waits for it without a limit and never runs it again for a certificate or a token without an
//! expiry.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use kube::config::{ExecConfig, ExecInteractiveMode};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::json;
use timeline::Millis;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use super::pace::Pace;

/// Largest output of a command that is read, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

#[derive(Deserialize)]
struct Answer {
    status: Option<Credential>,
}

/// A token, a certificate with its key, or both, as a command returns them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Credential {
    expiration_timestamp: Option<String>,
    pub token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Credential {
    /// Returns the expiry by this machine's clock; `None` if the plugin reports none.
    pub(super) fn expires_at_millis(&self) -> Option<Millis> {
        let ends: jiff::Timestamp = self.expiration_timestamp.as_ref()?.parse().ok()?;
        Some(ends.as_millisecond())
    }

    /// Returns certificate and key, PEM.
    pub(super) fn certificate(&self) -> Option<(&String, &String)> {
        self.client_certificate_data.as_ref().zip(self.client_key_data.as_ref())
    }
}

/// Why a command returned no credentials.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("its credential plugin (exec) names no command")]
    Missing,
    #[error(
        "its kubeconfig uses a credential plugin (exec), and a server that others can reach runs none unless it is started with --allow-exec-plugins; a token or certificate of a service account needs no plugin"
    )]
    Refused,
    #[error("cannot start the credential plugin {command}: {why}")]
    Start { command: String, why: std::io::Error },
    #[error("the credential plugin {command} failed ({status}); run it by hand to see why")]
    Failed { command: String, status: ExitStatus },
    /// It did not end in time and was killed.
    #[error("the credential plugin {command} did not finish within {} s", limit.as_secs_f64())]
    Late { command: String, limit: Duration },
    #[error("the credential plugin {command} returned no credentials")]
    Empty { command: String },
}

/// The process group of a command, which is killed if this is dropped before the command has ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL); // it may have just ended
        }
    }
}

/// Runs the command, which prompts only if `may_ask`.
pub(super) async fn run(exec: &ExecConfig, may_ask: bool, pace: &Pace) -> Result<Credential, PluginError> {
    let name = exec.command.clone().ok_or(PluginError::Missing)?;
    let asks = may_ask && exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let limit = if asks { pace.credentials_interactive } else { pace.credentials };
    let start = |why| PluginError::Start { command: name.clone(), why };
    let mut child = command(exec, &name, asks).spawn().map_err(start)?;
    // A command that prompts stays in this process group; otherwise it could not read from the terminal.
    let id = child.id().filter(|_| !asks).and_then(|id| i32::try_from(id).ok());
    let mut group = Group(id.and_then(Pid::from_raw));
    let ended = tokio::time::timeout(limit, answer(&mut child)).await;
    let (status, answered) = ended.map_err(|_| PluginError::Late { command: name.clone(), limit })?.map_err(start)?;
    group.0 = None;
    if !status.success() {
        return Err(PluginError::Failed { command: name, status });
    }
    read(&answered).ok_or(PluginError::Empty { command: name })
}

/// Returns the credentials in a command's output; `None` if there are none.
fn read(answered: &[u8]) -> Option<Credential> {
    // Most commands return JSON, some YAML, of which JSON is a subset. The error would quote the token.
    let status = serde_saphyr::from_slice::<Answer>(answered).ok()?.status?;
    (status.token.is_some() || status.certificate().is_some()).then_some(status)
}

fn command(exec: &ExecConfig, name: &str, asks: bool) -> Command {
    let mut command = Command::new(name);
    command.args(exec.args.iter().flatten());
    let pairs = exec.env.iter().flatten().filter_map(|pair| pair.get("name").zip(pair.get("value")));
    command.envs(pairs);
    let cluster = exec.provide_cluster_info.then_some(&exec.cluster);
    let info = json!({
        "apiVersion": exec.api_version,
        "kind": "ExecCredential",
        "spec": { "interactive": asks, "cluster": cluster },
    });
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).kill_on_drop(true);
    if asks {
        command.stdin(Stdio::inherit()).stderr(Stdio::inherit());
    } else {
        // Its error output may contain secrets: it is neither shown nor stored.
        command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    }
    command
}

async fn answer(child: &mut Child) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let stdout = child.stdout.take();
    let read = async {
        let mut answered = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MAX_ANSWER).read_to_end(&mut answered).await?;
        }
        std::io::Result::Ok(answered)
    };
    tokio::try_join!(child.wait(), read)
}

#[cfg(test)]
#[path = "../../tests/all/common/damage.rs"]
mod damage;

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::damage::damaged;
    use super::*;

    #[test]
    fn damaged_answers_of_commands_are_read_or_none() {
        let json = br#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"secret","expirationTimestamp":"2026-11-24T12:00:00Z","clientCertificateData":"a","clientKeyData":"b"}}"#;
        let yaml = b"kind: ExecCredential\nstatus:\n  token: secret\n  expirationTimestamp: 2026-11-24T12:00:00Z\n";
        for whole in [&json[..], yaml] {
            let found = read(whole).unwrap();
            assert_eq!((found.token.as_deref(), found.expires_at_millis()), (Some("secret"), Some(1_795_521_600_000)));
            let all = (0..3_000).map(|seed| read(&damaged(whole, &mut Rng::with_seed(seed))));
            let (taken, refused): (Vec<_>, Vec<_>) = all.partition(Option::is_some);
            assert!(taken.len() > 100 && refused.len() > 100, "{} {}", taken.len(), refused.len());
            assert!(taken.iter().flatten().all(|found| found.token.is_some() || found.certificate().is_some()));
        }
    }
}
