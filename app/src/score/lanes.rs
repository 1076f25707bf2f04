//! Bands and slots: which ReplicaSets have a band, and which slot each pod keeps until it is gone.

use timeline::model::{Deployment, Pod, ReplicaSet};
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid, order, rollout, words};

/// A slot is free again this long after its pod was gone.
const REST_MILLIS: Millis = 900;
/// More pods than this in view are no rows any more, but a ribbon.
const MOST_BARS: usize = 500;
/// Height of a ribbon, in rows.
const RIBBON_SLOTS: u32 = 8;
/// Heights, in pixels.
const TALLEST_ROW: f64 = 34.0;
const FLATTEST_ROW: f64 = 1.25;
const BAND_PADDING: f64 = 12.0;
const BAND_GAP: f64 = 10.0;
const LEAST_BAND: f64 = 56.0;
const LEAST_OUT: f64 = 24.0;
const LOW: f64 = 260.0;

/// A band of the score: one ReplicaSet, or the pods out of rotation.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The ReplicaSet; `None` for "Out of rotation".
    pub replica_set: Option<Uid>,
    /// Revision it carries; `None` when unknown.
    pub revision: Option<u64>,
    /// Revisions it carried before.
    pub was: Vec<u64>,
    /// Images.
    pub images: String,
    /// Label pod-template-hash.
    pub hash: String,
    /// `spec.replicas`.
    pub wanted: u32,
    /// Pods available now.
    pub available: u32,
    /// The one that is scaled up.
    pub is_current: bool,
    /// The ReplicaSet was deleted.
    pub is_removed: bool,
    /// Rows.
    pub slots: u32,
    /// Its pods, each with its slot.
    pub pods: Vec<(Uid, u32)>,
}

/// Where a band is, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Upper edge.
    pub top: f64,
    /// Height.
    pub height: f64,
    /// Height of a row.
    pub row: f64,
    /// Upper edge of the first row.
    pub first: f64,
}

/// The bands that have something to show since `from_millis`: by revision, the current one last, then the pods out of
/// rotation.
#[must_use]
pub fn bands(model: &Model, deployment: &Deployment, from_millis: Millis) -> Vec<Band> {
    let current = rollout::current_set(model, deployment).map(|set| set.uid);
    let bands = model
        .sets_of(deployment.uid)
        .filter_map(|set| {
            let pods = sorted(model.pods_of(set.uid));
            let is_current = current == Some(set.uid);
            let is_live = set.removed_millis.is_none() && set.now.counts.wanted > 0;
            let is_seen = is_current || is_live || pods.iter().any(|pod| in_view(pod, from_millis));
            is_seen.then(|| band(set, &pods, is_current, from_millis))
        })
        .collect();
    let mut bands: Vec<Band> = order::by(bands, |band: &Band| {
        (i64::from(band.is_current), u128::from(band.revision.map_or(0, |revision| revision + 1)))
    });
    let out = sorted(model.pods_of_deployment(deployment.uid).into_iter().filter(|pod| {
        let visible_since = pod.adopted_millis.filter(|_| !pod.is_out_of_rotation()).or(pod.gone_millis());
        pod.released_millis.is_some() && visible_since.is_none_or(|until| until > from_millis)
    }));
    if !out.is_empty() {
        let span = |pod: &Pod| (pod.released_millis.unwrap_or_default(), pod.adopted_millis.or(pod.gone_millis()));
        let (pods, slots) = slotted(&out, span);
        bands.push(Band {
            replica_set: None,
            revision: None,
            was: Vec::new(),
            images: String::new(),
            hash: String::new(),
            wanted: 0,
            available: 0,
            is_current: false,
            is_removed: false,
            slots,
            pods,
        });
    }
    if is_ribbon(&bands) {
        bands.iter_mut().for_each(|band| band.slots = RIBBON_SLOTS);
    }
    bands
}

/// So many pods that none can be seen alone.
#[must_use]
pub fn is_ribbon(bands: &[Band]) -> bool {
    bands.iter().map(|band| band.pods.len()).sum::<usize>() > MOST_BARS
}

/// Stacks the bands into `height` pixels as far as rows can shrink.
#[must_use]
pub fn places(bands: &[Band], height: f64) -> Vec<Place> {
    let rows: f64 = bands.iter().map(|band| f64::from(band.slots.max(1))).sum::<f64>().max(1.0);
    let fixed = bands.len() as f64 * (2.0 * BAND_PADDING + BAND_GAP);
    let row = ((height - fixed) / rows).clamp(FLATTEST_ROW, TALLEST_ROW);
    // In a low room on a wall every band must be seen; elsewhere the page scrolls, and words beside a band need room.
    let least = if height < LOW { (height - fixed) / bands.len() as f64 } else { LEAST_BAND };
    let least = least.clamp(LEAST_OUT, LEAST_BAND);
    let mut top = 0.0;
    bands
        .iter()
        .map(|band| {
            let content =
                (f64::from(band.slots.max(1)) * row).max(if band.replica_set.is_some() { least } else { LEAST_OUT });
            let place = Place { top, height: content + 2.0 * BAND_PADDING, row, first: top + BAND_PADDING };
            top += place.height + BAND_GAP;
            place
        })
        .collect()
}

/// Height of a bar in a row.
#[must_use]
pub fn bar_height(row: f64) -> f64 {
    let gap = if row > 12.0 {
        8.0
    } else if row >= 3.0 {
        1.5
    } else {
        0.0
    };
    (row - gap).clamp(1.0, 18.0)
}

fn sorted<'m>(pods: impl Iterator<Item = &'m Pod>) -> Vec<&'m Pod> {
    order::by(pods.collect(), |pod| (pod.first_seen_millis(), pod.uid.bits()))
}

fn in_view(pod: &Pod, from_millis: Millis) -> bool {
    let left = pod.gone_millis().or(pod.released_millis.filter(|_| pod.is_out_of_rotation()));
    left.is_none_or(|at| at + REST_MILLIS > from_millis)
}

/// Slots are given over the whole life of the ReplicaSet, so that none moves when an old pod leaves the picture.
fn band(set: &ReplicaSet, pods: &[&Pod], is_current: bool, from_millis: Millis) -> Band {
    let span = |pod: &Pod| {
        let left = pod.gone_millis().or(pod.released_millis.filter(|_| pod.is_out_of_rotation()));
        (pod.first_seen_millis(), left)
    };
    let is_crowd = pods.iter().filter(|pod| in_view(pod, from_millis)).count() > MOST_BARS;
    let one_row = || pods.iter().map(|pod| (pod.uid, 0)).collect();
    let mut placed = if is_crowd { one_row() } else { slotted(pods, span).0 };
    let mut seen = pods.iter().map(|pod| in_view(pod, from_millis));
    placed.retain(|_| seen.next().unwrap_or(false)); // placed in the order of the pods
    let slots = placed.iter().map(|(_, slot)| slot + 1).max().unwrap_or(0);
    let mine = |pod: &&&Pod| pod.owner == Some(set.uid) && pod.state() == PodState::Available;
    Band {
        replica_set: Some(set.uid),
        revision: set.revision(),
        was: set.revisions.iter().rev().skip(1).map(|(revision, _)| *revision).collect(),
        images: words::images(&set.images),
        hash: words::safe(&set.template_hash),
        wanted: if set.removed_millis.is_some() { 0 } else { set.now.counts.wanted },
        available: pods.iter().filter(mine).count() as u32,
        is_current,
        is_removed: set.removed_millis.is_some(),
        slots,
        pods: placed,
    }
}

/// Gives each pod, in order, the first slot that is free for its span; slots rest a moment before they are used again.
fn slotted(pods: &[&Pod], span: impl Fn(&Pod) -> (Millis, Option<Millis>)) -> (Vec<(Uid, u32)>, u32) {
    let mut free_at: Vec<Option<Millis>> = Vec::new();
    let mut placed = Vec::with_capacity(pods.len());
    for pod in pods {
        let (from, to) = span(pod);
        let until = to.map(|to| to + REST_MILLIS);
        let slot = free_at.iter().position(|free| free.is_some_and(|free| free <= from));
        let slot = slot.unwrap_or_else(|| {
            free_at.push(None);
            free_at.len() - 1
        });
        if let Some(place) = free_at.get_mut(slot) {
            *place = until;
        }
        placed.push((pod.uid, slot as u32));
    }
    (placed, free_at.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::model::PodNow;

    fn pod(number: u128, from: Millis, gone: Option<Millis>) -> Pod {
        let mut states = vec![(PodState::Available, from)];
        states.extend(gone.map(|at| (PodState::Gone, at)));
        Pod {
            uid: Uid::from_bits(number),
            namespace: "shop".into(),
            name: format!("web-{number}"),
            created_at_millis: from,
            owners: vec![Uid::from_bits(99)],
            owner: Some(Uid::from_bits(99)),
            states,
            released_millis: None,
            adopted_millis: None,
            end_reason: None,
            now: PodNow::default(),
        }
    }

    #[test]
    fn a_slot_is_kept_until_its_pod_is_gone_and_then_used_again() {
        let pods = [pod(1, 0, Some(1000)), pod(2, 10, None), pod(3, 1500, None), pod(4, 2000, None)];
        let (placed, slots) =
            slotted(&pods.iter().collect::<Vec<_>>(), |pod| (pod.first_seen_millis(), pod.gone_millis()));
        let slots_of: Vec<u32> = placed.iter().map(|(_, slot)| *slot).collect();
        assert_eq!((slots_of, slots), (vec![0, 1, 2, 0], 3));
    }

    #[test]
    fn rows_shrink_until_the_bands_fit() {
        let band = |slots| Band {
            replica_set: Some(Uid::from_bits(1)),
            revision: Some(1),
            was: vec![],
            images: String::new(),
            hash: String::new(),
            wanted: 0,
            available: 0,
            is_current: true,
            is_removed: false,
            slots,
            pods: vec![],
        };
        assert_eq!(places(&[band(3)], 600.0)[0].row, TALLEST_ROW);
        let places = places(&[band(60), band(60)], 600.0);
        assert!(places[1].top + places[1].height <= 601.0);
    }
}
