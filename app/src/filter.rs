//! What of the list is shown: pure, the same on the server and in the browser.

use serde::{Deserialize, Serialize};
use timeline::view::{Summary, Tone};

/// What of the list is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Words that must all appear in namespace, name, image, verdict or "revision 7".
    pub text: String,
    /// Class name of a tone; empty for all.
    pub tone: String,
    /// Only this cluster.
    pub cluster: Option<String>,
    /// Only this namespace.
    pub namespace: Option<String>,
}

impl Filter {
    /// This Deployment is shown.
    #[must_use]
    pub fn shows(&self, cluster: &str, summary: &Summary) -> bool {
        let is_place = self.cluster.as_deref().is_none_or(|only| only == cluster)
            && self.namespace.as_deref().is_none_or(|only| only == summary.namespace);
        if !is_place || !(self.tone.is_empty() || self.tone == summary.verdict.tone.name()) {
            return false;
        }
        let revision = summary.revision.map(|revision| format!("revision {revision}")).unwrap_or_default();
        let verdict = &summary.verdict;
        let fields =
            [cluster, &summary.namespace, &summary.name, &summary.images, &verdict.badge, &verdict.sentence, &revision];
        let fields = fields.map(str::to_ascii_lowercase);
        let wanted = self.text.to_ascii_lowercase();
        wanted.split_ascii_whitespace().all(|word| fields.iter().any(|field| has(field, word)))
    }

    /// Where this Deployment stands in the list: what needs a look first, then what happened last.
    #[must_use]
    pub const fn rank(summary: &Summary) -> (i64, u128) {
        let tone = match summary.verdict.tone {
            Tone::Bad => 0,
            Tone::Busy => 1,
            Tone::Ok | Tone::Quiet => 2,
        };
        // Later is earlier in the list.
        (tone, (i64::MAX - summary.since_millis) as u128)
    }
}

/// Plain search: the standard library's is several kilobytes of a small program.
fn has(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|window| window == word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::Uid;
    use timeline::verdict::KubectlVerdict;
    use timeline::view::Verdict;

    fn summary(tone: Tone, since_millis: i64) -> Summary {
        Summary {
            uid: Uid::from_bits(1),
            namespace: "shop".into(),
            name: "checkout".into(),
            revision: Some(7),
            images: "registry/Checkout:v2".into(),
            verdict: Verdict {
                badge: "Rolling out".into(),
                tone,
                sentence: "Revision 7 is replacing revision 6.".into(),
                why: String::new(),
                kubectl: KubectlVerdict::Complete,
            },
            pods: [0; 4],
            since_millis,
        }
    }

    #[test]
    fn every_word_must_appear_somewhere() {
        let shows = |text: &str| {
            let filter = Filter { text: text.into(), ..Filter::default() };
            filter.shows("prod-eu", &summary(Tone::Busy, 0))
        };
        for text in ["", "  ", "check", "SHOP checkout", "v2 rolling", "revision 7", "prod-eu", "replacing"] {
            assert!(shows(text), "{text}");
        }
        for text in ["cart", "shop cart", "revision 8x", "a word that is nowhere"] {
            assert!(!shows(text), "{text}");
        }
    }

    #[test]
    fn tone_and_place_narrow() {
        let busy = summary(Tone::Busy, 0);
        let filter = |tone: &str, cluster: Option<&str>, namespace: Option<&str>| Filter {
            text: String::new(),
            tone: tone.into(),
            cluster: cluster.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
        };
        assert!(filter("busy", Some("a"), Some("shop")).shows("a", &busy));
        assert!(!filter("bad", None, None).shows("a", &busy));
        assert!(!filter("", Some("b"), None).shows("a", &busy));
        assert!(!filter("", None, Some("cart")).shows("a", &busy));
    }

    #[test]
    fn what_needs_a_look_comes_first_then_what_happened_last() {
        let ranks = [(Tone::Bad, 5), (Tone::Bad, 1), (Tone::Busy, 9), (Tone::Ok, 8), (Tone::Quiet, 7)]
            .map(|(tone, since)| Filter::rank(&summary(tone, since)));
        assert!(ranks.is_sorted());
    }
}
