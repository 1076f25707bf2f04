//! Which Deployments an address asks for. The address is the only truth of it, for the server and for the browser.

use timeline::list::{By, Column, Group, Query, Sort};

/// The parameters of an address, read as the server reads them; of two with the same name the last one counts. The router's own
/// map decodes values twice, which makes another text of one with percent signs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses the parameters of `q=web&by=namespace`.
    #[must_use]
    pub fn parse(search: &str) -> Self {
        Self(form_urlencoded::parse(search.as_bytes()).into_owned().collect())
    }

    /// Returns the value of a parameter; `None` where there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let said = self.0.iter().rev().find(|(known, _)| known == name);
        said.map(|(_, value)| value.as_str()).filter(|text| !text.is_empty())
    }

    /// Which Deployments they ask for, of those in a place that the path names, if it names one. What makes no sense is not asked.
    #[must_use]
    pub fn query(&self, cluster: Option<String>, namespace: Option<String>) -> Query {
        let text = |name| self.get(name).unwrap_or_default().to_owned();
        let place = |name| self.get(name).map(str::to_owned);
        let (cluster, namespace) = match (cluster, namespace) {
            (None, None) => (place("cluster"), place("namespace")),
            named => named,
        };
        Query {
            text: text("q"),
            labels: text("labels"),
            group: self.get("show").and_then(Group::named),
            by: if self.get("by") == Some("namespace") { By::Place } else { By::Verdict },
            sort: Sort {
                column: self.get("sort").and_then(Column::named).unwrap_or_default(),
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
    use timeline::address;

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
                    let address = address::list(&query);
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
        assert_eq!(query("show=calm").group, Some(Group::Stable), "a name from before");
        let place = Parameters::parse("cluster=x&namespace=y").query(Some("a".into()), None);
        assert_eq!((place.cluster.as_deref(), place.namespace), (Some("a"), None), "the path names the place");
    }
}
