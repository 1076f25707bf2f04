//! Prints what is said while a recording plays, each change of badge, sentence or cause with its time: `said FILE…`.

use server::feed::recording::Recording;
use timeline::view::{self, Now};
use timeline::{Millis, Timeline};

const LOOK_EVERY: Millis = 250;

fn main() {
    for path in std::env::args().skip(1) {
        println!("== {path}");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let recording = Recording::read(&text);
        let Some((from, to)) = recording.span() else { continue };
        let mut timeline = Timeline::new();
        let mut observed = recording.observed.into_iter().peekable();
        let mut last: Vec<(timeline::Uid, String)> = Vec::new();
        let mut now = from;
        while now <= to + LOOK_EVERY {
            while let Some(next) = observed.next_if(|next| next.at_millis <= now) {
                next.apply(&mut timeline);
            }
            timeline.tick(now);
            for deployment in timeline.model().deployments.values() {
                let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
                let Some(view) = view::view(timeline.model(), deployment.uid, clock) else { continue };
                let digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
                let key = format!("{} {} {}", view.verdict.badge, view.verdict.sentence, digits(&view.verdict.why));
                if last.iter().any(|(uid, known)| *uid == deployment.uid && *known == key) {
                    continue;
                }
                last.retain(|(uid, _)| *uid != deployment.uid);
                last.push((deployment.uid, key));
                let fatal = if view.reasons.iter().any(|reason| reason.is_fatal) { " FATAL" } else { "" };
                println!(
                    "{:>7.2} {} [{}/{}{fatal}] {} | {}",
                    (now - from) as f64 / 1000.0,
                    deployment.name,
                    view.verdict.badge,
                    view.verdict.tone.name(),
                    view.verdict.sentence,
                    view.verdict.why
                );
            }
            now += LOOK_EVERY;
        }
    }
}
