//! Reads messages of the kubelet, and Events about an object. Texts of the cluster decide as little as possible.

use crate::Millis;
use crate::model::{Deployment, Event, Pod};

/// Why an image cannot be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not have it.
    NotFound,
    /// The registry does not give it.
    Denied,
    /// Its name is none, or it may not be pulled at all.
    Unusable,
    /// The registry answers 429.
    TooManyRequests,
    /// The registry's name does not resolve.
    NoSuchHost,
    /// The registry's certificate is not trusted.
    Certificate,
    /// No answer in time.
    Timeout,
    /// Nobody listens at the registry's address.
    ConnectionRefused,
    /// The registry answers with a server error.
    ServerError,
    /// The node's disk is full.
    DiskFull,
    /// No message says why, or none that is known.
    Unknown,
}

impl PullFailure {
    /// Trying again does not help.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::NotFound | Self::Denied | Self::Unusable)
    }

    /// The reason in the registry's words; `None` where it is not known.
    #[must_use]
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::NotFound => Some("not found"),
            Self::Denied => Some("access denied"),
            Self::Unusable | Self::Unknown => None,
            Self::TooManyRequests => Some("429 Too Many Requests"),
            Self::NoSuchHost => Some("no such host"),
            Self::Certificate => Some("x509: the certificate is not trusted"),
            Self::Timeout => Some("timeout"),
            Self::ConnectionRefused => Some("connection refused"),
            Self::ServerError => Some("the registry answers with an error of its own (5xx)"),
            Self::DiskFull => Some("no space left on device"),
        }
    }
}

/// The words by which each failure is known, in lower case; the first that a message has decides.
const PULL_TEXTS: [(PullFailure, &[&str]); 9] = [
    (PullFailure::TooManyRequests, &["429", "toomanyrequests", "too many requests", "rate limit"]),
    (PullFailure::NoSuchHost, &["no such host", "server misbehaving"]),
    (PullFailure::Certificate, &["x509", "certificate"]),
    (PullFailure::DiskFull, &["no space left"]),
    (PullFailure::NotFound, &["not found", "manifest unknown", "name unknown"]),
    (PullFailure::Denied, &["unauthorized", "denied", "403 forbidden", "authorization failed"]),
    (PullFailure::ConnectionRefused, &["connection refused"]),
    (
        PullFailure::ServerError,
        &["500 internal", "502 bad", "503 service", "504 gateway", "unexpected status code 5", "unexpected status: 5"],
    ),
    (PullFailure::Timeout, &["timeout", "timed out", "deadline exceeded"]),
];

/// Reads why the pull of `image` failed from a reason, the message beside it and Events about it.
#[must_use]
pub fn pull_failure<'t>(
    reason: &str,
    image: Option<&str>,
    message: &'t str,
    events: impl Iterator<Item = &'t str>,
) -> PullFailure {
    let texts = std::iter::once(message).chain(events).map(|text| without_names(text, image));
    let known = texts.filter_map(|text| {
        PULL_TEXTS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word))).map(|(failure, _)| *failure)
    });
    match (known.into_iter().next(), reason) {
        (_, "InvalidImageName" | "ErrImageNeverPull") => PullFailure::Unusable,
        (known, _) => known.unwrap_or(PullFailure::Unknown),
    }
}

/// A message in lower case without what is quoted and without the image: names that people gave say nothing of a failure.
fn without_names(message: &str, image: Option<&str>) -> String {
    let unquoted: String = message.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    match image.filter(|image| !image.is_empty()) {
        Some(image) => unquoted.replace(image, " "),
        None => unquoted,
    }
    .to_lowercase()
}

/// Reasons for which a container waits for its image.
#[must_use]
pub fn is_image_reason(reason: &str) -> bool {
    matches!(
        reason,
        "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed"
    )
}

/// Events about an object ("Pod", "web-1"), the last one first.
pub fn events<'m>(deployment: &'m Deployment, kind: &str, name: &str) -> impl Iterator<Item = &'m Event> {
    deployment.events.iter().rev().filter(move |event| event.about.0 == kind && event.about.1 == name)
}

/// Messages of Events about failures of a pod, the last one first.
pub fn failures<'m>(deployment: &'m Deployment, pod: &str) -> impl Iterator<Item = &'m str> {
    events(deployment, "Pod", pod).filter(|event| event.reason == "Failed").map(|event| event.message.as_str())
}

/// The probe or hook for which the kubelet kills a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeKill {
    /// "liveness probe", "startup probe" or "postStart hook".
    pub probe: &'static str,
    /// The result of the probe: "HTTP probe failed with statuscode: 503"; empty where no Event tells.
    pub message: String,
}

/// The probe or hook for which the kubelet kills containers of this pod, by Events since `since_millis`.
#[must_use]
pub fn probe_kill(deployment: &Deployment, pod: &Pod, since_millis: Option<Millis>) -> Option<ProbeKill> {
    let is_recent = |event: &&Event| since_millis.is_none_or(|since| event.at_millis >= since);
    let recent = || events(deployment, "Pod", &pod.name).filter(is_recent);
    let killed = recent().find_map(|event| {
        let is = |probe: &str| event.reason == "Killing" && event.message.contains(&format!("failed {probe}"));
        let is_hook = event.reason == "FailedPostStartHook";
        is_hook
            .then_some("postStart hook")
            .or_else(|| ["liveness probe", "startup probe"].into_iter().find(|probe| is(probe)))
    });
    let saw = recent().filter(|event| event.reason == "Unhealthy").find_map(|event| {
        let after =
            |start: &str| event.message.strip_prefix(start).map(|rest| rest.trim_start_matches(": ").to_owned());
        let liveness = after("Liveness probe failed").map(|message| ("liveness probe", message));
        liveness.or_else(|| after("Startup probe failed").map(|message| ("startup probe", message)))
    });
    match (killed, saw) {
        (Some(probe), saw) => {
            let message = saw.filter(|(of, _)| *of == probe).map(|(_, message)| message);
            Some(ProbeKill { probe, message: message.unwrap_or_default() })
        }
        (None, Some((probe, message))) => Some(ProbeKill { probe, message }),
        (None, None) => None,
    }
}

/// The answer of an autoscaler to a pod for which there is no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewNode {
    /// One is being added, and who says so.
    Comes(&'static str),
    /// None will be added, and why.
    Refused(String),
}

/// Reads the last answer of an autoscaler to a pod that has no node.
#[must_use]
pub fn new_node(deployment: &Deployment, pod: &Pod) -> Option<NewNode> {
    events(deployment, "Pod", &pod.name).find_map(|event| match event.reason.as_str() {
        "TriggeredScaleUp" => Some(NewNode::Comes("cluster-autoscaler")),
        "Nominated" => Some(NewNode::Comes("Karpenter")),
        "NotTriggerScaleUp" => Some(NewNode::Refused(event.message.clone())),
        _ => None,
    })
}

/// The Event that says why a pod that has a node has no running container yet: a volume, its sandbox, or an image that is pulled.
#[must_use]
pub fn holds_start<'m>(deployment: &'m Deployment, pod: &Pod) -> Option<&'m Event> {
    const REASONS: [&str; 5] =
        ["FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "Pulling"];
    events(deployment, "Pod", &pod.name)
        .filter(|event| event.at_millis.saturating_add(1_000) >= pod.first_seen_millis().min(pod.created_at_millis))
        .find(|event| REASONS.contains(&event.reason.as_str()))
}

/// A quota refuses it.
#[must_use]
pub fn is_quota(message: &str) -> bool {
    message.contains("exceeded quota")
}

/// The API server, or what it asks, says no; other errors of it may pass.
#[must_use]
pub fn is_decided(message: &str) -> bool {
    is_quota(message)
        || ["denied the request", "is forbidden", "is invalid"].iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_pull_is_known_by_the_words_of_the_registry() {
        let failure = |reason, message| pull_failure(reason, Some("reg/denied:v1"), message, std::iter::empty());
        for (message, expected) in [
            ("failed to resolve reference: web:missing: not found", PullFailure::NotFound),
            ("failed to resolve reference \"reg/denied:v1\": reg/denied:v1: not found", PullFailure::NotFound),
            ("pull access denied, repository does not exist", PullFailure::Denied),
            ("failed to authorize: 401 Unauthorized", PullFailure::Denied),
            ("unexpected status from HEAD request: 429 Too Many Requests", PullFailure::TooManyRequests),
            ("dial tcp: lookup registry.local: no such host", PullFailure::NoSuchHost),
            ("tls: failed to verify certificate: x509: unknown authority", PullFailure::Certificate),
            ("net/http: TLS handshake timeout", PullFailure::Timeout),
            ("context deadline exceeded", PullFailure::Timeout),
            ("dial tcp 10.0.0.1:443: connect: connection refused", PullFailure::ConnectionRefused),
            ("unexpected status code 503 Service Unavailable", PullFailure::ServerError),
            ("write /var/lib: no space left on device", PullFailure::DiskFull),
            ("pulling \"not found\" and \"denied\" and reg/denied:v1", PullFailure::Unknown),
            ("", PullFailure::Unknown),
        ] {
            assert_eq!(failure("ErrImagePull", message), expected, "{message}");
        }
        assert_eq!(failure("InvalidImageName", "couldn't parse image name"), PullFailure::Unusable);
        let events = ["Error: ErrImagePull", "manifest unknown"].into_iter();
        assert_eq!(pull_failure("ImagePullBackOff", None, "Back-off pulling image", events), PullFailure::NotFound);
    }

    #[test]
    fn an_api_server_that_is_busy_decides_nothing() {
        assert!(is_decided("pods \"web-1\" is forbidden: violates PodSecurity \"restricted:latest\""));
        assert!(is_decided("admission webhook \"policy\" denied the request: no latest tags"));
        assert!(!is_decided("Internal error occurred: failed calling webhook: context deadline exceeded"));
    }
}
