//! The picture of a rollout in a terminal: verdict, budget, a block per revision, story. Pure: computes lines of styled text from
//! a follower and a size.

use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use timeline::model::{Deployment, Pod, PodState, ReplicaSet};
use timeline::story::{self, LineKind};
use timeline::view::{Command, Tone, View};
use timeline::words::{count, duration, images, safe, short};
use timeline::{Millis, Model, order, rollout, say};

use super::follower::Follower;
use super::{moment, plain};

/// Lines of the story that are always shown, if there is room for anything.
const STORY_LINES: usize = 6;
/// Lines of pod marks per revision, if pods do not have a line each.
const MARK_LINES: usize = 4;

/// A block of pods: one ReplicaSet, or the pods out of rotation.
struct Block<'f> {
    title: Line<'static>,
    pods: Vec<&'f Pod>,
}

/// Draws the current state, for a terminal of this size.
pub(super) fn picture(
    follower: &Follower,
    heading: &str,
    width: usize,
    height: usize,
    now: Millis,
) -> Vec<Line<'static>> {
    let mut lines: Vec<Line> = wrapped(&plain(heading), width).into_iter().map(|row| Line::raw(row).bold()).collect();
    lines.extend(wrapped(&follower.connection_words(), width).into_iter().map(|row| Line::raw(row).dark_gray()));
    let Some(deployment) = follower.copy.deployment() else {
        lines.push(Line::raw(""));
        let words = if follower.is_live() {
            "There is no such Deployment yet. It is shown as soon as it appears."
        } else {
            "Waiting for the first data."
        };
        lines.extend(wrapped(words, width).into_iter().map(Line::raw));
        return lines;
    };
    if let Some(view) = &follower.copy.said.view {
        lines.extend(verdict(view, !follower.is_connecting(), width, now));
    }
    let blocks = blocks(&follower.copy.model, deployment);
    let pods: usize = blocks.iter().map(|block| block.pods.len()).sum();
    let newest = follower.copy.said.story.iter().rev().take(height).rev();
    let story: Vec<Line> = newest.flat_map(|told| story_rows(told, width, now)).collect();
    // An empty line and the title of the story stand before its rows.
    let above = height.saturating_sub(story.len().min(STORY_LINES).min(height / 3) + 2);
    if lines.len() > above {
        lines.truncate(above.saturating_sub(1));
        lines.push(Line::raw("…"));
    }
    let room = above.saturating_sub(lines.len());
    let is_listed = pods + 2 * blocks.len() <= room;
    let mut rows = Vec::new();
    for block in blocks {
        rows.push(Line::raw(""));
        rows.push(block.title);
        if is_listed {
            rows.extend(block.pods.iter().map(|pod| pod_line(pod, now)));
        } else {
            rows.extend(marks(&block.pods, width));
        }
    }
    if rows.len() > room {
        // Earlier revisions come first; the current one and pods out of rotation are last.
        rows = rows.split_off(rows.len() - room);
        if let Some(first) = rows.first_mut() {
            *first = Line::raw("…");
        }
    }
    lines.extend(rows);
    lines.push(Line::raw(""));
    lines.push(Line::raw("What the controllers did").bold());
    let left = height.saturating_sub(lines.len());
    let skip = story.len().saturating_sub(left);
    lines.extend(story.into_iter().skip(skip));
    lines
}

/// Draws a line of the story; further rows are indented to its text.
fn story_rows(told: &story::Line, width: usize, now: Millis) -> Vec<Line<'static>> {
    let style = match told.kind {
        LineKind::Revision | LineKind::Done => Style::new().bold(),
        LineKind::Bad => Style::new().red(),
        LineKind::Event | LineKind::Unknown => Style::new().dark_gray(),
        LineKind::Step | LineKind::Outside => Style::new(),
    };
    let mut before = format!("{}  ", moment(told.at_millis, now));
    let indent = before.chars().count();
    let mut rows = Vec::new();
    for row in wrapped(&plain(&told.text), width.saturating_sub(indent)) {
        rows.push(Line::from(vec![before.dark_gray(), Span::styled(row, style)]));
        before = " ".repeat(indent);
    }
    rows
}

/// Draws the verdict; with `has_command` also the command for copying.
fn verdict(view: &View, has_command: bool, width: usize, now: Millis) -> Vec<Line<'static>> {
    let said = &view.verdict;
    let color = match said.tone {
        Tone::Ok => Color::Green,
        Tone::Busy => Color::Yellow,
        Tone::Bad => Color::Red,
        Tone::Quiet => Color::DarkGray,
    };
    let badge = format!("[{}]", plain(&said.badge));
    let mut lines: Vec<Line> = Vec::new();
    for row in wrapped(&format!("{badge} {}", plain(&said.sentence)), width) {
        lines.push(match row.strip_prefix(&badge) {
            Some(sentence) => Line::from(vec![badge.clone().fg(color).bold(), sentence.to_owned().bold()]),
            None => Line::raw(row).bold(),
        });
    }
    for text in [&said.why, &view.next] {
        lines.extend(wrapped(&plain(text), width).into_iter().map(Line::raw));
    }
    if let Some(remedy) = view.remedy.as_ref().filter(|_| has_command) {
        lines.extend(remedy_rows(remedy, width));
    }
    lines.extend(wrapped(&plain(&view.budget), width).into_iter().map(|line| Line::raw(line).dark_gray()));
    let mut last = format!("kubectl rollout status: {}", say::kubectl(said.kubectl));
    if let Some(deadline) = view.deadline_millis {
        let left = deadline - now;
        let deadline = if left > 0 { format!("deadline in {}", duration(left)) } else { "deadline passed".to_owned() };
        last = format!("{deadline} · {last}");
    }
    lines.extend(wrapped(&last, width).into_iter().map(|row| Line::raw(row).dark_gray()));
    lines
}

/// Draws a command for copying. It is never cut: its beginning may be another valid command.
fn remedy_rows(remedy: &Command, width: usize) -> Vec<Line<'static>> {
    let (what, command) = (format!("{}: ", plain(&remedy.what)), plain(&remedy.command));
    let (what_width, command_width) = (columns(&what), columns(&command));
    if what_width + command_width <= width {
        return vec![Line::from(vec![Span::raw(what), command.bold()])];
    }
    let is_shown = command_width <= width;
    let words = if is_shown { what } else { format!("{what}press q to print the command.") };
    let mut rows: Vec<Line> = wrapped(&words, width).into_iter().map(Line::raw).collect();
    if is_shown {
        rows.push(Line::raw(command).bold());
    }
    rows
}

/// Returns revisions with content, the current one last, then the pods out of rotation.
fn blocks<'f>(model: &'f Model, deployment: &Deployment) -> Vec<Block<'f>> {
    let uid = deployment.uid;
    let current = rollout::current_set(model, deployment).map(|set| set.uid);
    let sets: Vec<&ReplicaSet> = order::sort_by(model.sets_of(uid).collect(), |set| {
        (i64::from(current == Some(set.uid)), u128::from(set.revision().unwrap_or(0)))
    });
    let mut blocks = Vec::new();
    for set in sets {
        let pods = existing_pods(model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid)));
        let is_current = current == Some(set.uid);
        if pods.is_empty() && !is_current && set.now.counts.desired == 0 {
            continue;
        }
        blocks.push(Block { title: title(set, &pods, is_current), pods });
    }
    let out = existing_pods(model.pods_of_deployment(uid).into_iter().filter(|pod| pod.is_out_of_rotation()));
    if !out.is_empty() {
        let is_removed = out.iter().any(|pod| model.is_left_behind(pod));
        let title = if is_removed { "Without a ReplicaSet" } else { "Outside their ReplicaSet" };
        blocks.push(Block { title: Line::raw(title).magenta().bold(), pods: out });
    }
    blocks
}

fn existing_pods<'m>(pods: impl Iterator<Item = &'m Pod>) -> Vec<&'m Pod> {
    let there = pods.filter(|pod| pod.state() != PodState::Gone).collect();
    order::sort_by(there, |pod| (pod.first_seen_millis(), pod.uid.bits()))
}

fn title(set: &ReplicaSet, pods: &[&Pod], is_current: bool) -> Line<'static> {
    let available = pods.iter().filter(|pod| pod.state() == PodState::Available).count();
    let going = pods.iter().filter(|pod| pod.state() == PodState::Terminating).count();
    let revision = set.revision().map_or_else(|| "Revision unknown".to_owned(), |r| format!("Revision {r}"));
    let before: Vec<String> = set.revisions.iter().rev().skip(1).map(|(revision, _)| revision.to_string()).collect();
    let was = if before.is_empty() { String::new() } else { format!(" (was {})", before.join(", ")) };
    let gone = if set.removed_millis.is_some() { ", ReplicaSet deleted" } else { "" };
    let drains = if going > 0 { format!(", {} draining", count(going as u32, "pod")) } else { String::new() };
    let bold = if is_current { Modifier::BOLD } else { Modifier::empty() };
    Line::from(vec![
        Span::styled(format!("{revision}{was}"), Style::new().add_modifier(bold)),
        Span::raw(format!("  {}  ", images(&set.images))),
        format!("{available} of {} available{drains}{gone}", set.now.counts.desired).dark_gray(),
    ])
}

fn pod_line(pod: &Pod, now: Millis) -> Line<'static> {
    let (mark, style) = mark(pod);
    let node = pod.now.node.as_deref().map(safe).unwrap_or_default();
    let mut state = say::pod(pod);
    if pod.now.restarts > 0 {
        state.push_str(&format!(", {}", count(pod.now.restarts, "restart")));
    }
    Line::from(vec![
        Span::raw("  "),
        Span::styled(mark, style),
        Span::raw(format!(" {}  ", safe(short(&pod.name)))),
        Span::styled(plain(&state), style),
        format!("  {}  {node}", duration(now - pod.since_millis())).dark_gray(),
    ])
}

/// Draws a mark for each pod, if there is no room for a line each; counts if there is no room for marks either.
fn marks(pods: &[&Pod], width: usize) -> Vec<Line<'static>> {
    let per_line = width.saturating_sub(2).max(10);
    if pods.len() <= per_line * MARK_LINES {
        return pods
            .chunks(per_line)
            .map(|chunk| {
                let marks = chunk.iter().map(|pod| {
                    let (mark, style) = mark(pod);
                    Span::styled(mark, style)
                });
                Line::from(std::iter::once(Span::raw("  ")).chain(marks).collect::<Vec<_>>())
            })
            .collect();
    }
    let mut counted: Vec<(&Pod, usize)> = Vec::new();
    for pod in pods {
        match counted.iter_mut().find(|(known, _)| known.state() == pod.state()) {
            Some((_, number)) => *number += 1,
            None => counted.push((pod, 1)),
        }
    }
    let mut spans = vec![Span::raw("  ")];
    for (pod, number) in counted {
        let (mark, style) = mark(pod);
        spans.push(Span::styled(format!("{mark} {number} {}   ", pod.state().label()), style));
    }
    vec![Line::from(spans)]
}

/// Returns shape and colour of a pod's state; never only the colour.
fn mark(pod: &Pod) -> (&'static str, Style) {
    if pod.is_out_of_rotation() && pod.state() != PodState::Terminating {
        return ("◍", Style::new().magenta());
    }
    let (mark, color) = match pod.state() {
        PodState::Scheduling => ("·", Color::DarkGray),
        PodState::Starting => ("◌", Color::Blue),
        PodState::Unready => ("○", Color::Yellow),
        PodState::Ready => ("◐", Color::Cyan),
        PodState::Available => ("●", Color::Green),
        PodState::Failing => ("✗", Color::Red),
        PodState::Finished => ("✓", Color::DarkGray),
        PodState::Terminating => ("⊖", Color::Magenta),
        PodState::Gone => ("×", Color::DarkGray),
    };
    (mark, Style::new().fg(color))
}

/// Counts the columns of a text in a terminal: Chinese, Japanese and Korean letters take two.
fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

/// Breaks a text at spaces, and words that are longer than a line anywhere.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                let mut piece = String::new();
                for letter in word.chars() {
                    piece.push(letter);
                    if columns(&piece) > width {
                        piece.pop();
                        lines.push(std::mem::replace(&mut piece, letter.to_string()));
                    }
                }
                lines.push(piece);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use timeline::model::RemovedBecause;
    use timeline::view::{self, Now};
    use timeline::wire::{Connection, ConnectionState, Objects};
    use timeline::{Change, Timeline};

    use super::*;
    use crate::feed::recording::Recording;

    /// Follows a recording for this many seconds; also returns the time at its end.
    fn followed(recording: &str, seconds: i64) -> (Follower, Millis) {
        let recording = Recording::read(recording);
        let until = recording.span().unwrap().0 + seconds * 1000;
        let mut timeline = Timeline::new();
        for observed in recording.observed.into_iter().filter(|observed| observed.at_millis <= until) {
            observed.fact.into_iter().for_each(|fact| drop(timeline.apply(observed.at_millis, fact)));
        }
        timeline.tick(until);
        let uid = *timeline.model().deployments.keys().next().unwrap();
        let mut follower = Follower::default();
        follower.connection = Some(Connection { state: ConnectionState::Live, ..Connection::default() });
        (follower.copy.model, follower.copy.deployment) = (Model::from(Objects::of(timeline.model(), uid)), Some(uid));
        follower.copy.said.view = view::view(timeline.model(), uid, Now { millis: until, skew_millis: 0 });
        follower.copy.said.story = story::story(timeline.model(), uid);
        (follower, until)
    }

    /// Draws a recording after this many seconds.
    fn shown(recording: &str, seconds: i64, width: usize, height: usize) -> String {
        let (follower, until) = followed(recording, seconds);
        let lines = picture(&follower, "shop/web in test, times are UTC", width, height, until);
        lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
    }

    #[test]
    fn a_stuck_rollout_in_a_terminal() {
        insta::assert_snapshot!(shown(include_str!("../../../tests/traces/image-missing.jsonl"), 19, 100, 40));
    }

    #[test]
    fn a_line_of_the_story_has_its_date_where_that_is_another_day() {
        let (follower, until) = followed(include_str!("../../../tests/traces/image-missing.jsonl"), 19);
        let last = |now| picture(&follower, "shop/web", 120, 40, now).pop().unwrap().to_string();
        let text = "Progress deadline passed for revision 2. Kubernetes does not roll back by itself.";
        assert_eq!(last(until), format!("04:53:50  {text}"));
        assert_eq!(last(until + 86_400_000), format!("2026-11-21 04:53:50  {text}"));
    }

    #[test]
    fn a_pod_out_of_rotation_in_a_terminal() {
        insta::assert_snapshot!(shown(include_str!("../../../tests/traces/relabel-pod.jsonl"), 8, 100, 40));
    }

    #[test]
    fn a_pod_whose_replica_set_is_deleted_is_in_a_block_without_one() {
        let (mut follower, until) = followed(include_str!("../../../tests/traces/relabel-pod.jsonl"), 8);
        let model = &mut follower.copy.model;
        let set = model.pods.values().find(|pod| pod.is_out_of_rotation()).and_then(Pod::last_owner).unwrap();
        model.apply_change(Change::ReplicaSetRemoved(set, until, RemovedBecause::Deleted));
        let last = blocks(&follower.copy.model, follower.copy.deployment().unwrap()).pop().unwrap();
        assert_eq!(last.title.to_string(), "Without a ReplicaSet");
    }

    #[test]
    fn a_pod_that_another_replica_set_adopted_is_in_one_block() {
        let (mut follower, _) = followed(include_str!("../../../tests/traces/rolling-one-by-one.jsonl"), 12);
        let model = &mut follower.copy.model;
        let living = model.pods.values().find(|pod| pod.state() != PodState::Gone && pod.owner.is_some());
        let (pod, owner) = living.map(|pod| (pod.uid, pod.owner)).unwrap();
        let other = model.replica_sets.keys().copied().find(|set| Some(*set) != owner).unwrap();
        model.apply_change(Change::PodAdopted(pod, other, 0));
        let blocks = blocks(&follower.copy.model, follower.copy.deployment().unwrap());
        assert_eq!(blocks.iter().filter(|block| block.pods.iter().any(|one| one.uid == pod)).count(), 1);
    }

    #[test]
    fn many_pods_in_a_low_terminal_are_a_mark_each() {
        insta::assert_snapshot!(shown(include_str!("../../../tests/traces/rolling-one-by-one.jsonl"), 12, 80, 24));
    }

    #[test]
    fn a_small_terminal_shows_the_verdict_and_the_newest_lines_whole() {
        let shown = |width| shown(include_str!("../../../tests/traces/image-missing.jsonl"), 19, width, 24);
        assert_eq!(
            shown(40),
            "\
shop/web in test, times are UTC
Live
[Deadline exceeded] Revision 2 cannot
start: image web:missing is not found.
Image web:missing cannot be pulled: not
found (pod twm7j). Can't add or remove
pods: 4 of at most 4 pods desired, 3 of
at least 3 are available.
When a new pod becomes available, an old
one can be removed (floor 3). Kubernetes
reported at 04:53:50 UTC that the
progress deadline passed; it keeps
trying and does not roll back by itself.
Undo this rollout: press q to print the
command.
…

What the controllers did
04:53:48  Event Failed on Pod twm7j (4
          times): Failed to pull image:
          manifest unknown.
04:53:50  Progress deadline passed for
          revision 2. Kubernetes does
          not roll back by itself.
"
        );
        let command = "\nUndo this rollout: kubectl --namespace image-missing rollout undo deployment/web\n";
        assert!(shown(80).contains(command), "{}", shown(80));
        assert!(!shown(79).contains("Undo this rollout: kubectl"), "{}", shown(79));
        let ends = [(60, "          Kubernetes does not roll back by itself.\n"), (80, "          by itself.\n")];
        for (width, last) in ends {
            let shown = shown(width);
            assert!(shown.ends_with(last) && shown.lines().count() == 24, "{shown}");
        }
    }

    #[test]
    fn a_silent_cluster_is_told_whole_beside_a_long_name() {
        let (mut follower, until) = followed(include_str!("../../../tests/traces/image-missing.jsonl"), 19);
        follower.lost = Some("the connection was reset".to_owned());
        let lines = picture(&follower, &"a".repeat(90), 40, 24, until);
        let first: Vec<String> = lines.iter().take(5).map(ToString::to_string).collect();
        let (whole, rest) = ("a".repeat(40), "a".repeat(10));
        let told = ["No connection to the server: the", "connection was reset. Trying again."];
        assert_eq!(first, [whole.as_str(), &whole, &rest, told[0], told[1]]);
    }

    #[test]
    fn letters_of_two_columns_stay_within_the_terminal() {
        let wide = "映".repeat(10);
        assert_eq!(wrapped(&format!("{wide}映"), 20), [wide.as_str(), "映"]);
        assert_eq!(wrapped(&format!("v2 {wide} ok"), 24), [format!("v2 {wide}"), "ok".to_owned()]);
    }

    #[test]
    fn nothing_commands_the_terminal() {
        let mut follower = Follower::default();
        follower.lost = Some("\x1b[2Jgone\u{202e}".to_owned());
        let lines = picture(&follower, "shop/\x1b]0;title\x07web", 80, 24, 0);
        let text: String = lines.iter().map(ToString::to_string).collect();
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
}
