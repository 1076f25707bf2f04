//! Formats values as text: numbers, durations, times, images, names, and text from clusters made safe to show.
//! Owns the lengths and characters that are allowed on a page, and the quoting for a shell.
//! Must not know sentences or objects.

mod image;

use crate::Millis;

pub use image::{ShortImage, image_parts, images, short_image};

/// Longest cluster message repeated in a sentence, in characters.
const LONGEST_MESSAGE: usize = 200;
/// Longest name of an object of Kubernetes, in characters.
const LONGEST_NAME: usize = 253;

/// Capitalizes the first letter of a sentence of ours. ASCII only: the tables of all letters would travel to every
/// browser.
pub fn capitalized(mut text: String) -> String {
    if let Some(initial) = text.get_mut(..1) {
        initial.make_ascii_uppercase();
    }
    text
}

/// Formats a count with its noun: "1 pod", "2 pods".
pub fn count(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Formats a number: "1,284".
pub fn grouped(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", grouped(number / 1_000), number % 1_000) }
}

/// Formats a number with its noun: "1 Deployment", "1,284 Deployments".
pub fn grouped_count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}

/// Returns "is" or "are".
pub const fn is_are(number: u32) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Returns "was" or "were".
pub const fn was_were(number: u32) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

/// Formats a duration: "0.4 s", "12 s", "2 min 10 s", "3 h 5 min", "4 days".
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

/// Formats a duration for a sentence: one that the figures of [`duration`] do not show is "less than 0.1 s".
pub fn duration_in_words(millis: Millis) -> String {
    if millis < 100 { "less than 0.1 s".to_owned() } else { duration(millis) }
}

/// Formats a rough age: "18 s", "4 min", "9 h", "2 d".
pub fn age(millis: Millis) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Formats the time of day in UTC: "14:02:05".
pub fn clock(at_millis: Millis) -> String {
    let seconds = at_millis.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Milliseconds of half a day: a time of day without its date may be any further away.
const HALF_DAY_MILLIS: Millis = 43_200_000;

/// Formats a moment in UTC: the time of day within twelve hours of `now_millis`, else with its date, "2026-11-23
/// 09:15:00".
pub fn moment(at_millis: Millis, now_millis: Millis) -> String {
    if at_millis.abs_diff(now_millis) < HALF_DAY_MILLIS.unsigned_abs() {
        clock(at_millis)
    } else {
        format!("{} {}", date(at_millis), clock(at_millis))
    }
}

/// Formats a date in UTC: "2026-11-23".
pub fn date(at_millis: Millis) -> String {
    // Days since 0000-03-01, so that a leap day ends its year (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let days = at_millis.div_euclid(86_400_000) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + late)
}

/// Returns the last five letters of a pod's name, which differ from those of its siblings.
pub fn short(name: &str) -> &str {
    let start = name.char_indices().rev().nth(4).map_or(0, |(index, _)| index);
    name.get(start..).unwrap_or(name)
}

/// Joins texts: "1", "1 and 2", "1, 2 and 3".
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Makes a text from a cluster safe to show: one line, no control, zero-width or direction-changing characters, at most
/// 200 characters.
pub fn safe(text: &str) -> String {
    let mut visible = visible(text);
    let mut out: String = visible.by_ref().take(LONGEST_MESSAGE).collect();
    out.extend(visible.next().map(|_| '…'));
    out
}

/// Returns the characters of a text on one line, without control, zero-width and direction-changing ones.
pub fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).filter(|c| !is_hidden(*c))
}

/// Makes a text from a cluster the end of a sentence, with its full stop.
pub fn sentence_end(text: &str) -> String {
    let text = safe(text.trim());
    if text.is_empty() || text.ends_with(['.', '…']) { text } else { format!("{text}.") }
}

/// Quotes a word for a shell, if needed: names of Kubernetes are plain. A long one is not cut, as it would be the name
/// of something else. A word that begins with "-" would be an option: with a space before it, it is none.
pub fn shell_word(text: &str) -> String {
    let mut text: String = visible(text).take(LONGEST_NAME).collect();
    if text.starts_with('-') {
        text.insert(0, ' ');
    }
    let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Text for a viewer who sees no cluster.
pub const NO_CLUSTER: &str = "No cluster can be shown to you.";

/// Returns the response to a request for a cluster that the server does not have.
pub fn not_watched(cluster: &str) -> String {
    format!("This server does not watch a cluster named {}.", safe(cluster))
}

/// Returns whether a character is not seen: a control character, or one that has no width or changes the direction of
/// what follows. Those that Unicode calls default ignorable are among them: letters of the block of tags can spell out
/// whole sentences that only programs read.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_284, 1_000_000].map(grouped), ["0", "999", "1,284", "1,000,000"]);
    }

    #[test]
    fn hostile_text_is_one_short_visible_line() {
        assert_eq!(safe("a\u{202e}b\u{200b}\x1b[31mc\nd"), "ab[31mc d");
        assert_eq!(safe("a\u{e0041}\u{e007f}\u{e0100}b\u{fe0f}\u{3164}\u{34f}c\u{fffc}é公"), "abc\u{fffc}é公");
        assert_eq!(safe(&"x".repeat(1_000_000)).chars().count(), 201);
    }

    #[test]
    fn hostile_names_stay_one_word() {
        assert_eq!(shell_word("web-1"), "web-1");
        let longest = "x".repeat(253);
        assert_eq!(shell_word(&longest), longest);
        assert_eq!(shell_word(&"x".repeat(1_000_000)).len(), 253);
        assert_eq!(shell_word("--kubeconfig=/tmp/x"), "' --kubeconfig=/tmp/x'");
        assert_eq!(shell_word("a; rm -rf '$HOME'"), r"'a; rm -rf '\''$HOME'\'''");
    }

    #[test]
    fn durations_change_their_units_where_people_do() {
        for (millis, long, rough) in [
            (-5, "0.0 s", "0 s"),
            (940, "0.9 s", "0 s"),
            (9_999, "9.9 s", "9 s"),
            (10_000, "10 s", "10 s"),
            (59_999, "59 s", "59 s"),
            (60_000, "1 min 0 s", "1 min"),
            (130_000, "2 min 10 s", "2 min"),
            (3_599_999, "59 min 59 s", "59 min"),
            (3_600_000, "1 h 0 min", "1 h"),
            (11_100_000, "3 h 5 min", "3 h"),
            (172_799_999, "47 h 59 min", "47 h"),
            (172_800_000, "2 days", "2 d"),
            (259_199_999, "2 days", "2 d"),
            (400_000_000, "4 days", "4 d"),
        ] {
            assert_eq!((duration(millis), age(millis)), (long.to_owned(), rough.to_owned()));
        }
        assert_eq!([0, 99, 100].map(duration_in_words), ["less than 0.1 s", "less than 0.1 s", "0.1 s"]);
    }

    #[test]
    fn a_day_of_the_clock_begins_at_midnight() {
        let said = [0, 59_999, 60_000, 17_586_365, 3_599_999, 3_600_000, 86_400_000, -1].map(clock);
        let words = ["00:00:00", "00:00:59", "00:01:00", "04:53:06", "00:59:59", "01:00:00", "00:00:00", "23:59:59"];
        assert_eq!(said, words);
    }

    #[test]
    fn a_moment_further_away_than_half_a_day_has_its_date() {
        let now = 1_795_390_200_000; // 2026-11-22 23:30:00
        let half = 43_200_000;
        let said = [0, half - 1, half, 1 - half, -half, -259_200_000].map(|after| moment(now + after, now));
        let words =
            ["23:30:00", "11:29:59", "2026-11-23 11:30:00", "11:30:00", "2026-11-22 11:30:00", "2026-11-19 23:30:00"];
        assert_eq!(said, words);
        let dates = [0, 951_782_400_000, 951_868_800_000, 1_709_164_800_000, 4_107_542_400_000, -1].map(date);
        assert_eq!(dates, ["1970-01-01", "2000-02-29", "2000-03-01", "2024-02-29", "2100-03-01", "1969-12-31"]);
    }

    #[test]
    fn numbers_and_lists_agree_with_their_words() {
        assert_eq!([0, 1, 2].map(|pods| count(pods, "pod")), ["0 pods", "1 pod", "2 pods"]);
        assert_eq!([0, 1, 2].map(is_are), ["are", "is", "are"]);
        assert_eq!([0, 1, 2].map(was_were), ["were", "was", "were"]);
        let items = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!([0, 1, 2, 3].map(|many| list(&items[..many])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn short_names_stay_whole_and_characters_are_not_split() {
        let names = ["", "abcd", "abcde", "abcdef", "web-7d9f-2ktdq", "öäü", "aöäüöä"];
        assert_eq!(names.map(short), ["", "abcd", "abcde", "bcdef", "2ktdq", "öäü", "öäüöä"]);
    }

    #[test]
    fn text_from_a_cluster_ends_a_sentence_once() {
        assert_eq!(["", "no", " no. ", "no…"].map(sentence_end), ["", "no.", "no.", "no…"]);
        assert_eq!(safe(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(safe("a\tb\rc"), "a b c");
        assert_eq!(not_watched("prod\u{7}"), "This server does not watch a cluster named prod.");
    }

    #[test]
    fn a_word_that_a_shell_would_lose_is_quoted() {
        assert_eq!(["", "a b", "a.b/c:d@e_f-g", "ä"].map(shell_word), ["''", "'a b'", "a.b/c:d@e_f-g", "'ä'"]);
    }
}
