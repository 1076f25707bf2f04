//! The query parameters of an address.

use crate::list::{By, Column, Group, Query, Sort};

/// Query parameters. Of several with the same name the last one counts. The page does not use the map of its router, which decodes values
/// twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses the part of an address after the question mark.
    pub fn parse(search: &str) -> Self {
        Self(form_urlencoded::parse(search.as_bytes()).into_owned().collect())
    }

    /// Adds a parameter, unless it is empty. It takes precedence over earlier ones of the same name.
    pub fn push(&mut self, name: &str, value: String) {
        if !value.is_empty() {
            self.0.push((name.to_owned(), value));
        }
    }

    /// Returns all names and values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns whether the name occurs, also with an empty value.
    pub fn has(&self, name: &str) -> bool {
        self.pairs().any(|(known, _)| known == name)
    }

    /// Returns a value; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().rev().find(|(known, _)| known == name);
        values.map(|(_, value)| value.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns a value; empty if it is missing.
    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// Returns the requested list, of the place in the path if it has one. Invalid values count as missing.
    pub fn query(&self, cluster: Option<String>, namespace: Option<String>) -> Query {
        let place = |name| self.get(name).map(str::to_owned);
        let (cluster, namespace) = match (cluster, namespace) {
            (None, None) => (place("cluster"), place("namespace")),
            named => named,
        };
        Query {
            text: self.text("q"),
            labels: self.text("labels"),
            group: self.get("show").and_then(Group::from_name),
            by: self.get("by").and_then(By::from_name).unwrap_or_default(),
            sort: Sort {
                column: self.get("sort").and_then(Column::from_name).unwrap_or_default(),
                is_descending: self.get("order") == Some("desc"),
            },
            cluster,
            namespace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_asks_for_what_it_was_made_for() {
        for text in ["", "nginx live", "a&b=c", "50%", "%2541", "1+1", "ümlaut ☸", " web "] {
            for group in [None, Some(Group::Stable), Some(Group::InTrouble)] {
                for place in [None, Some("arn:aws:eks/prod eu".to_owned())] {
                    let query = Query {
                        text: text.into(),
                        labels: "app in (a,b)".into(),
                        group,
                        by: By::Place,
                        sort: Sort { column: Column::Available, is_descending: true },
                        namespace: place,
                        cluster: None,
                    };
                    let address = crate::address::list(&query);
                    let (_, search) = address.split_once('?').unwrap();
                    assert_eq!(Parameters::parse(search).query(None, None), query, "{address}");
                }
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_asked() {
        let query = |search: &str| Parameters::parse(search).query(None, None);
        assert_eq!(query("show=sideways&by=moon&sort=tide&order=up&theme=dark&&q"), Query::default());
        assert_eq!(query("q=a&q=b%zz%4").text, "b%zz%4");
        let place = Parameters::parse("cluster=x&namespace=y").query(Some("a".into()), None);
        assert_eq!((place.cluster.as_deref(), place.namespace), (Some("a"), None), "the path names the place");
    }
}
