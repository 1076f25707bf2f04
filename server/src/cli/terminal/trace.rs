//! `rollcast trace`: one rollout, live. A picture if standard output is a terminal, lines otherwise.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::text::Text;
use ratatui::widgets::Paragraph;
use timeline::Millis;
use timeline::story::{Line, LineKind};
use tokio::sync::mpsc;

use super::follower::Follower;
use super::origin::Origin;
use super::{clock, feed, moment, options, picture, plain};
use crate::telemetry::print;
use crate::telemetry::signals;

/// Interval of redrawing, so that durations in the picture advance.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Interval of checking for keys.
const KEYS_EVERY: Duration = Duration::from_millis(100);

/// Age at which a line about an external action is printed. Watches of different kinds overtake each other: until then the end of
/// a pod may turn out to be a step of the rollout.
const SETTLED_MILLIS: Millis = 1_500;

/// Runs the command until it is interrupted.
pub async fn trace(arguments: options::Trace) -> anyhow::Result<()> {
    let origin = Origin::open(&arguments.from).await?;
    let name = arguments.deployment.0;
    let heading = format!("{}/{} in {}, times are UTC", origin.namespace, name, origin.cluster);
    let mut follower = Follower::new(origin.is_server());
    if std::io::stdout().is_terminal() {
        let mut terminal = ratatui::try_init()?;
        let draw = |follower: &Follower, is_frame: bool| -> std::io::Result<()> {
            if is_frame {
                return Ok(()); // redrawn at an interval anyway
            }
            let now = follower.now_millis(Instant::now());
            let drawn = terminal.draw(|frame| {
                let area = frame.area();
                let lines = picture::picture(follower, &heading, area.width.into(), area.height.into(), now);
                frame.render_widget(Paragraph::new(Text::from(lines)), area);
            });
            drawn.map(drop)
        };
        let ended = follow(&origin, &name, &mut follower, keys(), draw).await;
        ratatui::try_restore()?;
        ended?;
        // The last state stays on the screen.
        writeln!(print::out(), "{}", plain(&heading))?;
        print_news(&mut PrintedLines::default(), &follower, &mut print::out())?;
        return Ok(());
    }
    let mut told = PrintedLines { waits_until_settled: true, ..PrintedLines::default() };
    let mut out = print::out();
    writeln!(out, "{}", plain(&heading))?;
    let (_nobody, no_keys) = mpsc::channel(1);
    let tell = |follower: &Follower, is_frame: bool| match is_frame || told.has_unsettled {
        true => print_news(&mut told, follower, &mut out),
        false => Ok(()),
    };
    let ended = follow(&origin, &name, &mut follower, no_keys, tell).await;
    told.waits_until_settled = false;
    print_news(&mut told, &follower, &mut out)?;
    ended
}

/// Follows a rollout until the user leaves. Shows it after each frame, and at an interval.
async fn follow(
    origin: &Origin,
    name: &str,
    follower: &mut Follower,
    mut leave: mpsc::Receiver<()>,
    mut show: impl FnMut(&Follower, bool) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut feed = feed::open(origin, name);
    let mut reshow = tokio::time::interval(REDRAW_EVERY);
    let mut interrupted = std::pin::pin!(signals::wait_for_interrupt());
    loop {
        tokio::select! {
            heard = feed.recv() => {
                let Some(heard) = heard else { return Ok(()) };
                if !follower.handle(heard?, Instant::now()) {
                    feed = feed::open(origin, name);
                }
                show(follower, true)?;
            }
            _ = reshow.tick() => show(follower, false)?,
            _ = leave.recv() => return Ok(()),
            () = &mut interrupted => return Ok(()),
        }
    }
}

/// Sends a message when the user leaves: q, Escape or Ctrl-C.
fn keys() -> mpsc::Receiver<()> {
    let (leave, wanted) = mpsc::channel(1);
    std::thread::spawn(move || {
        while !leave.is_closed() {
            // A closed terminal fails at once.
            let is_there = event::poll(KEYS_EVERY).inspect_err(|_| std::thread::sleep(KEYS_EVERY));
            let Ok(true) = is_there else { continue };
            let Ok(Event::Key(key)) = event::read() else { continue };
            let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                let _ = leave.blocking_send(()); // the receiver may have ended
                return;
            }
        }
    });
    wanted
}

#[derive(Default)]
pub(super) struct PrintedLines {
    connection: String,
    verdict: String,
    /// The last remedy. Its pod may be another one each time.
    remedy: Option<String>,
    lines: Vec<Line>,
    was_missing: bool,
    /// Lines that may still be corrected are not printed yet.
    waits_until_settled: bool,
    /// Whether there are such lines.
    has_unsettled: bool,
}

/// Prints new lines and sentences. A sentence is printed only together with whether it is current.
pub(super) fn print_news(told: &mut PrintedLines, follower: &Follower, out: &mut impl Write) -> std::io::Result<()> {
    if follower.connection.is_none() && follower.lost.is_none() {
        return Ok(());
    }
    let now = follower.now_millis(Instant::now());
    let connection = follower.connection_words();
    if told.connection != connection {
        writeln!(out, "{}  {connection}", clock(now))?;
        told.connection = connection;
    }
    if follower.is_connecting() {
        return out.flush(); // incomplete lists are not a story
    }
    let is_readable = || {
        follower
            .connection
            .iter()
            .flat_map(|now| &now.forbidden)
            .all(|missing| !missing.resource.starts_with("deployments"))
    };
    if follower.is_live() && follower.copy.deployment.is_none() && !told.was_missing && is_readable() {
        told.was_missing = true;
        writeln!(out, "{}  There is no such Deployment yet.", clock(now))?;
    }
    let story = &follower.copy.said.story;
    let waits = told.waits_until_settled && follower.is_live();
    let is_settled = |line: &&Line| !waits || line.kind != LineKind::Outside || now - line.at_millis >= SETTLED_MILLIS;
    // Printed lines remain, even if the clock or the connection goes back.
    let settled: Vec<&Line> = story.iter().filter(|line| is_settled(line) || told.lines.contains(line)).collect();
    for line in &settled {
        if !told.lines.contains(line) && !is_repeated(line, &told.lines, story) {
            writeln!(out, "{}  {:8}  {}", moment(line.at_millis, now), line.kind.name(), plain(&line.text))?;
        }
    }
    told.has_unsettled = settled.len() < story.len();
    if told.lines.iter().ne(settled.iter().copied()) {
        told.lines = settled.into_iter().cloned().collect();
    }
    if let Some(view) = &follower.copy.said.view {
        let verdict = format!("[{}] {}", plain(&view.verdict.badge), plain(&view.verdict.sentence));
        // A sentence with a running duration is printed once.
        let lasting = without_durations(&verdict);
        if told.verdict != lasting {
            let last = if follower.is_live() { "" } else { "Last seen: " };
            writeln!(out, "{}  {last}{verdict} {}", clock(now), plain(&view.explanation()))?;
            told.verdict = lasting;
        }
        let what = view.remedy.as_ref().map(|remedy| remedy.what.clone());
        if told.remedy != what {
            if let Some(remedy) = &view.remedy {
                writeln!(out, "{}  {}: {}", clock(now), plain(&remedy.what), plain(&remedy.command))?;
            }
            told.remedy = what;
        }
    }
    out.flush()
}

/// Returns whether a line was printed before with lower numbers or another duration: a crash loop, or a repeated Event.
fn is_repeated(line: &Line, printed: &[Line], story: &[Line]) -> bool {
    let words = |line: &Line| {
        let is_number = |word: &&str| word.trim_start_matches('(').bytes().all(|byte| byte.is_ascii_digit());
        without_durations(&line.text).split(' ').filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ")
    };
    let is_before = |known: &&Line| known.kind == line.kind && !story.contains(known);
    matches!(line.kind, LineKind::Bad | LineKind::Event)
        && printed.iter().filter(is_before).any(|known| words(known) == words(line))
}

/// Removes the durations from a sentence.
fn without_durations(text: &str) -> String {
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let is_unit = |word: &str| matches!(word.trim_end_matches(['.', ',', ':', ';']), "s" | "min" | "h" | "days");
    let text = text.replace("less than ", "");
    let words: Vec<&str> = text.split(' ').collect();
    let is_of_duration = |at: usize| {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        is_number(word(at)) && is_unit(word(at + 1)) || is_unit(word(at)) && at > 0 && is_number(word(at - 1))
    };
    let kept = words.iter().enumerate().filter(|(at, _)| !is_of_duration(*at)).map(|(_, word)| *word);
    kept.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_lasts_longer_is_the_same_sentence() {
        let said =
            |time: &str| without_durations(&format!("[Not observed] It has not reacted for {time}. 2 of 3 pods"));
        assert_eq!(said("5.2 s"), said("1 min 3 s"));
        assert_eq!(said("5.2 s"), said("less than 0.1 s"));
        assert_eq!(said("5.2 s"), "[Not observed] It has not reacted for 2 of 3 pods");
        assert_ne!(without_durations("1 of 3 new pods"), without_durations("2 of 3 new pods"));
    }

    #[test]
    fn a_line_whose_numbers_grow_is_printed_once() {
        let line = |kind, text: &str| Line { at_millis: 0, kind, text: text.to_owned() };
        let is_repeated = |kind, before: &str, after: &str| {
            let (before, after) = (line(kind, before), line(kind, after));
            is_repeated(&after, &[before], std::slice::from_ref(&after))
        };
        let restarted = |pods: &str, times: u32| format!("{pods}: container web was restarted {times} times in all.");
        assert!(is_repeated(LineKind::Bad, &restarted("2 pods", 3), &restarted("3 pods", 5)));
        let lasting = |times: u32, time: &str| format!("{} The last time {time} later.", restarted("2 pods", times));
        assert!(is_repeated(LineKind::Bad, &lasting(3, "12 s"), &lasting(9, "1 min 3 s")));
        assert!(is_repeated(LineKind::Event, "Odd on Pod a1 (2 times): why.", "Odd on Pod a1 (3 times): why."));
        assert!(!is_repeated(LineKind::Event, "Odd on Pod a1 (2 times): why.", "Odd on Pod a2 (2 times): why."));
        assert!(!is_repeated(LineKind::Step, "Revision 2 up 0 → 1", "Revision 2 up 1 → 2"));
        let (one, other) = (line(LineKind::Bad, "exit code 1"), line(LineKind::Bad, "exit code 2"));
        assert!(!super::is_repeated(&other, std::slice::from_ref(&one), &[one.clone(), other.clone()]));
    }
}
