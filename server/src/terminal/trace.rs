//! `rollcast trace`: one rollout, live. A picture where standard output is a terminal, lines where it is not.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::text::Text;
use ratatui::widgets::Paragraph;
use timeline::words;
use tokio::sync::mpsc;

use super::feed::{self, Feed};
use super::follower::Follower;
use super::{Origin, clock, picture, plain};
use crate::cli;

/// Durations in the picture run on this often.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Keys are looked for this often.
const KEYS_EVERY: Duration = Duration::from_millis(100);

/// Runs the command until it is interrupted.
///
/// # Errors
/// When the Deployment cannot be followed.
pub async fn trace(arguments: cli::Trace) -> anyhow::Result<()> {
    let origin = Origin::open(&arguments.from).await?;
    let name = arguments.deployment.0;
    let place = format!("{}/{} in {}", origin.namespace(), name, origin.cluster());
    let feed = feed::open(&origin, &name);
    if std::io::stdout().is_terminal() {
        let mut terminal = ratatui::try_init()?;
        let ended = draw(&mut terminal, feed, &origin, &name, &place).await;
        ratatui::try_restore()?;
        let follower = ended?;
        // What was last seen stays on the screen.
        writeln!(std::io::stdout(), "{}", heading(&place))?;
        tell(&mut Printed::default(), &follower, &mut std::io::stdout())?;
        return Ok(());
    }
    lines(feed, &origin, &name, &place).await
}

async fn draw(
    terminal: &mut DefaultTerminal,
    mut feed: Feed,
    origin: &Origin,
    name: &str,
    place: &str,
) -> anyhow::Result<Follower> {
    let mut follower = Follower::new(origin.is_server());
    let mut keys = keys();
    let mut redraw = tokio::time::interval(REDRAW_EVERY);
    loop {
        tokio::select! {
            heard = feed.recv() => {
                let Some(heard) = heard else { return Ok(follower) };
                if !follower.hear(heard?, Instant::now()) {
                    feed = feed::open(origin, name);
                }
            }
            _ = redraw.tick() => {
                let now = follower.now_millis(Instant::now());
                terminal.draw(|frame| {
                    let area = frame.area();
                    let lines = picture::picture(&follower, place, area.width.into(), area.height.into(), now);
                    frame.render_widget(Paragraph::new(Text::from(lines)), area);
                })?;
            }
            _ = keys.recv() => return Ok(follower),
            () = crate::signals::interrupted() => return Ok(follower),
        }
    }
}

/// Says when somebody wants to leave: q, Escape or Ctrl-C.
fn keys() -> mpsc::Receiver<()> {
    let (leave, wanted) = mpsc::channel(1);
    std::thread::spawn(move || {
        while !leave.is_closed() {
            let Ok(true) = event::poll(KEYS_EVERY) else { continue };
            let Ok(Event::Key(key)) = event::read() else { continue };
            let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                let _ = leave.blocking_send(()); // it may have left already
                return;
            }
        }
    });
    wanted
}

async fn lines(mut feed: Feed, origin: &Origin, name: &str, place: &str) -> anyhow::Result<()> {
    let mut follower = Follower::new(origin.is_server());
    let mut told = Printed::default();
    let mut out = std::io::stdout();
    writeln!(out, "{}", heading(place))?;
    loop {
        tokio::select! {
            heard = feed.recv() => {
                let Some(heard) = heard else { return Ok(()) };
                if !follower.hear(heard?, Instant::now()) {
                    feed = feed::open(origin, name);
                }
                tell(&mut told, &follower, &mut out)?;
            }
            () = crate::signals::interrupted() => return Ok(()),
        }
    }
}

/// The first line: what is followed, and which zone the times below are in.
fn heading(place: &str) -> String {
    format!("{}, times are UTC", plain(place))
}

/// What was told already.
#[derive(Default)]
pub(super) struct Printed {
    connection: String,
    verdict: String,
    remedy: Option<timeline::view::Command>,
    lines: Vec<timeline::story::Line>,
    was_missing: bool,
}

/// Writes what is new, a line each. What was seen is told only together with whether it is so now.
pub(super) fn tell(told: &mut Printed, follower: &Follower, out: &mut impl Write) -> std::io::Result<()> {
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
        return out.flush(); // parts of lists are no story
    }
    if follower.is_live() && follower.copy.deployment.is_none() && !told.was_missing {
        told.was_missing = true;
        writeln!(out, "{}  There is no such Deployment yet.", clock(now))?;
    }
    for line in &follower.copy.said.story {
        if !told.lines.contains(line) {
            writeln!(out, "{}  {:8}  {}", words::moment(line.at_millis, now), line.kind.name(), plain(&line.text))?;
        }
    }
    if told.lines != follower.copy.said.story {
        told.lines.clone_from(&follower.copy.said.story);
    }
    if let Some(view) = &follower.copy.said.view {
        let verdict = format!("[{}] {}", plain(&view.verdict.badge), plain(&view.verdict.sentence));
        if told.verdict != verdict {
            let last = if follower.is_live() { "" } else { "Last seen: " };
            writeln!(out, "{}  {last}{verdict} {}", clock(now), plain(&view.explanation()))?;
            told.verdict = verdict;
        }
        if told.remedy != view.remedy {
            if let Some(remedy) = &view.remedy {
                writeln!(out, "{}  {}: {}", clock(now), plain(&remedy.what), plain(&remedy.command))?;
            }
            told.remedy.clone_from(&view.remedy);
        }
    }
    out.flush()
}
