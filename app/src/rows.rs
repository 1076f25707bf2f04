//! Rows: lists as data. The server writes them as text into the page, the browser keeps the same elements right by key
//! (`live::patch`). One kind of list for everything: rendering code is not generated per list.

use std::fmt::Write;

/// One element of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Its attributes, not escaped.
    pub attributes: Vec<(&'static str, String)>,
    /// Its own style: where it is. Never an attribute, which the page's content security policy would refuse.
    pub style: String,
    /// What is inside, as markup: texts in it are escaped.
    pub inside: String,
}

/// An element of a list before it is made: rows whose plan did not change are not made again.
pub struct Plan<'m> {
    /// Tells it from the others of its list.
    pub key: u128,
    /// Differs when the row would.
    pub stamp: Stamp,
    /// Makes the row.
    make: Box<dyn Fn() -> Row + 'm>,
}

impl<'m> Plan<'m> {
    /// A row that is made when it is needed.
    pub fn new(key: u128, stamp: Stamp, make: impl Fn() -> Row + 'm) -> Self {
        Self { key, stamp, make: Box::new(make) }
    }

    /// A row that is cheap to make: its content is its stamp.
    #[must_use]
    pub fn made(key: u128, row: Row) -> Self {
        let texts = row.attributes.iter().map(|(_, value)| value).chain([&row.style, &row.inside]);
        let stamp = texts.fold(Stamp::default(), |stamp, text| stamp.text(text));
        Self::new(key, stamp, move || row.clone())
    }

    /// Makes the row.
    #[must_use]
    pub fn row(&self) -> Row {
        (self.make)()
    }
}

/// What a row is made of, as one number (FNV-1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Default for Stamp {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Stamp {
    /// With a number.
    #[must_use]
    pub const fn number(self, number: u64) -> Self {
        Self((self.0 ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23))
    }

    /// With a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        text.bytes().fold(self.number(text.len() as u64), |stamp, byte| stamp.number(u64::from(byte)))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
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
    /// A button.
    Button,
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
            Self::Button => "button",
        }
    }
}

/// The markup of a list.
#[must_use]
pub fn markup(tag: Tag, rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let _ = write!(out, "<{}", tag.name());
        for (name, value) in &row.attributes {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
        }
        let _ = write!(out, ">{}</{}>", row.inside, tag.name());
    }
    out
}

/// The styles of a list's rows as a style sheet, for a page that no program has taken over yet.
#[must_use]
pub fn placed(id: &str, rows: &[Row]) -> String {
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| !row.style.is_empty()) {
        let _ = write!(out, "#{id}>:nth-child({}){{{}}}", index + 1, row.style);
    }
    out
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
            attributes: vec![("data-pod", "\"><script>".to_owned())],
            style: String::new(),
            inside: escaped("<img src=x onerror='alert(1)'>&amp;"),
        };
        assert_eq!(
            markup(Tag::Item, &[row]),
            "<li data-pod=\"&quot;&gt;&lt;script&gt;\">&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;amp;</li>"
        );
    }
}
