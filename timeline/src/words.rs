//! Small words that every sentence uses: numbers, durations, names, and text from clusters made safe to show.

use crate::Millis;
use crate::fact::Image;

/// Longest cluster message repeated in a sentence, in characters.
const LONGEST_MESSAGE: usize = 200;

/// "1 pod", "2 pods".
#[must_use]
pub fn count(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// "is" or "are".
#[must_use]
pub const fn is_are(number: u32) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// A duration as people say it: "0.4 s", "12 s", "2 min 10 s", "3 h 5 min", "4 days".
#[must_use]
pub fn duration(millis: Millis) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{}.{} s", seconds, millis % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// How long ago something was, roughly: "18 s", "4 min", "9 h", "2 d".
#[must_use]
pub fn age(millis: Millis) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Time of day in UTC, "14:02:05".
#[must_use]
pub fn clock(at_millis: Millis) -> String {
    let seconds = at_millis.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The last five letters of a pod's name: what tells it from its siblings.
#[must_use]
pub fn short(name: &str) -> &str {
    let start = name.char_indices().rev().nth(4).map_or(0, |(index, _)| index);
    name.get(start..).unwrap_or(name)
}

/// Images in container order, joined.
#[must_use]
pub fn images(images: &[Image]) -> String {
    images.iter().map(|image| safe(&image.image)).collect::<Vec<_>>().join(", ")
}

/// "1", "1 and 2", "1, 2 and 3".
#[must_use]
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Text from a cluster, for people: one line, no control, zero-width or direction-changing characters, at most
/// 200 characters.
#[must_use]
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST_MESSAGE + 4));
    for (index, c) in visible(text).enumerate() {
        if index == LONGEST_MESSAGE {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// The characters of a text on one line, without control, zero-width and direction-changing ones.
pub fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).filter(|c| !is_hidden(*c))
}

/// Text from a cluster as the end of a sentence, with its full stop.
#[must_use]
pub fn sentence_end(text: &str) -> String {
    let text = safe(text.trim());
    if text.is_empty() || text.ends_with(['.', '…']) { text } else { format!("{text}.") }
}

/// A word for a shell: names of Kubernetes are plain, anything else is quoted.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let text = safe(text);
    let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What is said where somebody asks for a cluster that the server does not have.
#[must_use]
pub fn not_watched(cluster: &str) -> String {
    format!("This server does not watch a cluster named {}.", safe(cluster))
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_one_short_visible_line() {
        assert_eq!(safe("a\u{202e}b\u{200b}\x1b[31mc\nd"), "ab[31mc d");
        assert_eq!(safe(&"x".repeat(1_000_000)).chars().count(), 201);
    }

    #[test]
    fn hostile_names_stay_one_word() {
        assert_eq!(shell_word("web-1"), "web-1");
        assert_eq!(shell_word("a; rm -rf '$HOME'"), r"'a; rm -rf '\''$HOME'\'''");
    }

    #[test]
    fn durations_read_like_speech() {
        let said: Vec<String> =
            [-5, 940, 9_999, 12_345, 130_000, 11_100_000, 400_000_000].into_iter().map(duration).collect();
        assert_eq!(said, ["0.0 s", "0.9 s", "9.9 s", "12 s", "2 min 10 s", "3 h 5 min", "4 days"]);
    }

    #[test]
    fn clock_is_time_of_day() {
        assert_eq!(clock(1_795_236_786_365), "04:53:06");
    }

    #[test]
    fn short_names_do_not_split_characters() {
        assert_eq!(short("web-7d9f-2ktdq"), "2ktdq");
        assert_eq!(short("öäü"), "öäü");
    }
}
