//! Signals of the list's page: one for each heading and row, and one for their order.

use leptos::html;
use leptos::prelude::*;
use timeline::list::{ListCopy, Overall, Query};
use web_sys::Element;

use super::Ages;
use super::row::{Heading, RowText};
use super::visible_rows::{HEAD_PX, ListItem, Room, VisibleRows};
use crate::elements::Elements;
use crate::rows::{Rows, set_if_new};

/// A place in the list, with the key of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Head(usize),
    Row(u128),
    /// A row that has not arrived yet, by its number.
    Coming(u32),
}

impl Slot {
    /// Returns the key of the Deployment in this place.
    pub(super) const fn deployment(&self) -> Option<u128> {
        if let Self::Row(key) = self { Some(*key) } else { None }
    }
}

/// State of the page. Copies are handles of the same state.
#[derive(Clone, Copy)]
pub struct ListBoard {
    /// Filter and order of the list, from the address.
    pub query: Memo<Query>,
    /// Facts of the whole list.
    pub overall: RwSignal<Overall>,
    /// Whether any data of the list has arrived.
    pub is_known: RwSignal<bool>,
    /// Whether the page is connected to the server, or is connecting for the first time.
    pub is_linked: RwSignal<bool>,
    /// The rendered items, in order.
    pub slots: RwSignal<Vec<Slot>>,
    pub heads: Rows<Heading>,
    /// Texts of the rows, by their keys.
    pub rows: Rows<RowText>,
    /// Space in place of the items before the rendered ones.
    pub before: RwSignal<Room>,
    /// Space in place of the items after the rendered ones.
    pub after: RwSignal<Room>,
    pub element: NodeRef<html::Div>,
    /// Links of the Deployments' rows, by the keys of the rows.
    pub links: Elements,
    /// Key of the row that had the focus last.
    pub last_row: StoredValue<Option<u128>>,
}

impl ListBoard {
    /// Creates a board without data.
    pub fn new(query: Memo<Query>) -> Self {
        Self {
            query,
            overall: RwSignal::default(),
            is_known: RwSignal::new(false),
            is_linked: RwSignal::new(true),
            slots: RwSignal::default(),
            heads: Rows::default(),
            rows: Rows::default(),
            before: RwSignal::default(),
            after: RwSignal::default(),
            element: NodeRef::new(),
            links: Elements::default(),
            last_row: StoredValue::new(None),
        }
    }

    /// Returns the element of a rendered row with data; `None` if there is none.
    pub(super) fn first_row(self) -> Option<Element> {
        let key = self.slots.with_untracked(|slots| slots.iter().find_map(Slot::deployment))?;
        self.links.get(key)?.parent_element()
    }

    /// Returns the keys of the rendered rows with data, with their top edges in the list, in pixels.
    pub(super) fn row_tops(self, row_px: f64) -> Vec<(u128, f64)> {
        let mut top = self.before.get_untracked().height_px(row_px);
        let mut tops = Vec::new();
        for slot in self.slots.get_untracked() {
            tops.extend(slot.deployment().map(|key| (key, top)));
            top += if matches!(slot, Slot::Head(_)) { HEAD_PX } else { row_px };
        }
        tops
    }

    /// Takes the facts of the whole list.
    pub fn set_overall(&self, overall: &Overall) {
        set_if_new(&self.is_known, true);
        if self.overall.try_with_untracked(|known| !known.is_like(overall)).unwrap_or(false) {
            self.overall.set(overall.clone());
        }
    }

    /// Renders the rows of a part; only differences are updated.
    pub fn show(&self, copy: &ListCopy, part: &VisibleRows, ages: &Ages) {
        let mut slots = Vec::with_capacity(part.spots.len());
        let (mut heads, mut rows) = (Vec::new(), Vec::with_capacity(part.spots.len()));
        for spot in &part.spots {
            match *spot {
                ListItem::Head(index) => {
                    if let Some(head) = copy.overall.heads.get(index) {
                        heads.push((index as u128, Heading::from_head(&copy.overall, head)));
                        slots.push(Slot::Head(index));
                    }
                }
                ListItem::Row(number) => match copy.row(number) {
                    Some(row) => {
                        let key = RowText::key(row);
                        rows.push((key, RowText::from_row(&copy.overall, row, ages)));
                        slots.push(Slot::Row(key));
                    }
                    None => slots.push(Slot::Coming(number)),
                },
            }
        }
        self.heads.set(heads);
        self.rows.set(rows);
        set_if_new(&self.slots, slots);
        set_if_new(&self.before, part.before);
        set_if_new(&self.after, part.after);
    }
}
