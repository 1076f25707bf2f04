//! Programs of containers: read from a word in the image and from the arguments.
//!
//! The arguments are those of the program in test clusters with a real kubelet, so that one manifest behaves alike in both:
//!
//! | argument | effect |
//! |---|---|
//! | `ready=S` | ready after S seconds; until then readiness and startup probes get 503 |
//! | `live=S` | liveness probes get 500 after S seconds |
//! | `exit=CODE@S` | exits with CODE after S seconds |
//! | `term=S`, `term=ignore` | exits with 0, S seconds after SIGTERM; or ignores SIGTERM |
//! | `eat=MB` | allocates this much memory, and is killed if its limit is lower |
//! | `flap=S` | alternates between ready and not ready every S seconds |

use k8s_openapi::api::core::v1::{Container, Pod};

use super::behavior::Behavior;
use super::probe::ProbeKind;
use crate::meta;

/// A second, in milliseconds.
const SECOND: i64 = 1000;
/// Delay until a program exits that exits at once, in milliseconds.
const SOON_MILLIS: i64 = SECOND;
/// Run time of a program that exits only when killed, in milliseconds.
const NEVER: i64 = i64::MAX;

#[derive(Debug, Default)]
pub(crate) struct Program {
    /// Delay from the start until the program is ready; `None` for never.
    ready_millis: Option<i64>,
    /// Delay from the start until liveness probes fail.
    dead_millis: Option<i64>,
    /// Exit code and delay of a program that exits by itself.
    pub exit: Option<(i32, i64)>,
    /// Whether the kernel kills the program for its memory use.
    pub is_out_of_memory: bool,
    /// Duration of an orderly end after SIGTERM; `None` if the program has no handler, so that the signal kills it.
    term_millis: Option<i64>,
    flap_millis: Option<i64>,
    /// Duration of the image pull, successful or not.
    pub pull_millis: i64,
    /// Reason why the image pull fails.
    pub refusal: Option<String>,
    /// Whether the program needs a ConfigMap that nobody can create.
    pub lacks_config: bool,
}

/// Returns the container runtime's message (containerd 2) about an image that cannot be pulled; `None` if it can.
pub(crate) fn refusal(behavior: Behavior, image: &str) -> Option<String> {
    let full = full_name(image);
    let (host, rest) = full.split_once('/').unwrap_or_default();
    let (path, tag) = rest.rsplit_once(':').unwrap_or((rest, "latest"));
    let why = match behavior {
        Behavior::Missing => format!("failed to resolve image: {full}: not found"),
        Behavior::Denied => "failed to resolve image: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed".to_owned(),
        Behavior::TooMany => format!("failed to resolve image: unexpected status from HEAD request to https://{host}/v2/{path}/manifests/{tag}: 429 Too Many Requests"),
        Behavior::NoHost => format!("failed to resolve image: failed to do request: Head \"https://{host}/v2/{path}/manifests/{tag}\": dial tcp: lookup {host}: no such host"),
        _ => return None,
    };
    Some(format!("failed to pull and unpack image \"{full}\": {why}"))
}

/// Returns the image name with registry and tag, as runtimes write it.
pub(crate) fn full_name(image: &str) -> String {
    let tagged = if image.rsplit('/').next().is_some_and(|last| last.contains(':')) { "" } else { ":latest" };
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => format!("{image}{tagged}"),
        Some(_) => format!("docker.io/{image}{tagged}"),
        None => format!("docker.io/library/{image}{tagged}"),
    }
}

/// Returns the arguments that this module knows, each with name and value.
fn arguments(container: &Container) -> impl Iterator<Item = (&str, &str)> {
    let all = container.args.iter().flatten().filter_map(|text| text.split_once('='));
    all.filter(|(name, _)| ["ready", "live", "exit", "term", "eat", "flap"].contains(name))
}

fn millis(seconds: &str) -> Option<i64> {
    let seconds = seconds.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
    Some((seconds * 1e3) as i64)
}

/// Returns a container's memory limit in bytes.
fn limit(container: &Container) -> Option<i128> {
    let limit = container.resources.as_ref()?.limits.as_ref()?.get("memory")?;
    Some(meta::quantity(limit) / 1000)
}

impl Program {
    /// Reads the program of a container. `is_to_end` marks an init container, whose program exits by itself.
    pub fn of(container: &Container, is_to_end: bool) -> Self {
        let image = container.image.as_deref().unwrap_or_default();
        let behavior = Behavior::of_image(image);
        let mut program = Self {
            ready_millis: Some(0),
            exit: is_to_end.then_some((0, SOON_MILLIS)),
            pull_millis: 800,
            refusal: refusal(behavior, image),
            lacks_config: behavior == Behavior::BadConfig,
            ..Self::default()
        };
        match behavior {
            Behavior::Healthy | Behavior::BadConfig | Behavior::Refused => {}
            Behavior::Slow => program.ready_millis = Some(5 * SECOND),
            Behavior::Never => program.ready_millis = None,
            Behavior::Crash => program.exit = Some((1, SOON_MILLIS)),
            Behavior::Ends => program.exit = Some((0, SOON_MILLIS)),
            Behavior::OutOfMemory => (program.exit, program.is_out_of_memory) = (Some((137, SOON_MILLIS)), true),
            Behavior::Flap => program.flap_millis = Some(6 * SECOND),
            Behavior::Linger => program.term_millis = Some(NEVER),
            Behavior::Large => program.pull_millis = 45 * SECOND,
            Behavior::Missing | Behavior::Denied | Behavior::TooMany | Behavior::NoHost => program.pull_millis = 300,
        }
        for (name, value) in arguments(container) {
            match name {
                "ready" => program.ready_millis = millis(value),
                "live" => program.dead_millis = millis(value),
                "exit" => {
                    let (code, after) = value.split_once('@').unwrap_or((value, "1"));
                    program.exit = code.parse().ok().zip(millis(after));
                }
                "term" if value == "ignore" => program.term_millis = Some(NEVER),
                "term" => program.term_millis = millis(value),
                "flap" => program.flap_millis = millis(value).filter(|millis| *millis > 0),
                _ => {
                    let eaten = value.parse::<i128>().unwrap_or_default() * 1_000_000;
                    if limit(container).is_some_and(|limit| eaten > limit) {
                        (program.exit, program.is_out_of_memory) = (Some((137, SOON_MILLIS)), true);
                    }
                }
            }
        }
        program
    }

    /// Returns whether a probe succeeds at this time after the start.
    pub fn answers(&self, kind: ProbeKind, age: i64) -> bool {
        match kind {
            ProbeKind::Liveness => self.dead_millis.is_none_or(|dead| age < dead),
            ProbeKind::Startup | ProbeKind::Readiness => {
                let is_up = self.flap_millis.is_none_or(|millis| age / millis % 2 == 0);
                self.ready_millis.is_some_and(|ready| age >= ready) && (kind == ProbeKind::Startup || is_up)
            }
        }
    }

    /// Returns when a probe that succeeds may fail next; `None` for never.
    pub fn fails_after(&self, kind: ProbeKind, age: i64) -> Option<i64> {
        match kind {
            ProbeKind::Startup => None,
            ProbeKind::Liveness => self.dead_millis,
            ProbeKind::Readiness => self.flap_millis.map(|millis| (age / millis + 1) * millis),
        }
    }

    /// Returns the end after SIGTERM with this grace period: delay and exit code.
    pub fn ends(&self, grace_millis: i64) -> (i64, i32) {
        match self.term_millis {
            None => (grace_millis.min(200), 143),
            Some(millis) if millis <= grace_millis => (millis, 0),
            Some(_) => (grace_millis, 137),
        }
    }
}

/// Returns whether a pod needs a detailed simulation: probes, init containers, volumes, known arguments, a program that exits and
/// is not always restarted, or another container than the first that fails.
pub(crate) fn is_detailed(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let is_restarted = spec.restart_policy.as_deref().is_none_or(|policy| policy == "Always");
    let behavior = |container: &Container| Behavior::of_image(container.image.as_deref().unwrap_or_default());
    let is_more = |container: &Container| {
        let behavior = behavior(container);
        container.startup_probe.is_some()
            || container.liveness_probe.is_some()
            || container.readiness_probe.is_some()
            || matches!(
                behavior,
                Behavior::Ends | Behavior::Large | Behavior::Denied | Behavior::TooMany | Behavior::NoHost
            )
            || (!is_restarted && matches!(behavior, Behavior::Crash | Behavior::OutOfMemory))
            || arguments(container).next().is_some()
            || super::config_maps::of_container(container).next().is_some()
    };
    // A simple pod reads only the word in its first image.
    let fails = |container: &Container| {
        matches!(behavior(container), Behavior::Crash | Behavior::OutOfMemory | Behavior::Missing | Behavior::BadConfig)
    };
    spec.init_containers.as_ref().is_some_and(|init| !init.is_empty())
        || super::config_maps::of_volumes(spec).next().is_some()
        || spec.containers.iter().any(is_more)
        || spec.containers.iter().skip(1).any(fails)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(image: &str, args: &[&str]) -> Program {
        let container = Container {
            image: Some(image.to_owned()),
            args: Some(args.iter().map(|text| (*text).to_owned()).collect()),
            ..Container::default()
        };
        Program::of(&container, false)
    }

    #[test]
    fn arguments_say_more_than_words() {
        let slow = program("web:v1", &["ready=28", "live=40"]);
        assert_eq!(
            [27_999, 28_000]
                .map(|age| (slow.answers(ProbeKind::Readiness, age), slow.answers(ProbeKind::Liveness, age))),
            [(false, true), (true, true)]
        );
        assert!(!slow.answers(ProbeKind::Liveness, 40_000));
        assert_eq!(program("web:crash-v2", &[]).exit, Some((1, 1000)));
        assert_eq!(program("web:crash-v2", &["exit=0@5"]).exit, Some((0, 5000)));
        assert_eq!(program("web:v1", &["exit=nonsense"]).exit, None);
    }

    #[test]
    fn programs_end_by_signal_in_order_or_not_at_all() {
        let ends = |args: &[&str]| program("web:v1", args).ends(30_000);
        assert_eq!((ends(&[]), ends(&["term=3"]), ends(&["term=ignore"])), ((200, 143), (3000, 0), (30_000, 137)));
        assert_eq!(ends(&["term=60"]), (30_000, 137), "killed before it ended in order");
    }

    #[test]
    fn refusals_are_in_the_words_of_the_runtime() {
        let said = |behavior| refusal(behavior, "registry.local/app:nope").unwrap_or_default();
        assert_eq!(
            said(Behavior::NoHost),
            "failed to pull and unpack image \"registry.local/app:nope\": failed to resolve image: failed to do request: Head \"https://registry.local/v2/app/manifests/nope\": dial tcp: lookup registry.local: no such host"
        );
        assert!(said(Behavior::TooMany).ends_with("429 Too Many Requests"));
        assert_eq!(full_name("web"), "docker.io/library/web:latest");
        assert_eq!(full_name("team/web:v1"), "docker.io/team/web:v1");
    }
}
