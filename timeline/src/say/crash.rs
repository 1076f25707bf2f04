//! Ends of containers in words: crashes, exit codes, and the other containers of the pod.

use super::tense::past;
use crate::assess::CrashCause;
use crate::model::fact::Role;
use crate::model::story::ContainerEnd;
use crate::rules::messages;
use crate::words::{capitalized, list, safe};

/// Most further containers of a crash that are named.
const MOST_CONTAINERS: usize = 3;

/// Says how a container ends: "container web crashes with exit code 1", "container web is killed because its liveness probe
/// fails", "container web ends with exit code 0 (Completed) and is started again".
pub(super) fn crashes(crash: &CrashCause) -> String {
    let who = container_name(crash.role, &crash.container);
    let said = match (crash.exit_code, crash.kill.as_ref().map(|kill| kill.end)) {
        _ if crash.is_final => format!("{who} {} and is not started again", last_end(crash)),
        _ if crash.needs_restart_of_all => {
            format!("{who} {} and is started again only with all others", last_end(crash))
        }
        _ if crash.is_overdue => format!("{who} {} and has not been started again", last_end(crash)),
        _ if crash.is_out_of_memory => format!("{who} runs out of memory"),
        (_, Some(ContainerEnd::Resized)) => format!("{who} is restarted for a resize of its resources"),
        (_, Some(ContainerEnd::Redefined)) => format!("{who} is restarted because the spec of its pod was changed"),
        (_, Some(ContainerEnd::Sandbox)) => format!("{who} is started again in a new sandbox of its pod"),
        (_, Some(end)) if let Some(probe) = end.probe() => format!("{who} is killed because its {probe} fails"),
        (Some(_), _) if let Some(message) = &crash.start_error => {
            let because = messages::last_step(message).rsplit(": ").next().filter(|because| !because.is_empty());
            let because = because.map(|because| format!(": {}", safe(because))).unwrap_or_default();
            format!("{who} cannot be started{because}")
        }
        (Some(0), _) => format!("{who} ends with exit code 0 (Completed) and is started again"),
        (Some(code), _) if crash.is_loop => format!("{who} crashes with {}", exit_words(code)),
        (Some(code), _) => format!("{who} ended with {}", exit_words(code)),
        (None, _) if crash.is_loop => format!("{who} crashes"),
        (None, _) => format!("{who} ended"),
    };
    // What ended and runs again is past, unless it ends again and again.
    if crash.runs_millis.is_some() && !crash.is_loop { past(&said) } else { said }
}

/// Names a container by its role and its name: "init container migrate".
pub(super) fn container_name(role: Role, name: &str) -> String {
    let what = match role {
        Role::Init => "init container",
        Role::Sidecar => "sidecar",
        Role::App => "container",
    };
    format!("{what} {}", safe(name))
}

/// Says how a container ended that does not start again: "ended with exit code 1", "ran out of memory".
fn last_end(crash: &CrashCause) -> String {
    match (crash.exit_code, crash.kill.as_ref().map(|kill| kill.end)) {
        _ if crash.is_out_of_memory => "ran out of memory".to_owned(),
        (_, Some(ContainerEnd::Sandbox)) => "was stopped with the sandbox of its pod".to_owned(),
        (_, Some(end)) if let Some(probe) = end.probe() => format!("was killed because its {probe} failed"),
        (Some(0), _) => "ended with exit code 0 (Completed)".to_owned(),
        (Some(code), _) => format!("ended with {}", exit_words(code)),
        (None, _) => "ended".to_owned(),
    }
}

/// Formats an exit code, with its signal if it has one.
pub(super) fn exit_words(code: i32) -> String {
    let signal = match code {
        134 => " (SIGABRT)",
        137 => " (SIGKILL)",
        139 => " (SIGSEGV)",
        143 => " (SIGTERM)",
        _ => "",
    };
    format!("exit code {code}{signal}")
}

/// Says what one or several containers do beside one that ends: " Container b and container c end again and again too.";
/// empty without any.
pub(super) fn also(containers: &[(Role, String)], [one_does, several_do]: [&str; 2]) -> String {
    let named = containers.iter().take(MOST_CONTAINERS).map(|(role, name)| container_name(*role, name));
    let more = containers.len().checked_sub(MOST_CONTAINERS).filter(|more| *more > 0);
    let names: Vec<String> = named.chain(more.map(|more| format!("{more} more"))).collect();
    let does = if containers.len() == 1 { one_does } else { several_do };
    if names.is_empty() { String::new() } else { format!(" {} {does}.", capitalized(list(&names))) }
}
