//! Probes: their checks, intervals and thresholds (`pkg/kubelet/prober/worker.go`).

use k8s_openapi::api::core::v1::{Container, Probe as Spec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Purpose of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProbeKind {
    /// Other probes wait until it succeeds; its failure kills the container.
    Startup,
    /// Its failure kills the container.
    Liveness,
    /// Decides whether the container is ready.
    Readiness,
}

impl ProbeKind {
    /// Returns the name at the start of a message.
    pub const fn capital(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }

    /// Returns the name within a sentence.
    pub fn small(self) -> String {
        self.capital().to_ascii_lowercase()
    }
}

#[derive(Debug)]
pub(crate) struct Probe {
    pub kind: ProbeKind,
    delay_millis: i64,
    /// Interval between two checks.
    pub period_millis: i64,
    successes: i32,
    failures: i32,
    /// Grace period of the container in seconds, if the probe sets one.
    pub grace_seconds: Option<i64>,
    /// Message of a failure.
    pub refusal: String,
    last: Option<bool>,
    streak: i32,
    pub result: Option<bool>,
}

impl Probe {
    pub fn of(container: &Container, address: &str) -> Vec<Self> {
        let all = [
            (ProbeKind::Startup, &container.startup_probe),
            (ProbeKind::Liveness, &container.liveness_probe),
            (ProbeKind::Readiness, &container.readiness_probe),
        ];
        let known = all.into_iter().filter_map(|(kind, spec)| Some((kind, spec.as_ref()?)));
        known.map(|(kind, spec)| Self::new(kind, spec, refusal(kind, spec, container, address))).collect()
    }

    fn new(kind: ProbeKind, spec: &Spec, refusal: String) -> Self {
        Self {
            kind,
            delay_millis: i64::from(spec.initial_delay_seconds.unwrap_or_default()) * 1000,
            period_millis: i64::from(spec.period_seconds.unwrap_or(10).max(1)) * 1000,
            successes: spec.success_threshold.unwrap_or(1),
            failures: spec.failure_threshold.unwrap_or(3),
            grace_seconds: spec.termination_grace_period_seconds,
            refusal,
            last: None,
            streak: 0,
            result: None,
        }
    }

    /// Returns the time of the first check of a container that started at `began`.
    pub fn first(&self, began: i64, now: i64) -> i64 {
        now.max(began + self.delay_millis)
    }

    /// Resets the state for another run of the container.
    pub fn forget(&mut self) {
        (self.last, self.streak, self.result) = (None, 0, None);
    }

    /// Records a result; returns whether the state of the probe changed.
    pub fn record_answer(&mut self, is_success: bool) -> bool {
        self.streak = if self.last == Some(is_success) { self.streak + 1 } else { 1 };
        self.last = Some(is_success);
        let needed = if is_success { self.successes } else { self.failures };
        if self.streak < needed || self.result == Some(is_success) {
            return false;
        }
        self.result = Some(is_success);
        true
    }
}

/// Returns the message of a failure, in the kubelet's words.
fn refusal(kind: ProbeKind, spec: &Spec, container: &Container, address: &str) -> String {
    if let Some(tcp) = &spec.tcp_socket {
        let port = match &tcp.port {
            IntOrString::Int(port) => port.to_string(),
            IntOrString::String(name) => {
                let mut ports = container.ports.iter().flatten();
                let named = ports.find(|port| port.name.as_ref() == Some(name));
                named.map_or_else(|| name.clone(), |port| port.container_port.to_string())
            }
        };
        return format!("dial tcp {address}:{port}: connect: connection refused");
    }
    if spec.grpc.is_some() {
        return "service unhealthy (responded with \"NOT_SERVING\")".to_owned();
    }
    if spec.exec.is_some() {
        // The output of the command, which is empty.
        return String::new();
    }
    format!("HTTP probe failed with statuscode: {}", if kind == ProbeKind::Liveness { 500 } else { 503 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_changes_its_mind_after_as_many_answers_as_it_was_told() {
        let spec = Spec { failure_threshold: Some(3), success_threshold: Some(2), ..Spec::default() };
        let mut probe = Probe::new(ProbeKind::Readiness, &spec, String::new());
        let answers = [true, true, true, false, false, true, false, false, false, false, true, true];
        let seen: Vec<(bool, Option<bool>)> =
            answers.into_iter().map(|answer| (probe.record_answer(answer), probe.result)).collect();
        let changes: Vec<usize> = seen.iter().enumerate().filter(|(_, seen)| seen.0).map(|(index, _)| index).collect();
        assert_eq!(changes, [1, 8, 11]);
        assert_eq!(seen.last(), Some(&(true, Some(true))));
    }

    #[test]
    fn a_probe_of_a_named_port_fails_at_its_number() {
        let container: Container = serde_json::from_value(serde_json::json!({
            "name": "web",
            "ports": [{ "name": "admin", "containerPort": 9000 }, { "name": "http", "containerPort": 8080 }],
            "livenessProbe": { "tcpSocket": { "port": "http" } },
            "readinessProbe": { "tcpSocket": { "port": 9000 } },
        }))
        .unwrap();
        let refusals: Vec<String> = Probe::of(&container, "10.1.2.3").into_iter().map(|probe| probe.refusal).collect();
        let refused = |port: u16| format!("dial tcp 10.1.2.3:{port}: connect: connection refused");
        assert_eq!(refusals, [refused(8080), refused(9000)]);
    }
}
