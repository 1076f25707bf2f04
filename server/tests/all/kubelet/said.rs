//! What Rollcast said of each situation, and when.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kubelet::observe::now_millis;
use crate::kubelet::situation::Situation;
use crate::live::program::{Serving, get};

/// An observation takes so long to arrive, and what follows from it to be said.
const LATE_MILLIS: i64 = 3_000;

/// What a Rollcast says of all Deployments: `GET /api/v1/deployments`.
pub async fn deployments(program: &Serving) -> Value {
    let answer = get(&program.address, "/api/v1/deployments").await;
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// One answer about a Deployment, by milliseconds since the edit.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    at_millis: i64,
    tone: String,
    text: String,
}

/// All answers, by namespace.
#[derive(Default)]
pub struct Said(BTreeMap<String, Vec<Answer>>);

impl Said {
    /// Takes note of an answer about all Deployments that were edited, with when.
    pub fn hear(&mut self, answer: &Value, edited: &BTreeMap<String, i64>) {
        for deployment in answer["clusters"][0]["deployments"].as_array().unwrap() {
            let (verdict, namespace) = (&deployment["verdict"], deployment["namespace"].as_str().unwrap());
            let Some(edited_millis) = edited.get(namespace) else { continue };
            let text = |name: &str| verdict[name].as_str().unwrap_or_default();
            let words = format!("{} | {} | {}", text("badge"), text("sentence"), text("why"));
            self.note(namespace, now_millis() - edited_millis, text("tone"), words);
        }
    }

    /// Takes note of one answer.
    pub fn note(&mut self, namespace: &str, at_millis: i64, tone: &str, text: String) {
        let answer = Answer { at_millis, tone: tone.to_owned(), text };
        self.0.entry(namespace.to_owned()).or_default().push(answer);
    }

    /// What was said after 5, 15, 30 and 60 s and at the end, a table.
    pub fn print(&self, situations: &BTreeMap<String, Situation>) {
        for (name, situation) in situations {
            println!("\n{name}: {}", situation.title);
            let Some(answers) = self.0.get(name) else { continue };
            for seconds in [5, 15, 30, 60, i64::MAX / 1000] {
                let answer = answers.iter().take_while(|answer| answer.at_millis <= seconds * 1000).last();
                if let Some(Answer { at_millis, tone, text }) = answer {
                    println!("  {:3} s {tone:5} {text}", at_millis / 1000);
                }
            }
        }
    }

    /// Where something else was said than the situation allows; the first answer of each kind.
    pub fn failures(&self, name: &str, situation: &Situation, exit_millis: Option<i64>) -> Vec<String> {
        let Some(answers) = self.0.get(name) else { return vec![format!("{name}: nothing was said")] };
        let mut failures = Vec::new();
        let mut expect = |from: i64, to: i64, tones: &[String]| {
            let wrong =
                answers.iter().find(|answer| (from..to).contains(&answer.at_millis) && !tones.contains(&answer.tone));
            if let Some(Answer { at_millis, tone, text }) = wrong {
                let seconds = at_millis / 1000;
                failures.push(format!("{name}: {tone} after {seconds} s, expected {}: {text}", tones.join(" or ")));
            }
        };
        for expected in &situation.said {
            expect(expected.from * 1000, expected.to.saturating_mul(1000), &expected.tone);
        }
        match (&situation.after, exit_millis) {
            (Some(after), Some(millis)) => expect(millis + LATE_MILLIS, i64::MAX, &after.tone),
            (Some(_), None) => failures.push(format!("{name}: its containers never exited so often")),
            (None, _) => {}
        }
        if let Some(cause) = &situation.cause {
            let told = answers.iter().rfind(|answer| answer.tone == "bad").or(answers.last());
            let text = told.map_or("", |answer| &answer.text);
            if !text.contains(cause.as_str()) {
                failures.push(format!("{name}: not a word of {cause:?}: {text}"));
            }
        }
        failures
    }
}
