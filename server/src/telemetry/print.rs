//! The one way to the terminal: nothing of what is printed commands it or hides, wherever a text comes from.

use std::fmt::Write as _;
use std::io::{self, Stderr, Stdout, Write};

use timeline::words::is_hidden;

/// What becomes of characters that are not seen.
#[derive(Debug, Clone, Copy)]
enum Hidden {
    LeftOut,
    /// As JSON says them.
    Escaped,
}

/// A stream that leads to a terminal, or to whatever somebody put in its place. Texts come to it whole, as formatting writes them.
#[derive(Debug)]
pub struct Printer<W> {
    out: W,
    hidden: Hidden,
}

/// Texts for standard output.
#[must_use]
pub fn out() -> Printer<Stdout> {
    Printer { out: io::stdout(), hidden: Hidden::LeftOut }
}

/// Texts for standard error.
#[must_use]
pub fn err() -> Printer<Stderr> {
    Printer { out: io::stderr(), hidden: Hidden::LeftOut }
}

/// JSON for standard output.
#[must_use]
pub fn json() -> Printer<Stdout> {
    Printer { out: io::stdout(), hidden: Hidden::Escaped }
}

/// Prints a file as it is: one that is made for browsers escapes by itself what clusters say.
///
/// # Errors
/// When it cannot be printed.
pub fn file(content: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(content)
}

/// Says in a line of its own what went wrong.
pub fn error(why: &str) {
    let _ = writeln!(err(), "rollcast: {why}"); // nobody may read it
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.out.write_all(shown(&String::from_utf8_lossy(text), self.hidden).as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A text as it may be printed. Its lines stay lines.
fn shown(text: &str, hidden: Hidden) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match hidden {
            _ if matches!(c, '\n' | '\t') || !is_hidden(c) => shown.push(c),
            Hidden::LeftOut => {}
            Hidden::Escaped => {
                let _ = write!(shown, "\\u{:04x}", u32::from(c)); // into a string
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_printed_commands_a_terminal() {
        let hostile = "a\tb\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{85}\u{202e}\u{7f}\nc\r";
        assert_eq!(shown(hostile, Hidden::LeftOut), "a\tb]0;owned[2J31m\nc");
        assert_eq!(shown("ä→公", Hidden::LeftOut), "ä→公");
    }

    #[test]
    fn json_says_the_same_without_raw_control_characters() {
        let said = serde_json::json!({ "message": "\u{1b}[2J\u{9b}31m\u{85}\u{7f}\u{202e}ä\\u009b" });
        let printed = shown(&serde_json::to_string_pretty(&said).unwrap(), Hidden::Escaped);
        assert!(printed.chars().all(|c| c == '\n' || !is_hidden(c)), "{printed:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), said);
    }
}
