//! Keeps lists while the viewer is on another page, so that a return shows them at once, at the same scroll position.

use leptos::ev;
use leptos::prelude::*;
use timeline::list::Window;

use super::LiveList;
use super::visible_rows::ROW_PX;
use crate::browser;

/// Maximum number of lists that are kept.
const MOST: usize = 4;
/// Assumed height of the browser's window until it is measured.
pub(super) const VIEW_PX: f64 = 900.0;

/// State of a list when the viewer left it.
#[derive(Debug, Clone)]
pub struct SavedList {
    /// The list and its clocks.
    pub live_list: LiveList,
    /// Rows that were requested.
    pub window: Window,
    pub row_px: f64,
    /// Top of the list on the page, in pixels.
    pub top_px: f64,
    /// Height of the browser's window, in pixels.
    pub view_px: f64,
    pub scrolled_px: f64,
    /// Key of the row that had the focus last.
    pub row: Option<u128>,
}

impl SavedList {
    pub fn from_top(live_list: LiveList, window: Window) -> Self {
        Self { live_list, window, row_px: ROW_PX, top_px: 0.0, view_px: VIEW_PX, scrolled_px: 0.0, row: None }
    }
}

/// The stored lists. Copies are handles of the same lists.
#[derive(Clone, Copy, Default)]
pub struct ListMemory {
    /// Lists by their address, the last one left at the end.
    lists: StoredValue<Vec<(String, SavedList)>>,
    /// The address to which the browser's back and forward buttons led last; empty if they were not used.
    went_to: StoredValue<String>,
}

/// Provides the memory to the whole application.
pub fn provide() {
    let memory = ListMemory::default();
    provide_context(memory);
    // Not in an effect: the router listens from the same moment on and would render the page before a later listener runs.
    if cfg!(feature = "hydrate") {
        browser::on_window(ev::popstate, move |_| memory.went_to.set_value(browser::path() + &browser::search()));
    }
}

impl ListMemory {
    /// Returns the memory of the application around this component.
    pub fn of_app() -> Self {
        use_context().unwrap_or_default()
    }

    /// Returns a list as it was left. If the browser's back or forward button led to `written`, also restores the scroll position and the
    /// focused row; otherwise the list starts at its top.
    pub fn recall(self, address: &str, written: &str) -> Option<SavedList> {
        let is_back = self.went_to.try_update_value(std::mem::take).is_some_and(|went_to| went_to == written);
        let find = |lists: &Vec<(String, SavedList)>| {
            lists.iter().find(|(known, _)| known == address).map(|(_, left)| left.clone())
        };
        let mut left = self.lists.try_with_value(find).flatten()?;
        if !is_back {
            left.scrolled_px = 0.0;
            left.row = None;
        }
        Some(left)
    }

    /// Clears the address of the back and forward buttons once the page shows it: a link may lead there later.
    pub fn clear_went_to(self) {
        self.went_to.set_value(String::new());
    }

    /// Stores the state of a list that the viewer leaves.
    pub fn keep(self, address: String, left: SavedList) {
        self.lists.try_update_value(|lists| {
            lists.retain(|(known, _)| *known != address);
            lists.push((address, left));
            let forgotten = lists.len().saturating_sub(MOST);
            lists.drain(..forgotten);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(scrolled_px: f64) -> SavedList {
        let list = SavedList::from_top(LiveList::default(), Window { from: 0, to: 60 });
        SavedList { scrolled_px, row: Some(7), ..list }
    }

    #[test]
    fn a_list_is_where_it_was_left_for_who_goes_back() {
        let owner = Owner::new();
        owner.with(|| {
            let memory = ListMemory::default();
            memory.keep("/?q=web".into(), left(700.0));
            let left = |written| memory.recall("/?q=web", written).map(|left| (left.scrolled_px, left.row.is_some()));
            assert_eq!(left("/?q=web"), Some((0.0, false)), "by a link");
            memory.went_to.set_value("/?q=web".into());
            assert_eq!(left("/?q=web"), Some((700.0, true)));
            assert_eq!(left("/?q=web"), Some((0.0, false)), "once");
            memory.went_to.set_value("/?q=web".into());
            memory.clear_went_to();
            assert_eq!(left("/?q=web"), Some((0.0, false)), "the page before showed it");
            for number in 0..MOST {
                memory.keep(format!("/clusters/{number}"), self::left(0.0));
            }
            assert_eq!(left("/?q=web"), None, "the oldest is forgotten");
        });
    }
}
