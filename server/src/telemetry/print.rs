//! All output to the terminal: no text controls it or hides, wherever it comes from.

use std::fmt::Write as _;
use std::io::{self, Stderr, Stdout, Write};

use timeline::words::is_hidden;

/// Standard output or error, whose text is made printable. Receives whole texts, as formatting writes them.
#[derive(Debug)]
pub struct Printer<W> {
    pub(super) out: W,
    pub(super) printable: fn(&str) -> String,
}

/// Returns standard output for texts.
pub fn out() -> Printer<Stdout> {
    Printer { out: io::stdout(), printable: remove_hidden }
}

/// Returns standard error for texts.
pub fn err() -> Printer<Stderr> {
    Printer { out: io::stderr(), printable: remove_hidden }
}

/// Returns standard output for JSON.
pub fn json() -> Printer<Stdout> {
    Printer { out: io::stdout(), printable: escape_hidden }
}

/// Prints a file unchanged: files for browsers escape text of clusters themselves.
pub fn file(content: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(content)
}

/// Prints an error as a line.
pub fn error(why: &str) {
    let _ = writeln!(err(), "rollcast: {why}"); // standard error may be closed
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.out.write_all((self.printable)(&String::from_utf8_lossy(text)).as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns whether a character is printed unchanged, as line breaks are.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | '\t') || !is_hidden(c)
}

fn remove_hidden(text: &str) -> String {
    text.chars().filter(|c| is_printable(*c)).collect()
}

/// Escapes hidden characters as JSON does: one above U+FFFF as two units of UTF-16.
pub(super) fn escape_hidden(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            printable.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(printable, "\\u{unit:04x}"); // writing to a string cannot fail
            }
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_printed_text_controls_a_terminal() {
        let hostile = "a\tb\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{85}\u{202e}\u{7f}\nc\r";
        assert_eq!(remove_hidden(hostile), "a\tb]0;owned[2J31m\nc");
        assert_eq!(remove_hidden("ä→公"), "ä→公");
    }

    #[test]
    fn json_has_the_same_value_without_raw_control_characters() {
        let said = serde_json::json!({ "message": "\u{1b}[2J\u{9b}31m\u{85}\u{7f}\u{202e}\u{e0041}ä\\u009b" });
        let printed = escape_hidden(&serde_json::to_string_pretty(&said).unwrap());
        assert!(printed.chars().all(|c| c == '\n' || !is_hidden(c)), "{printed:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), said);
    }
}
