//! Rows: lists as data. The server writes them as text into the page, the browser keeps the same elements right by key
//! (`live::patch`). One kind of list for everything: rendering code is not generated per list.

use std::fmt::Write;

/// One element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Tells it from the others of its list.
    pub key: String,
    /// Its attributes, not escaped.
    pub attributes: Vec<(&'static str, String)>,
    /// What is inside, as markup: texts in it are escaped.
    pub inside: String,
}

/// The element that a list is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// A group of a picture.
    Group,
    /// A block.
    Block,
    /// An item of a list.
    Item,
    /// A row of a table.
    TableRow,
}

impl Tag {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group => "g",
            Self::Block => "div",
            Self::Item => "li",
            Self::TableRow => "tr",
        }
    }
}

/// Markup that the server renders and the browser takes over as it is: the page's program does not carry it.
#[must_use]
pub fn rendered(make: impl FnOnce() -> String) -> String {
    if cfg!(feature = "hydrate") { String::new() } else { make() }
}

/// The markup of a list, rendered by the server.
#[must_use]
pub fn markup(tag: Tag, rows: &[Row]) -> String {
    rendered(|| {
        let mut out = String::new();
        for row in rows {
            let _ = write!(out, "<{}", tag.name());
            for (name, value) in &row.attributes {
                let _ = write!(out, " {name}=\"{}\"", escaped(value));
            }
            let _ = write!(out, ">{}</{}>", row.inside, tag.name());
        }
        out
    })
}

/// Text as markup: nothing in it is an element, a reference or the end of an attribute.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_text() {
        let row = Row {
            key: String::new(),
            attributes: vec![("data-pod", "\"><script>".to_owned())],
            inside: escaped("<img src=x onerror='alert(1)'>&amp;"),
        };
        assert_eq!(
            markup(Tag::Item, &[row]),
            "<li data-pod=\"&quot;&gt;&lt;script&gt;\">&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;amp;</li>"
        );
    }
}
