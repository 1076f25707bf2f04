//! The stage: the Deployments that the wall shows large, at most four at once. A Deployment keeps its seat until it is over and a little
//! longer, so that its end is visible, unless trouble takes the seat. It never changes seats.
//!
//! Trouble is new if its Deployment had none within the last minute: otherwise flapping Deployments would take each other's seat, and
//! sound, again and again.

use timeline::Uid;
use timeline::list::Group;

use super::ROWS;
use crate::news::QUIET_MILLIS;

/// Number of Deployments that are shown large at once.
pub const SEATS: usize = 4;
/// Time for which a completed Deployment keeps its seat.
pub const LINGER_MILLIS: f64 = 20_000.0;
/// Minimum of that time if others wait.
const SHORTEST_MILLIS: f64 = 6_000.0;

/// A row of the list: number of the cluster, and the Deployment.
pub type Key = (u16, Uid);

/// A Deployment on stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeatedDeployment {
    /// The Deployment on the seat.
    pub key: Key,
    /// When it was over, on the page's clock.
    pub over_since: Option<f64>,
}

/// The Deployments that are shown large; `None` for a free seat.
pub type Stage = [Option<SeatedDeployment>; SEATS];

/// Computes the next stage. `active` are in the order of the list: the worst first, and the newest trouble first. The trouble of
/// Deployments in `new` began since the last update.
pub fn next_stage(mut stage: Stage, active: &[(Key, Group)], new: &[Key], now: f64) -> Stage {
    let group = |key: Key| active.iter().find(|(known, _)| *known == key).map(|(_, group)| *group);
    for seat in &mut stage {
        let Some(seated) = seat else { continue };
        seated.over_since = if group(seated.key).is_some() { None } else { seated.over_since.or(Some(now)) };
        if seated.over_since.is_some_and(|since| now - since > LINGER_MILLIS) {
            *seat = None;
        }
    }
    let is_seated = |stage: &Stage, key: Key| stage.iter().flatten().any(|seated| seated.key == key);
    for (key, wanted) in active {
        if is_seated(&stage, *key) {
            continue;
        }
        // Prefers a free seat; else that of the Deployment that is over for longest; else, for a stuck one, that of one that is not stuck;
        // else, for new trouble, that of the one stuck for longest.
        let free = stage.iter().position(Option::is_none);
        let over = || {
            let since = |seat: &Option<SeatedDeployment>| seat.and_then(|seated| seated.over_since);
            let over = stage.iter().enumerate().filter_map(|(index, seat)| Some((index, since(seat)?)));
            let longest = over.min_by(|a, b| a.1.total_cmp(&b.1));
            longest
                .filter(|(_, since)| *wanted == Group::InTrouble || now - since > SHORTEST_MILLIS)
                .map(|(index, _)| index)
        };
        let well = || {
            let is_well = |seat: &Option<SeatedDeployment>| {
                seat.is_some_and(|seated| group(seated.key) == Some(Group::InProgress))
            };
            stage.iter().rposition(is_well).filter(|_| *wanted == Group::InTrouble)
        };
        let old = || {
            let is_old = |key: Key| is_seated(&stage, key) && !new.contains(&key);
            let (oldest, _) = active.iter().rfind(|(key, _)| is_old(*key)).filter(|_| new.contains(key))?;
            stage.iter().position(|seat| seat.is_some_and(|seated| seated.key == *oldest))
        };
        let Some(index) = free.or_else(over).or_else(well).or_else(old) else { continue };
        if let Some(seat) = stage.get_mut(index) {
            *seat = Some(SeatedDeployment { key: *key, over_since: None });
        }
    }
    stage
}

/// The stage, and the Deployment that each seat follows. A new one knows none: every seat is assigned again.
#[derive(Debug, Default)]
pub struct Seats {
    stage: Stage,
    /// The last assignment of each seat, if there was one.
    aimed: [Option<Option<Key>>; SEATS],
    /// Deployments in trouble within the last minute, and when last; `None` before the first update.
    troubled: Option<Vec<(Key, f64)>>,
    /// Number of Deployments in trouble at the last update.
    last_count: usize,
    /// For each seat whether its Deployment took it when its trouble began.
    has_new_trouble: [bool; SEATS],
}

impl Seats {
    /// Updates the stage for a later moment; returns the Deployment of each seat.
    pub fn update(&mut self, active: &[(Key, Group)], now: f64) -> [Option<Key>; SEATS] {
        let before = self.stage;
        let troubled: Vec<Key> =
            active.iter().filter(|(_, group)| *group == Group::InTrouble).map(|(key, _)| *key).collect();
        let new: Vec<Key> = match &self.troubled {
            Some(known) => {
                // When known trouble ends, older trouble enters a full window of the list, at its end.
                let is_full = self.last_count >= ROWS as usize;
                let is_new = |key: &&Key| !known.iter().any(|(known, _)| known == *key);
                let entered = troubled.iter().rev().take_while(|key| is_full && is_new(key)).count();
                troubled.iter().rev().skip(entered).filter(is_new).copied().collect()
            }
            None => Vec::new(),
        };
        self.last_count = troubled.len();
        // After the comparison, so that trouble that a page missed while it slept for hours is not new.
        let known = self.troubled.get_or_insert_default();
        known.retain(|(key, seen_millis)| now - seen_millis < QUIET_MILLIS && !troubled.contains(key));
        known.extend(troubled.into_iter().map(|key| (key, now)));
        self.stage = next_stage(before, active, &new, now);
        let key = |seat: Option<SeatedDeployment>| seat.map(|seated| seated.key);
        for ((flag, before), now) in self.has_new_trouble.iter_mut().zip(before).zip(self.stage) {
            if key(before) != key(now) {
                *flag = key(now).is_some_and(|key| new.contains(&key));
            }
        }
        self.stage.map(key)
    }

    /// Clears the known trouble while a cluster is loaded, because old trouble arrives in pieces: the next update is like the first one.
    pub fn forget_trouble(&mut self) {
        self.troubled = None;
    }

    /// Returns whether the Deployment took the seat when its trouble began: not if the trouble is older than this page or the assignment.
    pub fn has_new_trouble(&self, seat: usize) -> bool {
        self.has_new_trouble.get(seat).copied().unwrap_or_default()
    }

    /// Assigns a seat to a Deployment, or to none; true if that changed.
    pub fn assign_seat(&mut self, seat: usize, key: Option<Key>) -> bool {
        self.aimed.get_mut(seat).is_some_and(|aimed| aimed.replace(key) != Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUCK: Group = Group::InTrouble;
    const MOVING: Group = Group::InProgress;

    fn key(number: u128) -> Key {
        (0, Uid::from_bits(number))
    }

    fn active(all: &[(u128, Group)]) -> Vec<(Key, Group)> {
        all.iter().map(|(number, group)| (key(*number), *group)).collect()
    }

    fn seats(stage: &Stage) -> [u128; SEATS] {
        stage.map(|seat| seat.map_or(0, |seated| seated.key.1.bits()))
    }

    /// Returns the Deployment of each seat after an update, and which trouble is new.
    fn update(seats: &mut Seats, all: &[(u128, Group)], now: f64) -> ([u128; SEATS], [bool; SEATS]) {
        let seated = seats.update(&active(all), now).map(|key| key.map_or(0, |(_, uid)| uid.bits()));
        (seated, std::array::from_fn(|seat| seats.has_new_trouble(seat)))
    }

    /// Updates with Deployments that are all stuck.
    fn update_stuck(seats: &mut Seats, all: &[u128], now: f64) -> ([u128; SEATS], [bool; SEATS]) {
        update(seats, &all.iter().map(|number| (*number, STUCK)).collect::<Vec<_>>(), now)
    }

    #[test]
    fn the_first_four_take_the_stage_and_keep_their_seats() {
        let stage = next_stage(Stage::default(), &active(&[(1, STUCK), (2, MOVING), (3, MOVING)]), &[], 0.0);
        assert_eq!(seats(&stage), [1, 2, 3, 0]);
        let stage =
            next_stage(stage, &active(&[(9, MOVING), (8, MOVING), (3, MOVING), (2, MOVING), (1, MOVING)]), &[], 1.0);
        assert_eq!(seats(&stage), [1, 2, 3, 9]);
    }

    #[test]
    fn what_is_over_lingers_then_leaves() {
        let stage = next_stage(Stage::default(), &active(&[(1, MOVING), (2, MOVING)]), &[], 0.0);
        let stage = next_stage(stage, &active(&[(2, MOVING)]), &[], 1_000.0);
        assert_eq!(seats(&stage), [1, 2, 0, 0]);
        let later = next_stage(stage, &active(&[(2, MOVING)]), &[], 1_000.0 + LINGER_MILLIS);
        assert_eq!(seats(&later), [1, 2, 0, 0]);
        let later = next_stage(later, &active(&[(2, MOVING)]), &[], 1_001.0 + LINGER_MILLIS);
        assert_eq!(seats(&later), [0, 2, 0, 0]);
        // It is in progress again, so it stays.
        let again = next_stage(stage, &active(&[(2, MOVING), (1, STUCK)]), &[], 5_000.0);
        assert_eq!(again[0].map(|seated| seated.over_since), Some(None));
    }

    #[test]
    fn whoever_keeps_a_seat_is_aimed_once_and_anew_when_numbers_mean_others() {
        let mut seats = Seats::default();
        assert_eq!(seats.update(&active(&[(1, STUCK)]), 0.0).map(|key| key.is_some()), [true, false, false, false]);
        assert!(seats.assign_seat(0, Some(key(1))) && seats.assign_seat(1, None));
        assert!(!seats.assign_seat(0, Some(key(1))) && !seats.assign_seat(1, None));
        assert!(seats.assign_seat(1, Some(key(2))));
        // After a restart the server has other clusters, and one of them has the same number and Deployment.
        seats = Seats::default();
        assert!(seats.assign_seat(0, Some(key(1))) && seats.assign_seat(1, None));
    }

    #[test]
    fn trouble_is_new_where_it_led_to_the_stage_and_not_where_it_waited_for_it() {
        let mut seats = Seats::default();
        let mut new_after = |all: &[(u128, Group)], now: f64| update(&mut seats, all, now).1;
        assert_eq!(new_after(&[(1, STUCK), (2, MOVING)], 0.0), [false; 4], "as the page found it");
        let four = [(1, STUCK), (3, STUCK), (2, MOVING), (4, MOVING)];
        assert_eq!(new_after(&four, 1_000.0), [false, false, true, false]);
        let six = [(1, STUCK), (3, STUCK), (2, STUCK), (4, STUCK), (5, STUCK), (6, MOVING)];
        assert_eq!(
            new_after(&six, 2_000.0),
            [false, false, true, false],
            "two went wrong where they are, one took a seat"
        );
        assert_eq!(new_after(&[(3, STUCK), (2, STUCK), (4, STUCK), (5, STUCK)], 3_000.0), [false, false, true, false]);
        let later = [(7, STUCK), (3, STUCK), (2, STUCK), (5, STUCK)];
        assert_eq!(new_after(&later, 4_000.0), [false, false, true, true], "4 is over, and 7 stuck");
    }

    #[test]
    fn trouble_that_a_cluster_had_before_it_was_loaded_is_not_new() {
        let mut seats = Seats::default();
        seats.update(&[], 0.0);
        seats.forget_trouble();
        seats.update(&active(&[(1, STUCK)]), 1_000.0);
        assert!(!seats.has_new_trouble(0), "it was loaded since");
        seats.update(&active(&[(1, STUCK), (2, STUCK)]), 2_000.0);
        assert!(seats.has_new_trouble(1));
    }

    #[test]
    fn who_is_stuck_takes_the_seat_of_who_is_not() {
        let four = active(&[(1, MOVING), (2, STUCK), (3, MOVING), (4, MOVING)]);
        let stage = next_stage(Stage::default(), &four, &[], 0.0);
        let five = [active(&[(5, STUCK)]), four.clone()].concat();
        assert_eq!(seats(&next_stage(stage, &five, &[], 1.0)), [1, 2, 3, 5]);
        let waits = [four, active(&[(6, MOVING)])].concat();
        assert_eq!(seats(&next_stage(stage, &waits, &[], 1.0)), [1, 2, 3, 4]);
    }

    #[test]
    fn who_is_stuck_since_now_takes_the_seat_of_who_is_stuck_for_longest() {
        let four = [(1, STUCK), (2, STUCK), (3, STUCK), (4, STUCK)];
        let mut seats = Seats::default();
        let mut update = |all: &[(u128, Group)]| update(&mut seats, all, 0.0);
        assert_eq!(update(&four), ([1, 2, 3, 4], [false; SEATS]));
        let five = [&[(5, STUCK)][..], &four].concat();
        let is_fifth_new = [false, false, false, true];
        assert_eq!(update(&five), ([1, 2, 3, 5], is_fifth_new), "it is seen, and heard");
        assert_eq!(update(&five), ([1, 2, 3, 5], is_fifth_new), "the other one does not come back");
        let moves = [&five[..], &[(6, MOVING)]].concat();
        assert_eq!(update(&moves), ([1, 2, 3, 5], is_fifth_new));
        // If more get stuck than there are seats, the new ones do not take each other's.
        let many = [&[(11, STUCK), (12, STUCK), (13, STUCK), (14, STUCK), (15, STUCK)][..], &five].concat();
        assert_eq!(update(&many), ([13, 12, 11, 14], [true; SEATS]));
    }

    #[test]
    fn trouble_that_comes_back_within_a_minute_is_not_new() {
        let mut seats = Seats::default();
        let mut update = |all: &[u128], now: f64| update_stuck(&mut seats, all, now);
        assert_eq!(update(&[1, 2, 3, 4], 0.0), ([1, 2, 3, 4], [false; SEATS]));
        let fifth = ([1, 2, 3, 5], [false, false, false, true]);
        assert_eq!(update(&[5, 1, 2, 3, 4], 1_000.0), fifth);
        let fourth = ([1, 2, 3, 4], [false; SEATS]);
        assert_eq!(update(&[1, 2, 3, 4], 2_000.0), fourth, "4 waited for the seat");
        for turn in 1..20 {
            let now = 2_000.0 + f64::from(turn) * 7_000.0;
            assert_eq!(update(&[5, 1, 2, 3, 4], now), fourth, "{now}");
            assert_eq!(update(&[1, 2, 3, 4], now + 3_000.0), fourth, "{now}");
        }
        // It was observed last at 135 s.
        assert_eq!(update(&[1, 2, 3, 4], 194_999.0), fourth);
        assert_eq!(update(&[1, 2, 3, 4], 195_000.0), fourth);
        assert_eq!(update(&[5, 1, 2, 3, 4], 195_500.0), fifth, "a minute without it");
        assert_eq!(update(&[1, 2, 3, 4], 9_000_000.0), fourth, "4 waited since before the page slept");
    }

    #[test]
    fn trouble_that_enters_the_window_as_other_trouble_ends_is_old() {
        let mut seats = Seats::default();
        let mut update = |all: &[u128], now: f64| update_stuck(&mut seats, all, now);
        let window = |numbers: std::ops::Range<u128>| numbers.collect::<Vec<_>>();
        let begin = ([1, 2, 3, 4], [false; SEATS]);
        assert_eq!(update(&window(1..41), 0.0), begin);
        // Trouble 40 ended, and 41 was in the list before all others.
        let next = [&window(1..40)[..], &[41]].concat();
        assert_eq!(update(&next, 0.0), begin, "it takes no seat");
        // Trouble 39 and 41 ended, and 100 began: the list does not place it first.
        let new = [&window(1..38)[..], &[100, 38, 42]].concat();
        assert_eq!(update(&new, 0.0), ([1, 2, 3, 100], [false, false, false, true]));
        // All with a seat ended.
        let old = ([5, 50, 51, 52], [false; SEATS]);
        assert_eq!(update(&[5, 50, 51, 52], 0.0), old, "they are seen, and not heard");
        assert_eq!(
            update(&[5, 50, 51, 52, 53], 500.0),
            ([5, 50, 51, 53], [false, false, false, true]),
            "the window was not full"
        );
    }

    #[test]
    fn who_waits_takes_the_seat_of_who_is_over_but_not_at_once() {
        let stage =
            next_stage(Stage::default(), &active(&[(1, MOVING), (2, MOVING), (3, MOVING), (4, MOVING)]), &[], 0.0);
        let later = active(&[(1, MOVING), (3, MOVING), (4, MOVING), (5, MOVING)]);
        let stage = next_stage(stage, &later, &[], 1_000.0);
        assert_eq!(seats(&stage), [1, 2, 3, 4]);
        assert_eq!(seats(&next_stage(stage, &later, &[], 8_000.0)), [1, 5, 3, 4]);
    }
}
