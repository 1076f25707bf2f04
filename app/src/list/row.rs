//! Texts of a row and of a heading, as data.

use timeline::Millis;
use timeline::address;
use timeline::list::{Common, Head, Overall, Row};
use timeline::view::Tone;
use timeline::words::safe;

use super::Ages;
use super::tiny_score::TinyPicture;
use crate::images::{ImageText, with_short_images};

/// Sentences contain times of day within this distance.
const HOUR_MILLIS: Millis = 3_600_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowText {
    pub address: String,
    pub name: String,
    /// Cluster and namespace: "prod-eu / shop".
    pub place: String,
    /// Accent of the cluster; 0 for none.
    pub accent: u8,
    /// Tone of its verdict, which decides its colour.
    pub tone: Tone,
    /// The verdict as sent by the server, with times in UTC.
    pub sentence: String,
    /// The reason, and the next step.
    pub why: String,
    /// Reference for the times in these sentences.
    pub near_millis: Millis,
    /// "3", or "2 → 3" during a rollout.
    pub revision: String,
    pub images: ImageText,
    /// Age: "18 s".
    pub since: String,
    /// Its pods over the last minute.
    pub tiny: TinyPicture,
}

impl RowText {
    pub fn from_row(overall: &Overall, row: &Row, ages: &Ages) -> Self {
        let (summary, verdict, now_millis) = (&row.summary, &row.summary.verdict, ages.known_until(row));
        let short = |text: &str| with_short_images(text, &[&summary.images]);
        let cluster = overall.clusters.get(usize::from(row.cluster));
        let name = cluster.map_or("", |cluster| cluster.name.as_str());
        Self {
            address: address::whatever_bears_the_name(&summary.workload(name)),
            name: safe(&summary.name),
            place: format!("{} / {}", safe(name), safe(&summary.namespace)),
            accent: cluster.map_or(0, |cluster| cluster.accent),
            tone: verdict.tone,
            sentence: short(&verdict.sentence),
            // A healthy Deployment has no next step.
            why: if verdict.tone == Tone::Ok { short(&verdict.why) } else { short(&summary.explanation()) },
            near_millis: now_millis.div_euclid(HOUR_MILLIS) * HOUR_MILLIS,
            revision: revisions(summary.replaces, summary.revision),
            images: ImageText::new(&summary.images),
            since: ages.age_of(row),
            tiny: TinyPicture::from_summary(summary, now_millis),
        }
    }

    /// Returns a key that is unique among all rows: two clusters may contain the same object.
    pub fn key(row: &Row) -> u128 {
        row.summary.uid.bits() ^ (u128::from(row.cluster) << 64)
    }
}

/// Formats a revision, and the one that it replaces: "2 → 3".
pub fn revisions(replaces: Option<u64>, revision: Option<u64>) -> String {
    match (replaces, revision) {
        (Some(before), Some(now)) => format!("{before} → {now}"),
        (_, Some(now)) => now.to_string(),
        _ => String::new(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Common property of the rows below, in words.
    pub words: String,
    /// Address of the list of only these rows; `None` for a group.
    pub address: Option<String>,
    pub rows: u32,
}

impl Heading {
    pub fn from_head(overall: &Overall, head: &Head) -> Self {
        let (words, address) = match &head.of {
            Common::Group(group) => (group.words().to_owned(), None),
            Common::Place(cluster, namespace) => {
                let name = overall.clusters.get(usize::from(*cluster)).map_or("", |known| known.name.as_str());
                (format!("{} / {}", safe(name), safe(namespace)), Some(address::namespace(name, namespace)))
            }
            Common::Sorted(column) => (format!("Sorted by {}", column.words()), None),
        };
        Self { words, address, rows: head.lines }
    }
}
