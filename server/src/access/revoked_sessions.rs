//! Sessions that ended before their cookie expired.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use crate::telemetry::panics::locked;

/// Most ended sessions of one owner that are stored one by one, and most owners.
const SESSIONS_PER_OWNER: usize = 64;
const MOST_OWNERS: usize = 4_096;

/// Sessions that ended, for as long as the program runs. Memory is bounded, and no ended session ever becomes valid
/// again: beyond the bound further sessions of the same owner end, and those of everybody only with very many owners.
#[derive(Default)]
pub(super) struct RevokedSessions(Mutex<Owners>);

#[derive(Default)]
struct Owners {
    each: HashMap<String, OwnerSessions>,
    /// All sessions that began in this second or before have ended, of every owner.
    before: Option<i64>,
}

/// The latest ended sessions of one owner one by one, and a limit before which all have ended.
#[derive(Debug, Default)]
struct OwnerSessions {
    each: BTreeSet<(i64, String)>,
    before: Option<i64>,
}

impl OwnerSessions {
    /// Returns the latest second with an ended session.
    fn last(&self) -> Option<i64> {
        self.each.last().map(|(began, _)| *began).max(self.before)
    }
}

impl RevokedSessions {
    /// Records that a session has ended, by its id and the second in which it began. One person must not be able to
    /// appear as many owners.
    pub(super) fn insert(&self, owner: &str, began: i64, id: &str) {
        let mut owners = locked(&self.0);
        let of = owners.each.entry(owner.to_owned()).or_default();
        of.each.insert((began, id.to_owned()));
        if of.each.len() > SESSIONS_PER_OWNER {
            of.before = of.each.pop_first().map(|(began, _)| began).max(of.before);
        }
        if owners.each.len() > MOST_OWNERS
            && let Some(oldest) = owners.each.iter().min_by_key(|(_, of)| of.last()).map(|(owner, _)| owner.clone())
        {
            let forgotten = owners.each.remove(&oldest).and_then(|of| of.last());
            owners.before = owners.before.max(forgotten);
        }
    }

    /// Returns whether the session has ended.
    pub(super) fn contains(&self, owner: &str, began: i64, id: &str) -> bool {
        let owners = locked(&self.0);
        let is_before = |before: Option<i64>| before.is_some_and(|before| began <= before);
        let of_one = owners.each.get(owner);
        is_before(owners.before)
            || of_one.is_some_and(|of| is_before(of.before) || of.each.contains(&(began, id.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_over_stays_so_however_many_end_and_nobody_ends_those_of_others() {
        let ended = RevokedSessions::default();
        let all: Vec<(i64, String)> = (0..200).map(|number| (1_000 + number, number.to_string())).collect();
        // The one that began last ends first.
        for (began, id) in all.iter().rev() {
            ended.insert("ann", *began, id);
        }
        assert!(all.iter().all(|(began, id)| ended.contains("ann", *began, id)));
        assert_eq!(ended.0.lock().unwrap().each["ann"].each.len(), SESSIONS_PER_OWNER);
        assert!(!ended.contains("ann", 2_000, "new"));
        assert!(ended.contains("ann", 1_050, "forgotten"), "rather one too many than one too few");
        assert!(!ended.contains("bob", 1_050, "forgotten"), "somebody else's");
    }

    #[test]
    fn what_is_remembered_of_owners_is_bounded() {
        let ended = RevokedSessions::default();
        for number in 0..MOST_OWNERS + 10 {
            ended.insert(&number.to_string(), number as i64, "a");
        }
        assert_eq!(ended.0.lock().unwrap().each.len(), MOST_OWNERS);
        assert!((0..MOST_OWNERS + 10).all(|number| ended.contains(&number.to_string(), number as i64, "a")));
        assert!(!ended.contains("3", 5_000, "b"), "what began later goes on");
    }
}
