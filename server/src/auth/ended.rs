//! Sessions that are over although whoever kept their cookie could go on with it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Sessions of which it is known one by one that they are over.
const MOST: usize = 65_536;

/// Sessions that are over, for as long as the program runs. What is remembered is bounded.
#[derive(Debug, Default)]
pub(super) struct Ended(Mutex<All>);

/// Those that began last by themselves, and of those before everything.
#[derive(Debug, Default)]
struct All {
    each: BTreeSet<(i64, String)>,
    /// What began in this second or before is over, whoever ended it: so that forgetting never opens one again.
    before: Option<i64>,
}

impl Ended {
    /// The session of that id, which began in that second, is over.
    pub(super) fn insert(&self, began: i64, id: &str) {
        self.insert_of(began, id, MOST);
    }

    fn insert_of(&self, began: i64, id: &str, most: usize) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.each.insert((began, id.to_owned()));
        if all.each.len() > most {
            all.before = all.each.pop_first().map(|(began, _)| began).max(all.before);
        }
    }

    /// Whether it is over.
    pub(super) fn has(&self, began: i64, id: &str) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.before.is_some_and(|before| began <= before) || all.each.contains(&(began, id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_over_stays_so_however_many_end() {
        let ended = Ended::default();
        let all: Vec<(i64, String)> = (0..100).map(|number| (1_000 + number, number.to_string())).collect();
        // The one that began last ends first.
        for (began, id) in all.iter().rev() {
            ended.insert_of(*began, id, 10);
        }
        assert!(all.iter().all(|(began, id)| ended.has(*began, id)));
        assert_eq!(ended.0.lock().unwrap().each.len(), 10);
        assert!(!ended.has(2_000, "new"));
        assert!(ended.has(1_050, "forgotten"), "rather one too many than one too few");
    }
}
