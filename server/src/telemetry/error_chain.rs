//! The chain of causes of an error, and its text.

use std::error::Error;

/// Returns an error and its causes, the outermost first.
pub fn layers<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// Joins the texts of an error and its causes. Omits a text that an outer layer repeats.
pub fn join(error: &(dyn Error + 'static)) -> String {
    layers(error).map(ToString::to_string).fold(String::new(), |words, text| match words.as_str() {
        "" => text,
        outer if outer.contains(&text) => words,
        outer => format!("{outer}: {text}"),
    })
}
