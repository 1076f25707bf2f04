//! Everything that is said and counted at a moment, as text: what snapshots of whole sequences are made of.

use crate::made::{WEB, Web};
use timeline::Millis;
use timeline::view::{self, Now};

/// What is looked at, one moment after the other.
#[derive(Default)]
pub struct Shown(String);

impl Shown {
    fn line(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref().trim_end());
        self.0.push('\n');
    }

    /// Everything that is said now, under a heading.
    pub fn look(&mut self, what: &str, web: &Web) {
        let now = Now { millis: web.now, skew_millis: web.timeline.skew_millis() };
        let view = view::view(web.timeline.model(), WEB, now).unwrap();
        let verdict = &view.verdict;
        self.line(format!("== {} {what}", seconds(web.now)));
        self.line(format!("[{}] {} ({:?}, {:?})", verdict.badge, verdict.sentence, verdict.tone, verdict.kubectl));
        self.line(format!("   why: {}", verdict.why));
        self.line(format!("   next: {}", view.next));
        if let Some(remedy) = &view.remedy {
            self.line(format!("   {}: {}", remedy.what, remedy.command));
        }
        for reason in &view.reasons {
            let kind =
                ["", " fault"][usize::from(reason.is_fault)].to_owned() + ["", " fatal"][usize::from(reason.is_fatal)];
            let evidence = &reason.evidence;
            let since = evidence.since_millis.map(seconds).unwrap_or_default();
            let least = if evidence.is_least { " at least" } else { "" };
            self.line(format!("   -{kind}: {} <{}> since{least} {since}", reason.sentence, evidence.object));
        }
        let counts = view.counts;
        self.line(format!(
            "   available {} (new {}), not yet {}, failed {}, terminating {}, out {}, desired {}; {:?}",
            counts.available,
            counts.new_available,
            counts.not_yet,
            counts.failed,
            counts.terminating,
            counts.out_of_rotation,
            counts.desired,
            view.hold,
        ));
        let sets: Vec<String> = view.sets.iter().map(|set| format!("{}/{}", set.available, set.desired)).collect();
        self.line(format!("   sets {}; {}", sets.join(" "), view.budget));
        let deadline = view.deadline_millis.map_or_else(|| "none".to_owned(), seconds);
        self.line(format!("   deadline {deadline} {}", view.notice));
        let line = view::summary(web.timeline.model(), WEB, now).unwrap();
        let lately: Vec<String> = line
            .lately
            .steps
            .iter()
            .map(|(after, pods)| format!("{}:{pods:?}", seconds(line.lately.from_millis + i64::from(*after))))
            .collect();
        self.line(format!(
            "   line: {:?} replaces {:?}, {:?} of {}, since {}, finished {}, {}",
            line.revision,
            line.replaces,
            line.pods,
            line.desired,
            seconds(line.since_millis),
            line.finished_millis.map_or_else(|| "-".to_owned(), seconds),
            lately.join(" ").replace(", ", ","),
        ));
    }

    /// What is told in the end, and the document.
    pub fn end(mut self, web: &Web) -> String {
        self.line("== what is told");
        for line in timeline::story::story(web.timeline.model(), WEB) {
            self.line(format!("{} {:?} {}", seconds(line.at_millis), line.kind, line.text));
        }
        self.line("== the document");
        let document = timeline::document::document(web.timeline.model(), Some(0), Some(web.now));
        let document = serde_json::to_value(document).unwrap();
        for deployment in document["deployments"].as_array().unwrap() {
            for (key, value) in deployment.as_object().unwrap() {
                match value.as_array() {
                    Some(all) => all.iter().for_each(|one| self.line(format!("{key} {one}"))),
                    None => self.line(format!("{key} {value}")),
                }
            }
        }
        self.0.replace("00000000-0000-0000-0000-0000000000", "…")
    }
}

fn seconds(millis: Millis) -> String {
    format!("{}.{:03}", millis.div_euclid(1_000), millis.rem_euclid(1_000))
}
