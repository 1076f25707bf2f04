//! The rows of a list.

use timeline::Millis;
use timeline::list::{Common, Entry, Head, Overall};
use timeline::view::{LATELY_MILLIS, Summary, Tone};
use timeline::words::{age, safe};

use crate::address;
use crate::numbers::fixed;
use crate::rows::{Plan, Row, Stamp, escaped};

/// Size of the tiny score, in pixels.
const WIDE: i64 = 150;
const HIGH: i64 = 30;
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
        age(self.now(entry) - entry.summary.since_millis)
    }

    /// The time of a line's cluster.
    fn now(&self, entry: &Entry) -> Millis {
        self.0.get(usize::from(entry.cluster)).copied().unwrap_or_default()
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
            let name = overall.clusters.get(usize::from(*cluster)).map_or("", |known| known.name.as_str());
            let address = escaped(&address::namespace(name, namespace));
            format!("<a href=\"{address}\">{} / {}</a>", escaped(&safe(name)), escaped(&safe(namespace)))
        }
    };
    Row {
        attributes: vec![
            ("class", "group".to_owned()),
            ("role", "heading".to_owned()),
            ("aria-level", "2".to_owned()),
            ("data-testid", "head".to_owned()),
        ],
        inside: format!("<b>{words}</b> {}", head.lines),
        ..Row::default()
    }
}

/// A Deployment.
pub(super) fn line<'c>(overall: &'c Overall, entry: &'c Entry, ages: &Ages) -> Plan<'c> {
    let (summary, since, now) = (&entry.summary, ages.of(entry), ages.now(entry));
    let verdict = &summary.verdict;
    let counts = summary.pods.iter().map(|pods| u64::from(*pods));
    let numbers = [
        u64::from(entry.cluster),
        verdict.tone as u64,
        summary.revision.unwrap_or_default(),
        summary.replaces.unwrap_or_default(),
    ];
    let texts = [&since, &verdict.sentence, &verdict.why, &summary.next, &summary.images];
    let stamp = texts.into_iter().fold(Stamp::default(), |stamp, text| stamp.text(text));
    // A score that moves is made again with every second.
    let lately = &summary.lately;
    let last = lately.steps.last().map_or(0, |(after, _)| lately.from_millis + i64::from(*after));
    let moves = if now - last < LATELY_MILLIS { now / 1000 } else { 0 };
    let stamp = counts.chain(numbers).chain([moves as u64]).fold(stamp, Stamp::number);
    // Two clusters may show the same object.
    let key = summary.uid.bits() ^ (u128::from(entry.cluster) << 64);
    Plan::new(key, stamp, move || made(overall, entry, &since, now))
}

fn made(overall: &Overall, entry: &Entry, since: &str, now: Millis) -> Row {
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
            tiny(summary, now),
            verdict.tone.name(),
            escaped(&verdict.sentence),
            escaped(&summary.explanation()),
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

/// The tiny score: pods by what they do over the last minute, in layers; as long as nothing changed, as they are.
fn tiny(summary: &Summary, now: Millis) -> String {
    let lately = &summary.lately;
    let x = |after: u32| {
        ((lately.from_millis + i64::from(after) - now + LATELY_MILLIS) * WIDE / LATELY_MILLIS).clamp(0, WIDE)
    };
    let mut steps: Vec<(i64, [u32; 4])> = lately.steps.iter().map(|(after, counts)| (x(*after), *counts)).collect();
    steps.insert(0, (0, steps.first().map_or(summary.pods, |(_, counts)| *counts)));
    let all = |counts: &[u32; 4], layers: usize| i64::from(counts.iter().take(layers).sum::<u32>());
    let most = steps.iter().map(|(_, counts)| all(counts, 4)).max().unwrap_or(0).max(1);
    let mut out =
        format!("<svg class=\"tiny\" viewBox=\"0 0 {WIDE} {HIGH}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (layer, part) in PARTS.into_iter().enumerate() {
        if steps.iter().all(|(_, counts)| counts.get(layer).is_none_or(|pods| *pods == 0)) {
            continue;
        }
        let mut path = String::new();
        for (index, (from, counts)) in steps.iter().enumerate() {
            let to = steps.get(index + 1).map_or(WIDE, |(next, _)| *next);
            let (bottom, top) = (HIGH - all(counts, layer) * HIGH / most, HIGH - all(counts, layer + 1) * HIGH / most);
            if to > *from && bottom > top {
                path.push_str(&format!("M{from} {bottom}V{top}H{to}V{bottom}z"));
            }
        }
        out.push_str(&format!("<path class=\"{part}\" d=\"{path}\"/>"));
    }
    out.push_str("</svg>");
    out
}
