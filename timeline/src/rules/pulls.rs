//! Parses why an image cannot be pulled, and which one, from messages of the kubelet, its runtime and the registry.

use super::messages::{events, last_event, text};
use crate::model::Deployment;
use crate::words::image_parts;

/// The reason of an image that must not be pulled.
///
/// It is not on the node, or the pod has no credentials for it: the kubelet does not distinguish these.
pub const NEVER_PULL: &str = "ErrImageNeverPull";

/// Why an image cannot be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not have the image.
    NotFound,
    /// The image has no variant for the node's platform.
    Platform,
    /// The registry denies access.
    Denied,
    /// The registry does not reveal whether the image exists.
    Hidden,
    /// The name is invalid, or the image must not be pulled at all.
    Unusable,
    /// The registry responds with status 429.
    TooManyRequests,
    /// The registry's name does not resolve.
    NoSuchHost,
    /// The registry's certificate is not trusted.
    Certificate,
    /// No response in time.
    Timeout,
    /// The registry refuses the connection.
    ConnectionRefused,
    /// The registry responds with a server error.
    ServerError,
    /// The node's disk is full.
    DiskFull,
    /// The node's runtime lost a part of the image that was pulled before.
    Incomplete,
    /// No message gives a known reason.
    Unknown,
}

impl PullFailure {
    /// Returns whether a retry does not help.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::NotFound | Self::Platform | Self::Denied | Self::Hidden | Self::Unusable)
    }

    /// Returns the reason in the registry's words; `None` if it is not known.
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::NotFound => Some("not found"),
            Self::Platform => Some("it has no variant for the node's platform"),
            Self::Denied => Some("access denied"),
            Self::Hidden => Some("it does not exist, or access is denied"),
            Self::Unusable | Self::Unknown => None,
            Self::TooManyRequests => Some("429 Too Many Requests"),
            Self::NoSuchHost => Some("no such host"),
            Self::Certificate => Some("x509: the certificate is not trusted"),
            Self::Timeout => Some("timeout"),
            Self::ConnectionRefused => Some("connection refused"),
            Self::ServerError => Some("the registry answers with an error of its own (5xx)"),
            Self::DiskFull => Some("no space left on device"),
            Self::Incomplete => Some("the node lost a part of it"),
        }
    }
}

/// Texts that identify each failure, in lower case; the first match decides.
const PULL_TEXTS: [(PullFailure, &[&str]); 12] = [
    (PullFailure::Platform, &["no match for platform", "no matching manifest", "no image found in"]),
    (PullFailure::TooManyRequests, &["429", "toomanyrequests", "too many requests", "rate limit"]),
    (PullFailure::NoSuchHost, &["no such host", "server misbehaving"]),
    (PullFailure::Certificate, &["x509", "certificate"]),
    (PullFailure::DiskFull, &["no space left"]),
    (PullFailure::Incomplete, &["content digest", "parent snapshot"]),
    (PullFailure::Hidden, &["does not exist or may require"]),
    (PullFailure::NotFound, &["not found", "manifest unknown", "name unknown"]),
    (PullFailure::Denied, &["unauthorized", "denied", "403 forbidden", "authorization failed"]),
    (PullFailure::ConnectionRefused, &["connection refused"]),
    (
        PullFailure::ServerError,
        &["500 internal", "502 bad", "503 service", "504 gateway", "unexpected status code 5", "unexpected status: 5"],
    ),
    (PullFailure::Timeout, &["timeout", "timed out", "deadline exceeded"]),
];

/// Derives why the pull of `image` failed from a reason, its message and Events about it.
pub fn read_pull_failure<'t>(
    reason: &str,
    image: Option<&str>,
    message: &'t str,
    events: impl Iterator<Item = &'t str>,
) -> PullFailure {
    let texts = std::iter::once(message).chain(events).map(|text| without_names(text, image));
    let known = texts.filter_map(|text| {
        PULL_TEXTS.iter().find(|(_, words)| words.iter().any(|words| has(&text, words))).map(|(failure, _)| *failure)
    });
    match (known.into_iter().next(), reason) {
        (_, "InvalidImageName" | NEVER_PULL) => PullFailure::Unusable,
        (known, _) => known.unwrap_or(PullFailure::Unknown),
    }
}

/// Returns whether a text contains these words. A number must be a whole word: digests and tags contain digits, too.
fn has(text: &str, words: &str) -> bool {
    match words.parse::<u32>() {
        Ok(_) => text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == words),
        Err(_) => text.contains(words),
    }
}

/// Returns a message in lower case without quoted parts and without the image: names do not describe a failure. Some runtimes write
/// repository and tag separately.
fn without_names(message: &str, image: Option<&str>) -> String {
    let unquoted: String = message.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let Some(image) = image.filter(|image| !image.is_empty()) else { return unquoted.to_lowercase() };
    let (name, digest) = image.split_once('@').unwrap_or((image, ""));
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, ""),
    };
    let (mut rest, mut previous) = (Vec::new(), "");
    for word in unquoted.split_whitespace() {
        let bare = word.trim_matches([':', ',', '.', '(', ')', '\'']);
        let is = |name: &str| {
            !name.is_empty() && bare.strip_suffix(name).is_some_and(|left| left.is_empty() || left.ends_with('/'))
        };
        let is_name = bare.contains("://") || [image, name, repository, digest].into_iter().any(is);
        // A tag may be any word, so it is recognised by the word before it.
        let is_tag = previous == "manifest" && bare == tag;
        if !(is_name || is_tag) {
            rest.push(word);
        }
        previous = bare;
    }
    rest.join(" ").to_lowercase()
}

/// Returns the last part of the messages about a failed pull, if it says more than that the pull failed: "unexpected EOF".
pub fn pull_detail<'t>(message: &'t str, events: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let texts = std::iter::once(message).chain(events).map(str::trim);
    let mut details = texts.map(|text| text.rsplit_once(": ").map_or(text, |(_, detail)| detail));
    details.find(|detail| {
        !detail.is_empty() && !detail.starts_with("Back-off") && !is_image_reason(detail.trim_end_matches('.'))
    })
}

/// Returns messages of Events about failures of a pod, the last one first, without those about another image, and without those about a
/// container that cannot be created or started: "Error: configmap \"settings\" not found" (`startContainer` in `kuberuntime_container.go`).
pub fn failures<'m>(deployment: &'m Deployment, pod: &str, image: Option<&str>) -> impl Iterator<Item = &'m str> {
    let failures = events(deployment, "Pod", pod).filter(|event| event.reason == "Failed");
    failures.map(text).filter(move |message| !message.starts_with("Error: ") && !is_of_another_image(message, image))
}

/// Returns whether a message is about another image than this one.
pub fn is_of_another_image(message: &str, image: Option<&str>) -> bool {
    named_image(message).zip(image).is_some_and(|(named, image)| !is_same_image(named, image))
}

/// Returns the image that cannot be pulled according to the kubelet or its runtime.
pub fn named_image(message: &str) -> Option<&str> {
    let after = |mark: &str, end: char| message.split_once(mark).and_then(|(_, rest)| rest.split(end).next());
    let quoted = after("image \"", '"');
    let named = quoted.or_else(|| after("docker://", ' ')).or_else(|| after("image pull failed for ", ' '));
    named
        .map(|image| image.trim_end_matches(':'))
        .filter(|image| !image.is_empty() && !image.contains(char::is_whitespace))
}

/// Returns whether two names may refer to the same image: a runtime adds the registry and a tag, and omits the tag beside a digest.
pub fn is_same_image(one: &str, other: &str) -> bool {
    let ([name, tag, digest], [other_name, other_tag, other_digest]) = (image_parts(one), image_parts(other));
    let agree = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
    name == other_name && agree(tag, other_tag) && agree(digest, other_digest)
}

/// Returns the pull secrets of a pod that could not be read: "regcred".
pub fn unread_pull_secrets<'m>(deployment: &'m Deployment, pod: &str) -> Option<&'m str> {
    let event = last_event(deployment, pod, "FailedToRetrieveImagePullSecret")?;
    let (_, rest) = event.message.split_once('(')?;
    rest.split_once(')').map(|(names, _)| names).filter(|names| !names.is_empty())
}

/// Returns whether the reason is that of a container waiting for its image.
pub fn is_image_reason(reason: &str) -> bool {
    matches!(
        reason,
        "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | NEVER_PULL
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_pull_is_known_by_the_words_of_the_registry() {
        let failure = |reason, message| read_pull_failure(reason, Some("reg/denied:v1"), message, std::iter::empty());
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
            ("failed to get reader from content store: content digest sha256:0f: not found", PullFailure::Incomplete),
            ("parent snapshot sha256:0f does not exist: not found", PullFailure::Incomplete),
            ("pulling \"not found\" and \"denied\" and reg/denied:v1", PullFailure::Unknown),
            ("", PullFailure::Unknown),
        ] {
            assert_eq!(failure("ErrImagePull", message), expected, "{message}");
        }
        assert_eq!(failure("InvalidImageName", "couldn't parse image name"), PullFailure::Unusable);
        let events = ["Error: ErrImagePull", "manifest unknown"].into_iter();
        assert_eq!(
            read_pull_failure("ImagePullBackOff", None, "Back-off pulling image", events),
            PullFailure::NotFound
        );
    }

    #[test]
    fn the_image_that_is_pulled_is_named_by_kubelets_and_runtimes() {
        for (message, image) in [
            ("Back-off pulling image \"a.io/web:v1\": ErrImagePull: manifest unknown", Some("a.io/web:v1")),
            ("Container image \"web:v1\" is not present with pull policy of Never", Some("web:v1")),
            (
                "initializing source docker://a.io:5000/web:v1: reading manifest v1 in a.io/web",
                Some("a.io:5000/web:v1"),
            ),
            ("image pull failed for web:v1 because the registry is unavailable", Some("web:v1")),
            ("Failed to inspect image \"\": deadline exceeded", None),
            ("pull access denied, repository does not exist", None),
        ] {
            assert_eq!(named_image(message), image, "{message}");
        }
        for (one, other, is_same) in [
            ("docker.io/library/web:v1", "web:v1", true),
            ("docker.io/library/web:latest", "web", true),
            ("a.io:5000/web@sha256:0f", "a.io:5000/web:v1@sha256:0f", true),
            ("a.io/web:v1", "a.io/web:v2", false),
            ("a.io/web@sha256:0f", "a.io/web@sha256:1f", false),
            ("a.io/files:v1", "a.io/web:v1", false),
        ] {
            assert_eq!((is_same_image(one, other), is_same_image(other, one)), (is_same, is_same), "{one} {other}");
        }
    }
}
