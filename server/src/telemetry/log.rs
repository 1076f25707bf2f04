//! Logs go to standard error, an event a line: text of clusters, recordings and viewers can neither begin a line nor control a terminal.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use timeline::words::is_hidden;
use tracing_subscriber::EnvFilter;

use super::print::Printer;

/// Initialises the log. `ROLLCAST_LOG` selects the events, else `default`.
pub fn init(default: &str) {
    let is_coloured = is_coloured(io::stderr().is_terminal(), std::env::var_os("NO_COLOR"));
    // A writer receives a whole event with the end of its line.
    let printable: fn(&str) -> String =
        if is_coloured { |event| one_line(event, true) } else { |event| one_line(event, false) };
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("ROLLCAST_LOG").unwrap_or_else(|_| default.into()))
        .with_writer(move || Printer { out: io::stderr(), printable })
        .with_ansi(is_coloured)
        .init();
}

/// Terminals get colours, unless `NO_COLOR` has a value (<https://no-color.org>).
fn is_coloured(is_terminal: bool, no_color: Option<OsString>) -> bool {
    is_terminal && no_color.is_none_or(|value| value.is_empty())
}

/// Returns an event without hidden characters but the end of its line, and those of colours, whose author escapes others.
fn one_line(event: &str, is_coloured: bool) -> String {
    let (text, end) = event.strip_suffix('\n').map_or((event, ""), |text| (text, "\n"));
    let is_escaped = |c: char| is_hidden(c) && !(is_coloured && c == '\u{1b}');
    let mut line = String::with_capacity(event.len());
    for c in text.chars() {
        if is_escaped(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_colours_unless_no_color_has_a_value() {
        for (is_terminal, no_color, expected) in
            [(true, None, true), (true, Some(""), true), (true, Some("1"), false), (false, None, false)]
        {
            assert_eq!(is_coloured(is_terminal, no_color.map(OsString::from)), expected, "{is_terminal} {no_color:?}");
        }
    }

    #[test]
    fn an_event_is_a_line_whatever_is_in_it() {
        assert_eq!(one_line("all is well\n", false), "all is well\n");
        assert_eq!(
            one_line("a name\n2026-11-24T00:00:00Z ERROR forged\r\u{1b}[2J\u{7}\n", false),
            "a name\\n2026-11-24T00:00:00Z ERROR forged\\r\\u{1b}[2J\\u{7}\n"
        );
        assert_eq!(one_line("\u{1b}[32mINFO\u{1b}[0m a\nb\n", true), "\u{1b}[32mINFO\u{1b}[0m a\\nb\n");
        assert_eq!(one_line("ä\u{85}ö", false), "ä\\u{85}ö");
        // Characters that reorder or hide text.
        assert_eq!(one_line("a\u{202e}b\u{2028}c\u{200b}\n", true), "a\\u{202e}b\\u{2028}c\\u{200b}\n");
    }
}
