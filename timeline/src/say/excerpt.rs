//! The decisive part of messages that say it at length, safe or about to be made so.

use crate::model::{Deployment, Pod};
use crate::rules::messages;
use crate::words::safe;

/// The error in an Event about a resize, whose message is JSON: `cannot decrease memory limits` of `Pod resize error: {"containers":[…],
/// "generation":2,"error":"cannot decrease memory limits"}`; `None` of one that has none, or was cut before its end.
pub(super) fn resize_error(reason: &str, message: &str) -> Option<String> {
    let (_, error) = message.split_once(",\"error\":\"").filter(|_| reason.starts_with("Resize"))?;
    Some(error.strip_suffix("\"}")?.replace("\\\"", "\""))
}

/// The decisive part of what the kubelet says of a pod that does not start: `MountVolume.SetUp failed for volume "c" : configmap
/// "files" not found` without what comes before the cause.
pub(super) fn start_words(reason: &str, message: &str) -> String {
    let decisive = match reason {
        "FailedMount" => {
            let cause = message.split_once(" : ").map_or(message, |(_, cause)| cause);
            // What the program said that mounts, not how it was called.
            let output = cause.split_once("Output: ").map(|(_, output)| output.trim());
            output.filter(|output| !output.is_empty()).unwrap_or(cause)
        }
        "FailedCreatePodSandBox" => sandbox_cause(message),
        _ => message,
    };
    safe(decisive)
}

/// Why its kubelet cannot end a pod: `plugin type="calico" failed (delete): Unauthorized` of `error killing pod: failed to
/// "KillPodSandbox" … desc = failed to destroy network for sandbox \"d2…\": plugin …`.
pub(super) fn kill_error(deployment: &Deployment, pod: &Pod) -> Option<String> {
    // Events count whole seconds; of a pod that has ended, what failed before does not hold it.
    let since = pod.since_millis() - messages::EARLY_MILLIS;
    let mut events = messages::events(deployment, "Pod", &pod.name).filter(|_| pod.now.terminal_millis.is_none());
    let event = events.find(|event| event.reason == "FailedKillPod" && event.at_millis >= since)?;
    let message = messages::text(event).replace("\\\"", "\"");
    Some(sandbox_cause(message.trim_end_matches('"')).to_owned())
}

/// The text after the sandbox's ID of 64 digits, as containerd and CRI-O write it: `failed to setup network for sandbox "d2…": plugin
/// type="bridge" failed (add)`, `unable to get OCI runtime for sandbox "d2…": no runtime for "kata" is configured`.
fn sandbox_cause(message: &str) -> &str {
    let message = message.rsplit_once(" desc = ").map_or(message, |(_, cause)| cause);
    let after = message.split_once(" sandbox \"").and_then(|(_, rest)| rest.split_once("\": "));
    after.map_or(message, |(_, cause)| cause)
}

/// What a refusal says that decides, so that it is not cut off: without the name of the pod, and of Pod Security without its advice
/// (`allowPrivilegeEscalation != false (container "web" must set …)`).
pub(super) fn refusal(message: &str) -> String {
    let of_pod = message.starts_with("pods \"").then(|| message.split_once("\" is forbidden: ")).flatten();
    let message = of_pod.map_or(message, |(_, why)| why);
    // Kyverno's.
    let message = message.split_once("was blocked due to the following policies").map_or(message, |(_, why)| why);
    if !message.starts_with("violates PodSecurity") {
        return message.trim().to_owned();
    }
    let mut parts = message.split('(');
    let first = parts.next().unwrap_or_default();
    let later = parts.map(|part| part.split_once(')').map_or("", |(_, rest)| rest));
    std::iter::once(first).chain(later).map(str::trim_end).collect()
}

/// A quota that refuses, as far as a message tells it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quota {
    /// Its name.
    pub(super) name: String,
    /// Nothing is left of what was asked for.
    pub(super) is_used_up: bool,
    /// "3 of 3 pods"; where some is left "limits.memory: 4Gi asked for, 6Gi of 8Gi used".
    pub(super) parts: Vec<String>,
}

/// The quota of a message: "… exceeded quota: q, requested: limits.cpu=2,pods=1, used: limits.cpu=7,pods=3, limited:
/// limits.cpu=8,pods=3".
pub(super) fn quota(message: &str) -> Option<Quota> {
    let (_, quota) = message.split_once("exceeded quota: ")?;
    let amounts = |key: &str| -> Vec<(&str, &str)> {
        let list = quota.split(", ").find_map(|part| part.strip_prefix(key)).unwrap_or_default();
        list.split(',').filter_map(|amount| amount.split_once('=')).collect()
    };
    let [requested, used, limited] = ["requested: ", "used: ", "limited: "].map(amounts);
    let of = |amounts: &[(&str, &str)], what: &str| {
        amounts.iter().find(|(of, _)| *of == what).map(|(_, amount)| safe(amount))
    };
    let known = limited
        .iter()
        .filter_map(|(what, limit)| Some((safe(what), of(&used, what)?, safe(limit), of(&requested, what))));
    let known: Vec<_> = known.collect();
    let parts = known.iter().map(|(what, used, limit, more)| match more.as_ref().filter(|_| used != limit) {
        Some(more) => format!("{what}: {more} asked for, {used} of {limit} used"),
        None => format!("{used} of {limit} {what}"),
    });
    let is_used_up = known.iter().all(|(_, used, limit, _)| used == limit);
    Some(Quota { name: safe(quota.split(',').next().unwrap_or_default()), is_used_up, parts: parts.collect() })
}

/// The decisive part of "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: …".
pub(super) fn scheduler_says(message: &str) -> &str {
    let Some((_, reasons)) = message.split_once(" nodes are available: ") else { return message };
    reasons.split_once(". ").map_or(reasons, |(decisive, _)| decisive)
}

/// "containers with unready status: [nginx proxy]" as " (containers nginx, proxy)", without those that are not meant.
pub(super) fn named_containers(message: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let inside = messages::unready_containers(message).unwrap_or_default();
    let names: Vec<&str> = inside.split(' ').filter(|name| !name.is_empty() && is_meant(name)).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(" (container {})", safe(&names.concat())),
        _ => format!(" (containers {})", safe(&names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_sandbox_that_fails_the_cause_is_told_and_not_its_id() {
        let words = |message: &str| start_words("FailedCreatePodSandBox", message);
        let begin = "(combined from similar events): Failed to create pod sandbox: rpc error: code = Unknown desc = ";
        let runtime = "unable to get OCI runtime for sandbox \"d2ab\": no runtime for \"kata\" is configured";
        assert_eq!(words(&format!("{begin}{runtime}")), "no runtime for \"kata\" is configured");
        let network =
            "failed to setup network for sandbox \"d2ab\": plugin type=\"bridge\" failed (add): no IP addresses";
        assert_eq!(words(&format!("{begin}{network}")), "plugin type=\"bridge\" failed (add): no IP addresses");
        assert_eq!(words("of another kubelet"), "of another kubelet");
    }

    #[test]
    fn of_a_refusal_what_decides_is_told() {
        let restricted = "pods \"web-5d\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false \
                          (container \"web\" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities \
                          (container \"web\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or \
                          container \"web\" must set securityContext.runAsNonRoot=true)";
        let said = "violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false, unrestricted capabilities, \
                    runAsNonRoot != true";
        assert_eq!(refusal(restricted), said);
        let kyverno = "admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/shop/ was blocked due to \
                       the following policies \n\nrequire-requests-limits:\n  validate-resources: 'a limit is missing'";
        assert_eq!(refusal(kyverno), "require-requests-limits:\n  validate-resources: 'a limit is missing'");
        let cut = restricted.split_once(", runAsNonRoot").unwrap_or_default().0.trim_end_matches(')');
        assert_eq!(refusal(cut), said.trim_end_matches(", runAsNonRoot != true"));
        for whole in
            ["error looking up service account", "denied the request: registry docker.io is forbidden: use another"]
        {
            assert_eq!(refusal(whole), whole);
        }
        let nfs = "MountVolume.SetUp failed for volume \"data\" : mount failed: exit status 32 Mounting command: mount Mounting \
                   arguments: -t nfs 10.0.0.1:/x /y Output: mount.nfs: access denied by server while mounting 10.0.0.1:/x";
        let denied = "mount.nfs: access denied by server while mounting 10.0.0.1:/x";
        assert_eq!(start_words("FailedMount", nfs), denied);
        let killed = "mount failed: signal: killed Output: ";
        assert_eq!(start_words("FailedMount", &format!("x : {killed}")), killed);
    }

    #[test]
    fn a_quota_is_named_with_how_much_of_it_is_used() {
        let quota = |rest: &str| quota(&format!("pods \"a\" is forbidden: exceeded quota: {rest}"));
        let said = |is_used_up, parts: &[&str]| {
            Some(Quota {
                name: "q".to_owned(),
                is_used_up,
                parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            })
        };
        assert_eq!(quota("q, requested: pods=1, used: pods=3, limited: pods=3"), said(true, &["3 of 3 pods"]));
        let memory = "requested: limits.memory=4Gi, used: limits.memory=6Gi, limited: limits.memory=8Gi";
        assert_eq!(quota(&format!("q, {memory}")), said(false, &["limits.memory: 4Gi asked for, 6Gi of 8Gi used"]));
        let over = "requested: pods=1,cpu=500m, used: pods=5,cpu=3900m, limited: pods=4,cpu=4";
        let parts = ["pods: 1 asked for, 5 of 4 used", "cpu: 500m asked for, 3900m of 4 used"];
        assert_eq!(quota(&format!("q, {over}")), said(false, &parts));
        let both = "requested: cpu=2,memory=4Gi, used: cpu=8,memory=14Gi, limited: cpu=8,memory=16Gi";
        let parts = ["8 of 8 cpu", "memory: 4Gi asked for, 14Gi of 16Gi used"];
        assert_eq!(quota(&format!("q, {both}")), said(false, &parts));
        assert_eq!(quota("q, requested: pods=1, used: pods=3"), said(true, &[]));
        assert_eq!(quota("q"), said(true, &[]));
        assert_eq!(super::quota("is forbidden: no"), None);
    }

    #[test]
    fn what_decides_is_taken_out_of_messages() {
        let long = "0/4 nodes are available: 2 Insufficient cpu, 2 had taints. preemption: 0/4 are helpful.";
        assert_eq!(scheduler_says(long), "2 Insufficient cpu, 2 had taints");
        assert_eq!(scheduler_says("0/4 nodes are available: 4 Insufficient cpu."), "4 Insufficient cpu.");
        assert_eq!(scheduler_says("something else. And more"), "something else. And more");
        let named = |message| named_containers(message, |_| true);
        let both = "containers with unready status: [web proxy]";
        assert_eq!((named(both).as_str(), named("none")), (" (containers web, proxy)", String::new()));
        assert_eq!(named_containers(both, |name| name == "proxy"), " (container proxy)");
        let partly = "containers with unknown status: [job], containers with unready status: [web]";
        assert_eq!(named(partly), " (container web)");
    }
}
