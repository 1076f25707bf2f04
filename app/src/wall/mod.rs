//! The wall: who is on stage, and what the strip below tells. Pure: lines of a list and the page's clock go in.

pub mod stage;

use timeline::frame::ConnectionState;
use timeline::list::{ClusterState, Copy, Entry, Group, Overall};
use timeline::words::safe;

use crate::connection::state_words;
use crate::list::Ages;
use crate::zone::Zone;

/// Lines that a wall follows: those on stage, those that wait, and what was done last.
pub const LINES: u32 = 40;
/// Others that the strip names at once.
const AT_ONCE: usize = 2;

/// How a seat is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Look {
    /// Nobody is there.
    #[default]
    Free,
    /// Something goes on, or just ended.
    OnStage,
    /// It is over; nothing else goes on.
    Past,
}

/// Lines of a group, with their numbers' order kept.
pub fn of_group(copy: &Copy, group: Group) -> impl Iterator<Item = &Entry> {
    let number = |wanted: Group| copy.overall.counts.get(wanted as usize).copied().unwrap_or_default();
    let from: u32 = Group::ALL.into_iter().take_while(|known| *known != group).map(number).sum();
    (from..from + number(group)).map_while(|line| copy.line(line))
}

/// What is done or waits, a few at a time: "nginx: Revision 3 is live, 4 min ago".
#[must_use]
pub fn strip(copy: &Copy, on_stage: &[stage::Key], ages: &Ages, turn: u64) -> Vec<String> {
    let active = [Group::Stuck, Group::Moving].into_iter().flat_map(|group| of_group(copy, group));
    let waiting = active.filter(|entry| !on_stage.contains(&entry.key()));
    let done = of_group(copy, Group::Finished).filter(|entry| !on_stage.contains(&entry.key()));
    let all: Vec<String> = waiting.map(told).chain(done.map(|entry| done_words(entry, ages))).collect();
    if all.is_empty() {
        return all;
    }
    let first = (turn as usize).wrapping_mul(AT_ONCE) % all.len();
    all.iter().cycle().skip(first).take(AT_ONCE.min(all.len())).cloned().collect()
}

fn told(entry: &Entry) -> String {
    format!("{}: {}", safe(&entry.summary.name), entry.summary.verdict.sentence)
}

fn done_words(entry: &Entry, ages: &Ages) -> String {
    format!("{}, {} ago", told(entry).trim_end_matches('.'), ages.of(entry))
}

/// The one large line when nothing goes on: "1,284 Deployments, nothing in progress." Of clusters that are not seen it says so.
#[must_use]
pub fn calm(copy: &Copy, ages: &Ages) -> String {
    let all = copy.overall.counts.iter().sum::<u32>();
    let last = of_group(copy, Group::Finished).next();
    let last = last.map(|entry| {
        let revision = entry.summary.revision.map(|revision| format!(" revision {revision}")).unwrap_or_default();
        format!(" Last: {}{revision}, {} ago.", safe(&entry.summary.name), ages.of(entry))
    });
    let is_seen = |cluster: &&ClusterState| cluster.connection.state.is_live();
    let unseen = copy.overall.clusters.len() - copy.overall.clusters.iter().filter(is_seen).count();
    let unseen = match unseen {
        0 => String::new(),
        1 => "; 1 cluster is not seen".to_owned(),
        more => format!("; {more} clusters are not seen"),
    };
    let noun = if all == 1 { "Deployment" } else { "Deployments" };
    match all {
        0 => format!("No Deployments here yet{unseen}."),
        _ => format!("{} {noun}, nothing in progress{unseen}.{}", grouped(all), last.unwrap_or_default()),
    }
}

/// "1,279 stable, 2 finished in the last hour": in the groups, and with the figures, of the list.
#[must_use]
pub fn calm_count(overall: &Overall) -> String {
    let [_, _, finished, calm] = overall.counts;
    let calm = format!("{} stable", grouped(calm));
    if finished == 0 { calm } else { format!("{calm}, {} finished in the last hour", grouped(finished)) }
}

/// How each cluster is reached: "prod-eu live · staging stale since 14:01:40 UTC"; what is not live comes first.
#[must_use]
pub fn connections(overall: &Overall, zone: Zone) -> String {
    let mut words = String::new();
    let is_stale = |cluster: &&ClusterState| matches!(cluster.connection.state, ConnectionState::Stale { .. });
    let well = overall.clusters.iter().filter(|cluster| !is_stale(cluster));
    let is_many = well.clone().count() > 2;
    for cluster in overall.clusters.iter().filter(is_stale).chain(well.clone().filter(|_| !is_many)) {
        words.push_str(if words.is_empty() { "" } else { " · " });
        words.push_str(&format!("{} {}", safe(&cluster.name), lowered(&state_words(&cluster.connection, zone))));
    }
    if is_many {
        let live = if words.is_empty() { "" } else { " · " };
        words.push_str(&format!("{live}{} clusters live", well.count()));
    }
    words
}

fn lowered(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// What is said across the top when what is shown is old.
#[must_use]
pub fn stale(overall: &Overall, is_linked: bool, heard_millis: i64, zone: Zone) -> String {
    if !is_linked {
        return format!("No word from Rollcast since {}. What you see is from then.", zone.stamp(heard_millis));
    }
    let mut words = String::new();
    if !overall.trouble.is_empty() {
        words.push_str(&format!("{} ", overall.trouble));
    }
    for cluster in &overall.clusters {
        if let ConnectionState::Stale { since_millis, .. } = cluster.connection.state {
            words.push_str(&format!("No word from {} since {}. ", safe(&cluster.name), zone.stamp(since_millis)));
        }
    }
    words
}

/// 1,284.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_counts_in_the_groups_of_the_list() {
        let counted = |counts| calm_count(&Overall { counts, ..Overall::default() });
        assert_eq!(counted([3, 2, 0, 1_279]), "1,279 stable");
        assert_eq!(counted([0, 0, 1, 0]), "0 stable, 1 finished in the last hour");
    }

    #[test]
    fn numbers_are_read_from_afar() {
        assert_eq!([0, 999, 1_284, 1_000_000].map(grouped), ["0", "999", "1,284", "1,000,000"]);
    }
}
