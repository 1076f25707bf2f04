//! Labelled values and texts for several kinds of details.

use serde::{Deserialize, Serialize};
use timeline::Millis;
use timeline::words::{safe, visible};

/// A labelled value of a detail.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DetailFact {
    /// Label of the value.
    pub name: String,
    /// The value that is shown.
    pub value: Value,
}

/// Value that a label stands before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// Words.
    Text(String),
    /// A time.
    Time(Millis),
    /// A revision of the same Deployment.
    Revision(u64),
    /// A web address.
    Link(String),
}

impl Value {
    /// Returns a link if the text is an http(s) address, else the text: no other text from a cluster becomes a link.
    pub fn linked(text: &str) -> Self {
        // A shortened address would not work.
        let whole: String = visible(text).collect();
        let is_address = ["https://", "http://"].iter().any(|scheme| whole.starts_with(scheme)) && !whole.contains(' ');
        if is_address { Self::Link(whole) } else { Self::Text(safe(text)) }
    }
}

/// Builder of labelled values, in order. Leaves out empty ones.
#[derive(Default)]
pub(super) struct DetailFacts(pub Vec<DetailFact>);

impl DetailFacts {
    pub fn value(mut self, name: &str, value: Option<Value>) -> Self {
        self.0.extend(value.map(|value| DetailFact { name: name.to_owned(), value }));
        self
    }

    pub fn text(self, name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        self.value(name, Some(text).filter(|text| !text.is_empty()).map(Value::Text))
    }

    pub fn time(self, name: &str, at_millis: Option<Millis>) -> Self {
        self.value(name, at_millis.map(Value::Time))
    }
}

/// Joins texts: "waiting", "waiting: Reason", "waiting: Reason: message".
pub(super) fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).map(|part| safe(part)).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links() {
        assert_eq!(Value::linked("https://ci.example.com/7"), Value::Link("https://ci.example.com/7".to_owned()));
        for text in ["javascript:alert(1)", "data:text/html,x", " https://a b", "kubectl set image", "https://a b"] {
            assert_eq!(Value::linked(text), Value::Text(text.to_owned()));
        }
    }

    #[test]
    fn a_long_address_stays_whole() {
        let address = format!("https://ci.example.com/{}", "7".repeat(300));
        assert_eq!(Value::linked(&address), Value::Link(address.clone()));
        let text = "7".repeat(300);
        assert_eq!(Value::linked(&text), Value::Text(safe(&text)));
    }

    #[test]
    fn facts_without_words_are_left_out() {
        let facts = DetailFacts::default().text("Node", "").time("Grace ends", None).text("Restarts", "0").0;
        assert_eq!(facts, [DetailFact { name: "Restarts".to_owned(), value: Value::Text("0".to_owned()) }]);
        assert_eq!(joined(&["waiting", "", "no\nimage"]), "waiting: no image");
    }
}
