//! The rows of a list.

use timeline::Millis;
use timeline::list::{Common, Entry, Head, Overall};
use timeline::view::{Summary, Tone};
use timeline::words::{age, safe};

use crate::address;
use crate::numbers::fixed;
use crate::rows::{Plan, Row, Stamp, escaped};

/// Width of the tiny score, in pixels.
const BAR: u32 = 150;
/// What its parts are, in the order of a summary's counts.
const PARTS: [&str; 4] = ["available", "old", "not-yet", "terminating"];

/// The clusters' clocks, for "since 18 s".
#[derive(Debug, Default)]
pub struct Ages(pub Vec<Millis>);

impl Ages {
    /// As they were told.
    #[must_use]
    pub fn told(overall: &Overall) -> Self {
        Self(overall.clusters.iter().map(|cluster| cluster.now_millis).collect())
    }

    /// How long ago that is which a line tells.
    #[must_use]
    pub fn of(&self, entry: &Entry) -> String {
        let now = self.0.get(usize::from(entry.cluster)).copied().unwrap_or_default();
        age(now - entry.summary.since_millis)
    }
}

/// Room for rows that are not made.
pub(super) fn room(px: f64) -> Row {
    Row {
        attributes: vec![("aria-hidden", "true".to_owned())],
        style: format!("height:{}px", fixed(px)),
        ..Row::default()
    }
}

/// A line that did not arrive yet.
pub(super) fn not_yet() -> Row {
    Row { attributes: vec![("class", "line".to_owned())], ..Row::default() }
}

/// A heading.
pub(super) fn head(overall: &Overall, head: &Head) -> Row {
    let words = match &head.of {
        Common::Group(group) => group.words().to_owned(),
        Common::Place(cluster, namespace) => {
            format!("{} / {}", cluster_name(overall, *cluster).0, safe(namespace))
        }
    };
    Row {
        attributes: vec![
            ("class", "group".to_owned()),
            ("role", "heading".to_owned()),
            ("aria-level", "2".to_owned()),
            ("data-testid", "head".to_owned()),
        ],
        inside: format!("<b>{}</b> {}", escaped(&words), head.lines),
        ..Row::default()
    }
}

/// A Deployment.
pub(super) fn line<'c>(overall: &'c Overall, entry: &'c Entry, ages: &Ages) -> Plan<'c> {
    let (summary, since) = (&entry.summary, ages.of(entry));
    let verdict = &summary.verdict;
    let counts = summary.pods.iter().map(|pods| u64::from(*pods));
    let numbers = [
        u64::from(entry.cluster),
        verdict.tone as u64,
        summary.revision.unwrap_or_default(),
        summary.replaces.unwrap_or_default(),
    ];
    let texts = [&since, &verdict.sentence, &verdict.why, &summary.images];
    let stamp = texts.into_iter().fold(Stamp::default(), |stamp, text| stamp.text(text));
    let stamp = counts.chain(numbers).fold(stamp, Stamp::number);
    // Two clusters may show the same object.
    let key = summary.uid.bits() ^ (u128::from(entry.cluster) << 64);
    Plan::new(key, stamp, move || made(overall, entry, &since))
}

fn made(overall: &Overall, entry: &Entry, since: &str) -> Row {
    let summary = &entry.summary;
    let verdict = &summary.verdict;
    let (cluster, accent) = cluster_name(overall, entry.cluster);
    let address = overall
        .clusters
        .get(usize::from(entry.cluster))
        .map_or_else(String::new, |known| address::deployment(&known.name, &summary.namespace, &summary.name));
    let revision = match (summary.replaces, summary.revision) {
        (Some(before), Some(now)) => format!("{before} → {now}"),
        (_, Some(now)) => now.to_string(),
        _ => String::new(),
    };
    let calm = if matches!(verdict.tone, Tone::Bad | Tone::Busy) { "" } else { " calm" };
    Row {
        attributes: vec![("class", "line".to_owned())],
        inside: format!(
            "<a class=\"row{calm}\" href=\"{}\" data-testid=\"deployment\"><span class=\"name\"><b>{}</b><span class=\"muted\"><i class=\"accent accent-{accent}\"></i>{} / {}</span></span>{}<span class=\"says\"><span class=\"sentence {}\">{}</span><span class=\"muted why\">{}</span></span><span class=\"image\"><b>{revision}</b> <span class=\"mono\">{}</span></span><span class=\"muted since\">{since}</span></a><a class=\"past\" href=\"{}/rollouts\" tabindex=\"-1\">rollouts</a>",
            escaped(&address),
            escaped(&safe(&summary.name)),
            escaped(&cluster),
            escaped(&safe(&summary.namespace)),
            tiny(summary),
            verdict.tone.name(),
            escaped(&verdict.sentence),
            escaped(&verdict.why),
            escaped(&summary.images),
            escaped(&address),
        ),
        ..Row::default()
    }
}

/// Name and accent of a cluster.
fn cluster_name(overall: &Overall, cluster: u16) -> (String, u8) {
    overall.clusters.get(usize::from(cluster)).map(|known| (safe(&known.name), known.accent)).unwrap_or_default()
}

/// The tiny score: pods by what they do, side by side.
fn tiny(summary: &Summary) -> String {
    let all = summary.pods.iter().sum::<u32>().max(1);
    let mut out =
        format!("<svg class=\"tiny\" viewBox=\"0 0 {BAR} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    let mut from = 0;
    for (part, pods) in PARTS.into_iter().zip(summary.pods) {
        let to = from + pods;
        let (left, right) = (from * BAR / all, to * BAR / all);
        if right > left {
            out.push_str(&format!("<rect class=\"{part}\" x=\"{left}\" width=\"{}\" height=\"10\"/>", right - left));
        }
        from = to;
    }
    out.push_str("</svg>");
    out
}
