//! Settings of a wall in its address, besides the list that it shows.

use timeline::address::Parameters;
use timeline::list::{By, Query, Sort};

/// Default interval in seconds at which the strip changes.
const ROTATE_SECONDS: u32 = 12;
const ROTATE: std::ops::RangeInclusive<u32> = 2..=3_600;
const COLUMNS: u8 = 4;

/// Settings of a wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which Deployments the wall shows.
    pub query: Query,
    /// Interval in seconds at which the strip changes.
    pub rotate_seconds: u32,
    /// Columns of the stage; 0 for automatic.
    pub columns: u8,
    /// Whether tones announce trouble and completion.
    pub has_sound: bool,
}

impl Settings {
    /// Reads the settings of an address; ignores invalid values.
    pub fn from_parameters(parameters: &Parameters) -> Self {
        let number = |name| parameters.get(name).and_then(|text| text.parse::<u32>().ok());
        let columns = number("columns").and_then(|columns| u8::try_from(columns).ok());
        // A wall shows Deployments in progress first, whatever the order of its list.
        let query = Query { group: None, by: By::Verdict, sort: Sort::default(), ..parameters.query(None, None) };
        Self {
            query,
            rotate_seconds: number("rotate").filter(|seconds| ROTATE.contains(seconds)).unwrap_or(ROTATE_SECONDS),
            columns: columns.filter(|columns| *columns <= COLUMNS).unwrap_or(0),
            has_sound: parameters.get("sound") == Some("on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_a_wall_is_shown() {
        let settings = Settings::from_parameters(&Parameters::parse(
            "q=web&cluster=a&columns=3&rotate=30&sound=on&show=trouble&sort=name",
        ));
        assert_eq!((settings.columns, settings.rotate_seconds, settings.has_sound), (3, 30, true));
        assert_eq!((settings.query.text.as_str(), settings.query.cluster.as_deref()), ("web", Some("a")));
        assert_eq!((settings.query.group, settings.query.sort), (None, Sort::default()));
        let odd = Settings::from_parameters(&Parameters::parse("columns=900&rotate=0&sound=loud"));
        assert_eq!((odd.columns, odd.rotate_seconds, odd.has_sound), (0, ROTATE_SECONDS, false));
    }
}
