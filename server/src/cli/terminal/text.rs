//! Text of a cluster in the terminal.

use timeline::words;

/// Text as a part of a line: nothing in it begins another one.
pub(super) fn plain(text: &str) -> String {
    words::visible(text).collect()
}
