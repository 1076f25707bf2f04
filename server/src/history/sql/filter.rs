//! Filters of the index as conditions of a statement: for searches and for permissions.

use timeline::episodes::Search;
use timeline::{Uid, WorkloadKind};

use super::CLOCKS_MILLIS;
use super::write::{OPEN_MILLIS, outcome_name};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::database::{Connection, Value};
use crate::history::store::StoreError;

/// Name of a row's cluster; the table's alias is `r`.
pub(super) const CLUSTER: &str = "(SELECT z.name FROM clusters z WHERE z.id = r.cluster)";
const IN_CLUSTER: &str = "cluster IN (SELECT id FROM clusters WHERE name = {})";

pub(super) struct Filter {
    pub conditions: String,
    pub values: Vec<Value>,
}

/// Returns the ids of rollouts with trouble whose episode was open at the start of the searched time: pods may fail long after a
/// rollout was complete. The trouble is that of the last rollout before. A separate statement finds them, because a condition on
/// each row would read the whole table.
pub(super) fn lasting_trouble(database: &mut Connection, search: &Search) -> Result<Vec<i64>, StoreError> {
    let Some(from_millis) = search.from_millis else { return Ok(Vec::new()) };
    let rows = format!(
        "SELECT r.id FROM (SELECT cluster, uid, max(from_millis) AS from_millis FROM episodes WHERE from_millis <= $1 + {CLOCKS_MILLIS}
             GROUP BY cluster, uid) l
         JOIN episodes e ON e.cluster = l.cluster AND e.uid = l.uid AND e.from_millis = l.from_millis
         JOIN rollouts r ON r.cluster = e.cluster AND r.uid = e.uid AND r.number = (SELECT max(n.number) FROM rollouts n
             WHERE n.cluster = e.cluster AND n.uid = e.uid AND n.kind = 'rollout' AND n.started_millis <= $1)
         WHERE r.cause <> '' AND r.started_millis >= e.from_millis - {CLOCKS_MILLIS} AND (e.to_millis >= $1
             OR (e.is_open = 1 AND (SELECT heard_millis FROM clusters h WHERE h.id = e.cluster) >= $1))"
    );
    let rows = database.rows::<(i64,)>(&rows, &[from_millis.into()])?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

impl Filter {
    pub fn new(search: &Search, permissions: &Permissions, database: &Connection) -> Self {
        let position = database.position_function();
        let contains = |column: &str| format!("{position}({column}, {{}}) > 0");
        let mut filter = Self { conditions: "1 = 1".to_owned(), values: Vec::new() };
        filter.permit(permissions);
        for (column, value) in
            [(IN_CLUSTER, &search.cluster), ("namespace = {}", &search.namespace), ("workload = {}", &search.name)]
        {
            if !value.is_empty() {
                filter.and(column, value.as_str().into());
            }
        }
        if !search.image.is_empty() {
            filter.and(&contains("images"), search.image.to_lowercase().into());
        }
        if !search.kinds.is_empty() {
            let kinds = filter.placeholders(search.kinds.iter().map(|kind| kind.name().into()));
            filter.conditions.push_str(&format!(" AND kind IN ({kinds})"));
        }
        if let Some(outcome) = search.outcome {
            filter.and(&contains("outcome"), outcome_name(outcome).into());
        }
        if let Some(millis) = search.longer_millis {
            filter.and("took_millis >= {}", millis.into());
        }
        if search.had_trouble {
            filter.conditions.push_str(" AND cause <> ''");
        }
        for word in search.words() {
            filter.and(&contains("text"), word.to_lowercase().into());
        }
        filter
    }

    /// Adds the time of a search; the table's alias is `r`. `lasting` are the rollouts of [`lasting_trouble`].
    pub fn within(mut self, search: &Search, lasting: &[i64]) -> Self {
        if let Some(from) = search.from_millis {
            // An episode matches if it was open then, whenever it began. An open one counts only until the cluster's last response.
            let mut condition = format!(
                "over_millis >= {{}} AND (over_millis < {OPEN_MILLIS} OR started_millis >= {{}}
                 OR (SELECT heard_millis FROM clusters h WHERE h.id = r.cluster) >= {{}})"
            );
            if !lasting.is_empty() {
                let ids: Vec<String> = lasting.iter().map(ToString::to_string).collect();
                condition = format!("({condition} OR r.id IN ({}))", ids.join(", "));
            }
            self.and(&condition, from.into());
        }
        if let Some(to) = search.to_millis {
            self.and("started_millis < {}", to.into());
        }
        self
    }

    /// Adds the condition for one workload.
    pub fn of_workload(mut self, (cluster, uid): &(&str, Uid)) -> Self {
        self.and(IN_CLUSTER, (*cluster).into());
        self.and("uid = {}", uid.to_string().into());
        self
    }

    fn permit(&mut self, permissions: &Permissions) {
        let Permissions::Part { clusters, .. } = permissions else { return };
        let mut allowed = vec!["1 = 0".to_owned()];
        for (cluster, seen) in clusters {
            let mut condition = IN_CLUSTER.replace("{}", &self.placeholders([cluster.as_str().into()]));
            match seen {
                ClusterPermissions::All | ClusterPermissions::AllByLink => {}
                ClusterPermissions::Namespaces(namespaces) => {
                    let names = self.placeholders(namespaces.iter().map(|namespace| namespace.as_str().into()));
                    condition = format!("{condition} AND namespace IN ({names})");
                }
                ClusterPermissions::Workload(of) => {
                    let WorkloadKind::Deployment = of.kind;
                    let namespace = self.placeholders([of.namespace.as_str().into()]);
                    let name = self.placeholders([of.name.as_str().into()]);
                    condition = format!("{condition} AND namespace = {namespace} AND workload = {name}");
                }
            }
            allowed.push(condition);
        }
        self.conditions.push_str(&format!(" AND ({})", allowed.join(" OR ")));
    }

    /// Adds a condition; `{}` stands for its value.
    pub fn and(&mut self, condition: &str, value: Value) {
        let placeholder = self.placeholders([value]);
        self.conditions.push_str(&format!(" AND {}", condition.replace("{}", &placeholder)));
    }

    /// Adds values; returns their placeholders, separated by commas.
    pub fn placeholders(&mut self, values: impl IntoIterator<Item = Value>) -> String {
        let first = self.values.len() + 1;
        self.values.extend(values);
        (first..=self.values.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
    }
}
