//! Positions of bands and rows. If the bands do not fit, rows shrink first, then less important bands; after that the picture scrolls.

use super::lanes::Band;

/// Largest number of pods that are shown one by one.
const MOST_BARS: usize = 500;
/// Lowest row of a single pod, in pixels. In lower rows pods share a row: the band is a ribbon.
const FLATTEST_ROW: f64 = 1.25;
/// With many pods, rows that a zoom made this high show pods one by one again.
const OPENED_ROW: f64 = 1.6;
/// Largest height of a row, in pixels.
const TALLEST_ROW: f64 = 44.0;
/// With more room, rows grow up to this part of it.
const ROWS_IN_ROOM: f64 = 16.0;
/// If a band has more room than its rows need, they grow up to this height.
const LEGIBLE_ROW: f64 = 16.0;
const TALLEST_BAR: f64 = 24.0;
/// Bars lower than this have no room for edges.
const LOW_BAR: f64 = 6.0;
/// Rows lower than this have no room between bars.
const TIGHT_ROW: f64 = 2.0;
/// Smallest heights of the rows of a band: of the current one and its predecessor, of others, and of the pods out of rotation.
const LEAST_BAND: f64 = 56.0;
const LEAST_OTHER: f64 = 14.0;
const LEAST_OUT: f64 = 24.0;

/// Height of the room for bands in a large window. The pod table uses the rest if the bands leave enough of it.
const LARGE_ROOM: f64 = 560.0;
const LEAST_SPARE: f64 = 220.0;

/// Position of a band, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandPlace {
    /// Upper edge of the band.
    pub top: f64,
    /// Height of the band.
    pub height: f64,
    /// Height of a row.
    pub row: f64,
    /// Upper edge of the first row.
    pub first: f64,
}

/// A band with its position.
pub struct PlacedBand {
    /// The band of a ReplicaSet, or of the pods out of rotation.
    pub band: Band,
    /// Position in the picture.
    pub place: BandPlace,
    /// Whether its pods share rows.
    pub is_ribbon: bool,
}

/// Room for the shapes of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// Enough for shapes and edges.
    Roomy,
    /// Enough for colours only.
    Low,
    /// Enough for colours only, without room between bars.
    Tight,
}

/// Room above and below the rows of a band, and between two bands.
const AIRY: (f64, f64) = (12.0, 10.0);
const CLOSE: (f64, f64) = (6.0, 6.0);

/// Stacks the bands into `height` pixels, as far as they can shrink. With enough room, rows are `scale` times as tall.
pub fn places(bands: &[Band], height: f64, scale: f64) -> Vec<BandPlace> {
    let replaced = replaced(bands);
    let is_main = |(index, band): (usize, &Band)| band.heading.is_current || Some(index) == replaced;
    let room = |(padding, gap): (f64, f64)| height - bands.len() as f64 * (2.0 * padding + gap);
    let wanted: f64 = bands.iter().map(comfortable_height).sum();
    let (padding, gap) = if wanted <= room(AIRY) { AIRY } else { CLOSE };
    let room = room((padding, gap));
    let main = bands.iter().enumerate().filter(|one| is_main(*one)).count() as f64;
    let others = bands.len() as f64 - main;
    let least_main = (height / (2.0 * main.max(1.0))).clamp(LEAST_OUT, LEAST_BAND);
    let least_other = ((room - main * least_main) / others.max(1.0)).max(LEAST_OTHER);
    let least =
        |one: (usize, &Band)| if is_main(one) { least_main } else { least_other.min(comfortable_height(one.1)) };
    let leasts: Vec<f64> = bands.iter().enumerate().map(least).collect();
    let row = row(bands, &leasts, room, (scale * TALLEST_ROW).max(height / ROWS_IN_ROOM));
    let mut top = 0.0;
    let place = |(band, least): (&Band, f64)| {
        let rows = if is_empty(band) { 0.0 } else { (slots(band) * row).floor() };
        let content = rows.max(least.floor());
        let height = content + 2.0 * padding;
        let fits = content / slots(band);
        let row = row.max(fits.min(LEGIBLE_ROW)).min(fits);
        let place = BandPlace { top, height, row, first: top + padding };
        top += height + gap;
        place
    };
    bands.iter().zip(leasts).map(place).collect()
}

/// Returns the height of rows with which all bands fit, without bands lower than their least height.
fn row(bands: &[Band], leasts: &[f64], room: f64, tallest: f64) -> f64 {
    let mut row = tallest;
    // Lower rows bring more bands to their least height, which leaves less room for the others: at most one iteration for each band.
    for _ in 0..=bands.len() {
        let (mut left, mut rows) = (room, 0.0);
        for (band, least) in bands.iter().zip(leasts) {
            if !is_empty(band) && slots(band) * row > *least {
                rows += slots(band);
            } else {
                left -= least;
            }
        }
        let next = if rows > 0.0 { (left / rows).max(0.0) } else { row };
        if next >= row {
            break;
        }
        row = next;
    }
    row
}

fn slots(band: &Band) -> f64 {
    f64::from(band.slots.max(1))
}

/// Returns whether a band has no pods in the window, so that one line is enough. The current revision is not empty: its pods will appear.
const fn is_empty(band: &Band) -> bool {
    band.slots == 0 && !band.heading.is_current
}

/// Returns the height at which a band is easy to read.
fn comfortable_height(band: &Band) -> f64 {
    match (is_empty(band), band.heading.is_out()) {
        (true, _) => LEAST_OTHER,
        (_, true) => LEAST_OUT,
        (_, false) => LEAST_BAND,
    }
}

/// Returns the band that the current one replaces: the one with most pods, of equal ones the latest.
fn replaced(bands: &[Band]) -> Option<usize> {
    let is_other = |band: &Band| !band.heading.is_current && !band.heading.is_out() && !is_empty(band);
    let others = bands.iter().enumerate().filter(|(_, band)| is_other(band));
    others
        .max_by_key(|(_, band)| (band.heading.desired.max(band.living), band.heading.revision))
        .map(|(index, _)| index)
}

/// Returns whether bands of that height leave enough of a large window's room for the pod table below them.
pub fn has_spare(room: f64, height: f64) -> bool {
    height > 0.0 && room >= LARGE_ROOM && room - height >= LEAST_SPARE
}

/// Returns whether pods are too many to show one by one, unless the viewer zooms in.
pub const fn is_crowd(pods: usize) -> bool {
    pods > MOST_BARS
}

/// Returns whether the pods of a band share rows because single pods would be too small. `is_opened`: the viewer zoomed in.
pub fn is_ribbon(place: BandPlace, pods: usize, is_opened: bool) -> bool {
    if is_crowd(pods) { !is_opened || place.row < OPENED_ROW } else { place.row < FLATTEST_ROW }
}

/// Returns the height of a bar in a row.
pub fn bar_height(row: f64) -> f64 {
    let gap = (row * 0.3).min((row - TIGHT_ROW) * 0.75).max(0.0);
    // Not `clamp`: its panic message would add the formatting of floating point numbers to the program.
    (row - gap).max(1.0).min(TALLEST_BAR.max(row * TALLEST_BAR / TALLEST_ROW))
}

/// Returns the density of a row.
pub fn density(row: f64) -> Density {
    match row {
        _ if row <= TIGHT_ROW => Density::Tight,
        _ if bar_height(row) < LOW_BAR => Density::Low,
        _ => Density::Roomy,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::BandHeading;
    use super::*;
    use timeline::Uid;

    fn band(revision: u64, slots: u32, wanted: u32) -> Band {
        Band {
            heading: BandHeading {
                replica_set: Some(Uid::from_bits(revision.into())),
                revision: Some(revision),
                desired: wanted,
                ..BandHeading::default()
            },
            living: wanted,
            slots,
            pods: vec![],
        }
    }

    fn current(band: Band) -> Band {
        Band { heading: BandHeading { is_current: true, ..band.heading }, ..band }
    }

    fn bottom(places: &[BandPlace]) -> f64 {
        places.last().map_or(0.0, |last| last.top + last.height)
    }

    #[test]
    fn rows_shrink_until_the_bands_fit() {
        assert_eq!(places(&[current(band(1, 3, 3))], 600.0, 1.0)[0].row, TALLEST_ROW);
        for slots in [3, 40, 120, 500, 20_000] {
            let places = places(&[band(1, slots, slots), current(band(2, slots, slots))], 300.0, 1.0);
            assert!(bottom(&places) <= 300.0, "{slots}: {places:?}");
            assert!(slots < 40 || bottom(&places) > 280.0, "{slots}: {places:?}");
            assert_eq!(places[0].height, places[1].height);
        }
    }

    #[test]
    fn bands_that_matter_less_are_lower_before_the_picture_scrolls() {
        let six = [band(1, 4, 4), band(2, 1, 1), band(3, 1, 0), band(4, 1, 1), band(5, 1, 1), current(band(6, 4, 4))];
        let places = places(&six, 290.0, 1.0);
        assert!(bottom(&places) <= 290.0, "{places:?}");
        let heights: Vec<f64> = places.iter().map(|place| place.height).collect();
        assert!(heights[0] >= 68.0 && heights[5] >= 68.0, "the current one and the one it replaces: {heights:?}");
        assert!(heights[1..5].iter().all(|height| *height < 40.0), "{heights:?}");
    }

    #[test]
    fn a_band_of_which_the_window_has_nothing_is_one_line() {
        let places = places(&[band(1, 0, 3), band(2, 4, 4), current(band(3, 4, 4))], 400.0, 1.0);
        assert!(places[0].height < 40.0, "{places:?}");
        assert_eq!(places[1].height, places[2].height);
        assert!(bottom(&places) > 350.0, "the others have its room: {places:?}");
    }

    #[test]
    fn a_band_with_few_pods_leaves_its_room_to_the_others() {
        let places = places(&[band(1, 1, 1), current(band(2, 100, 100))], 400.0, 1.0);
        assert!((370.0..=400.0).contains(&bottom(&places)), "{places:?}");
        assert!(places[1].row > 2.0, "{places:?}");
    }

    #[test]
    fn pods_share_rows_where_none_can_be_seen_alone() {
        let shared = |row: f64, pods: usize, is_opened: bool| {
            is_ribbon(BandPlace { top: 0.0, height: 0.0, row, first: 0.0 }, pods, is_opened)
        };
        let at = |pods, is_opened| [1.2, 1.3, 1.7].map(|row| shared(row, pods, is_opened));
        assert_eq!([at(500, false), at(500, true)], [[true, false, false]; 2]);
        assert_eq!([at(501, false), at(501, true)], [[true; 3], [true, true, false]]);
    }

    #[test]
    fn what_few_pods_leave_of_a_large_window_is_for_the_table() {
        let height = |slots| bottom(&places(&[band(1, slots, slots), current(band(2, slots, slots))], 690.0, 1.0));
        assert_eq!([1, 4, 7, 40].map(|slots| has_spare(690.0, height(slots))), [true, true, false, false]);
        assert!(!has_spare(450.0, height(1)), "a small window has all of it for the picture");
    }

    #[test]
    fn rows_are_taller_on_a_large_screen_and_nowhere_else() {
        let row = |room: f64| places(&[current(band(1, 1, 1))], room, 1.0)[0].row;
        assert_eq!([300.0, 690.0, 704.0, 1_200.0].map(row), [TALLEST_ROW, TALLEST_ROW, TALLEST_ROW, 75.0]);
        assert!(bar_height(75.0) > TALLEST_BAR);
        assert_eq!(places(&[current(band(1, 1, 1))], 600.0, 2.0)[0].row, 2.0 * TALLEST_ROW, "on a large wall");
        assert_eq!(places(&[current(band(1, 1, 1))], 90.0, 3.0)[0].row, 56.0, "never more than there is");
    }

    #[test]
    fn bars_never_jump_while_rows_shrink() {
        let mut row = 2.0 * TALLEST_ROW;
        while row > 1.0 {
            let next = row - 0.05;
            assert!((bar_height(row) - bar_height(next)).abs() < 0.06, "{row}");
            assert!(bar_height(row) <= row.max(1.0), "{row}");
            row = next;
        }
    }
}
