//! Signals of the wall's components. Seats exist as long as the page and are reused for other Deployments, so that memory does not grow
//! over days.

use leptos::prelude::*;
use timeline::list::{ListCopy, Overall, Query, Row};
use timeline::view::Tone;
use timeline::wire::ConnectionState;
use timeline::{Millis, Workload};

use super::age::Age;
use super::stage::SEATS;
use super::{SeatState, is_stable, last_finished, strip, unseated};
use crate::list::{Ages, listed_clusters};
use crate::rollout::board::Board;
use crate::rollout::picture::Picture;
use crate::zone::Zone;

/// Prefixes of the ids on each seat.
const PREFIXES: [&str; SEATS] = ["t0-", "t1-", "t2-", "t3-"];

/// State of the page. Copies are handles of the same state.
#[derive(Clone, Copy)]
pub struct WallBoard {
    /// Facts of the whole list; for a wall of one cluster, only those of that cluster.
    pub overall: RwSignal<Overall>,
    /// Whether the page is connected to the server, or is connecting for the first time.
    pub is_linked: RwSignal<bool>,
    /// Time of the last frame from the server, by the clock of `now_millis`.
    pub heard_millis: RwSignal<Millis>,
    /// Texts about completed and waiting Deployments.
    pub strip: RwSignal<Vec<String>>,
    /// Number of Deployments in trouble without a seat; before hydration, the number that its plain list leaves out.
    pub unseated: RwSignal<u32>,
    /// Whether nothing is in progress, as far as known.
    pub is_stable: RwSignal<bool>,
    /// Text about the last completed Deployment.
    pub last: RwSignal<String>,
    /// Time of day: of the only visible cluster, else of the server, and of the browser until the server's is known; 0 until the page is
    /// hydrated.
    pub now_millis: RwSignal<Millis>,
    /// The seats of the stage.
    pub seats: [Seat; SEATS],
}

/// A seat of the stage. Copies are handles of the same one.
#[derive(Clone, Copy)]
pub struct Seat {
    /// The Deployment on the seat, and its verdict.
    pub board: Board,
    /// The picture of it.
    pub picture: Picture,
    /// Layout of the seat.
    pub look: RwSignal<SeatState>,
    /// Age of its news.
    pub age: RwSignal<Age>,
    /// Whether it came to the stage because its trouble began.
    pub has_new_trouble: StoredValue<bool>,
    /// The revision that is being replaced, if any, and the current one.
    pub revision: RwSignal<(Option<u64>, Option<u64>)>,
}

impl WallBoard {
    /// Creates a wall of those rows, or one without data.
    pub fn new(copy: Option<&ListCopy>, query: &Query) -> Self {
        let seat = |prefix| Seat {
            board: Board::for_workload(Workload::default(), None),
            picture: Picture { prefix, ..Picture::default() },
            look: RwSignal::default(),
            age: RwSignal::default(),
            has_new_trouble: StoredValue::default(),
            revision: RwSignal::default(),
        };
        let board = Self {
            overall: RwSignal::default(),
            is_linked: RwSignal::new(true),
            heard_millis: RwSignal::default(),
            strip: RwSignal::default(),
            unseated: RwSignal::default(),
            is_stable: RwSignal::new(false),
            last: RwSignal::default(),
            now_millis: RwSignal::default(),
            seats: PREFIXES.map(seat),
        };
        if let Some(copy) = copy {
            let ages = Ages::from_overall(&copy.overall);
            board.set_overall(&copy.overall, query);
            board.is_stable.set(is_stable(&copy.overall));
            board.strip.set(strip(copy, &[], &ages, 0));
            board.unseated.set(unseated(copy, &copy.rows().map(Row::key).collect::<Vec<_>>()));
            board.last.set(last_finished(copy, &ages));
        }
        board
    }

    /// Takes the facts of the whole list. Ignores clusters outside of the wall's list.
    pub fn set_overall(&self, overall: &Overall, query: &Query) {
        let clusters = listed_clusters(overall, query).cloned().collect();
        let listed = Overall { clusters, ..overall.clone() };
        if self.overall.try_with_untracked(|known| !known.is_like(&listed)).unwrap_or(false) {
            self.overall.set(listed);
        }
    }

    /// Returns the facts of the whole list: without a connection to the server no cluster counts as connected. Follows both.
    pub fn known_overall(&self) -> Overall {
        let mut overall = self.overall.get();
        if !self.is_linked.get() {
            let since_millis = self.heard_millis.get();
            let unseen = ConnectionState::Stale { since_millis, retry_at_millis: None, why: String::new() };
            overall.clusters.iter_mut().for_each(|cluster| cluster.connection.state = unseen.clone());
        }
        overall
    }

    /// Formats a time with its zone, and with its date if it is far from the present. Follows both.
    pub fn dated(&self, zone: Zone, at_millis: Millis) -> String {
        match self.now_millis.get() {
            0 => zone.stamp(at_millis), // unknown before the page is alive
            now_millis => zone.dated(at_millis, now_millis),
        }
    }

    /// Counts the occupied seats. Follows them.
    pub fn taken_seats(&self) -> usize {
        self.seats.iter().filter(|seat| seat.look.get() != SeatState::Free).count()
    }
}

impl Seat {
    /// Returns the images of a revision, joined; empty if its band is not in the picture. Follows the bands.
    pub fn images(self, revision: u64) -> String {
        let bands = self.picture.images().into_iter();
        bands.rev().find(|(of, _)| *of == Some(revision)).map(|(_, images)| images).unwrap_or_default()
    }

    /// Returns the tone of the seat's Deployment, as a class name. Follows it.
    pub fn class(self) -> String {
        let stale = if self.board.is_stale() { " stale" } else { "" };
        match self.look.get() {
            SeatState::Free => "unused".to_owned(),
            SeatState::OnStage => format!(
                "tile {}{stale}",
                self.board.view.with(|view| view.as_ref().map_or(Tone::Quiet, |view| view.verdict.tone).name())
            ),
            SeatState::Past => format!("tile past{stale}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::test_data;
    use crate::wall::{connections, stable_count, stable_line, stale_notice};

    #[test]
    fn without_a_connection_nothing_is_said_of_the_present() {
        let (_owner, _) = test_data::zone();
        let query = Query::default();
        let board = WallBoard::new(None, &query);
        let clusters = vec![test_data::cluster("a", ConnectionState::Live)];
        let overall = Overall { clusters, counts: [0, 0, 0, 4], all: 4, ..Overall::default() };
        board.set_overall(&overall, &query);
        let told = || [stable_line(&board.known_overall(), &query, ""), stable_count(&board.known_overall(), &query)];
        assert_eq!(told(), ["4 Deployments, nothing in progress.", "4 stable"]);
        board.is_linked.set(false);
        assert_eq!(told(), ["4 Deployments as last known.", "4 stable, as last known"]);
    }

    #[test]
    fn a_wall_of_one_cluster_tells_of_no_other_one() {
        let (_owner, zone) = test_data::zone();
        let stale = ConnectionState::Stale { since_millis: 50_520_000, retry_at_millis: None, why: String::new() };
        let clusters = vec![test_data::cluster("silent", stale), test_data::cluster("well", ConnectionState::Live)];
        let overall = Overall { clusters, counts: [0, 0, 0, 4], all: 9, ..Overall::default() };
        let told = |cluster: Option<&str>| {
            let query = Query { cluster: cluster.map(str::to_owned), ..Query::default() };
            let board = WallBoard::new(None, &query);
            board.set_overall(&overall, &query);
            let known = board.known_overall();
            let stamp = |at_millis| zone.stamp(at_millis);
            [
                stable_line(&known, &query, ""),
                stable_count(&known, &query),
                stale_notice(&known, None, stamp),
                connections(&known, stamp),
            ]
        };
        assert_eq!(told(Some("well")), ["4 Deployments, nothing in progress.", "4 stable", "", "well live"]);
        assert_eq!(
            told(None),
            [
                "Elsewhere nothing in progress.",
                "4 stable, as last known",
                "Cluster “silent” unreachable since 14:02:00 UTC.",
                "silent stale since 14:02:00 UTC · well live"
            ]
        );
    }

    #[test]
    fn what_was_seen_last_yesterday_has_its_date() {
        let (_owner, zone) = test_data::zone();
        let board = WallBoard::new(None, &Query::default());
        let told = |now_millis| {
            board.now_millis.set(now_millis);
            board.dated(zone, 50_520_000)
        };
        let (soon, later) = (50_580_000, 50_520_000 + 43_200_000);
        assert_eq!([0, soon, later].map(told), ["14:02:00 UTC", "14:02:00 UTC", "1970-01-01 14:02:00 UTC"]);
    }
}
