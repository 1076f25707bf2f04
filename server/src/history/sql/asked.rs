//! What of the index is asked for, as conditions of a statement: what a search narrows, and what may be seen.

use timeline::past::Search;
use timeline::{Uid, WorkloadKind};

use super::write::{OPEN, name};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::database::{Connection, Value};

/// The name of a rollout's cluster.
pub(super) const CLUSTER: &str = "(SELECT z.name FROM clusters z WHERE z.id = r.cluster)";

/// What is asked for, as conditions with their values.
pub(super) struct Asked {
    pub conditions: String,
    pub values: Vec<Value>,
}

impl Asked {
    pub fn of(search: &Search, permissions: &Permissions, database: &Connection) -> Self {
        let place_in = database.place_in();
        let mut asked = Self { conditions: "1 = 1".to_owned(), values: Vec::new() };
        asked.seen(permissions);
        if !search.cluster.is_empty() {
            asked.and("cluster IN (SELECT id FROM clusters WHERE name = $", search.cluster.as_str().into());
            asked.conditions.push(')');
        }
        if !search.namespace.is_empty() {
            asked.and("namespace = $", search.namespace.as_str().into());
        }
        if !search.name.is_empty() {
            asked.and("workload = $", search.name.as_str().into());
        }
        if !search.image.is_empty() {
            asked.and(&format!("{place_in}(images, $"), search.image.to_lowercase().into());
            asked.conditions.push_str(") > 0");
        }
        if !search.kinds.is_empty() {
            let first = asked.values.len() + 1;
            asked.values.extend(search.kinds.iter().map(|kind| kind.name().into()));
            let numbers: Vec<String> = (first..=asked.values.len()).map(|number| format!("${number}")).collect();
            asked.conditions.push_str(&format!(" AND kind IN ({})", numbers.join(", ")));
        }
        if let Some(outcome) = search.outcome {
            asked.and(&format!("{place_in}(outcome, $"), name(outcome).into());
            asked.conditions.push_str(") > 0");
        }
        if let Some(millis) = search.longer_millis {
            asked.and("took_millis >= $", millis.into());
        }
        if search.had_trouble {
            asked.conditions.push_str(" AND cause <> ''");
        }
        for word in search.words() {
            asked.and(&format!("{place_in}(text, $"), word.to_lowercase().into());
            asked.conditions.push_str(") > 0");
        }
        asked
    }

    /// Asks for the time of a search as well; the table is called `r`.
    pub fn within(mut self, search: &Search) -> Self {
        if let Some(from) = search.from_millis {
            // What went on is found, whenever it began. Nobody knows of what is open in a cluster longer than it was heard.
            self.and("over_millis >= $", from.into());
            let since = self.values.len();
            self.conditions.push_str(&format!(
                " AND (over_millis < {OPEN} OR started_millis >= ${since}
                 OR (SELECT heard_millis FROM clusters h WHERE h.id = r.cluster) >= ${since})"
            ));
        }
        if let Some(to) = search.to_millis {
            self.and("started_millis < $", to.into());
        }
        self
    }

    /// Asks for one workload alone.
    pub fn of_one(mut self, (cluster, uid): &(&str, Uid)) -> Self {
        self.and("cluster = (SELECT id FROM clusters WHERE name = $", (*cluster).into());
        self.conditions.push(')');
        self.and("uid = $", uid.to_string().into());
        self
    }

    /// Asks for no more than may be seen.
    fn seen(&mut self, permissions: &Permissions) {
        let Permissions::Part { clusters, .. } = permissions else { return };
        let mut places = vec!["1 = 0".to_owned()];
        for (cluster, seen) in clusters {
            self.values.push(cluster.as_str().into());
            let mut place = format!("cluster IN (SELECT id FROM clusters WHERE name = ${})", self.values.len());
            let first = self.values.len() + 1;
            match seen {
                ClusterPermissions::All | ClusterPermissions::AllByLink => {}
                ClusterPermissions::Namespaces(namespaces) => {
                    self.values.extend(namespaces.iter().map(|namespace| namespace.as_str().into()));
                    let names: Vec<String> = (first..=self.values.len()).map(|number| format!("${number}")).collect();
                    place = format!("{place} AND namespace IN ({})", names.join(", "));
                }
                ClusterPermissions::Workload { kind: WorkloadKind::Deployment, namespace, name } => {
                    self.values.extend([namespace.as_str().into(), name.as_str().into()]);
                    place = format!("{place} AND namespace = ${first} AND workload = ${}", first + 1);
                }
            }
            places.push(place);
        }
        self.conditions.push_str(&format!(" AND ({})", places.join(" OR ")));
    }

    /// Asks for one thing more; the condition ends where the value goes.
    pub fn and(&mut self, condition: &str, value: Value) {
        self.values.push(value);
        self.conditions.push_str(&format!(" AND {condition}{}", self.values.len()));
    }
}
