//! The elements of a list by the keys of what they show, for who goes through the list with keys of the keyboard.

use std::collections::HashMap;

use leptos::html::ElementType;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::browser;

/// Handles of the elements of a list, each held by the component that shows one object of it. Copies are handles of the same ones.
pub struct Elements<E: ElementType + 'static>(StoredValue<HashMap<u128, NodeRef<E>>>)
where
    E::Output: 'static;

impl<E: ElementType + 'static> Clone for Elements<E>
where
    E::Output: 'static,
{
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: ElementType + 'static> Copy for Elements<E> where E::Output: 'static {}

impl<E: ElementType + 'static> Default for Elements<E>
where
    E::Output: 'static,
{
    fn default() -> Self {
        Self(StoredValue::default())
    }
}

impl<E: ElementType + 'static> Elements<E>
where
    E::Output: JsCast + Clone + 'static,
{
    /// A handle for the element of the object with that key. It is forgotten when the component that asked for it is gone.
    pub fn of(self, key: u128) -> NodeRef<E> {
        let node = NodeRef::new();
        self.0.try_update_value(|nodes| nodes.insert(key, node));
        on_cleanup(move || {
            self.0.try_update_value(|nodes| nodes.remove(&key));
        });
        node
    }

    /// The element of the object with that key, while one is on the page.
    pub fn get(self, key: u128) -> Option<E::Output> {
        self.0.try_with_value(|nodes| nodes.get(&key).copied()).flatten()?.get_untracked()
    }

    /// Gives the element of the object with that key the focus; false where there is none.
    pub fn focus(self, key: u128) -> bool {
        self.get(key).is_some_and(|element| browser::focus(element.unchecked_ref()))
    }
}

/// The key before or after another one in an order; `None` at its ends.
pub fn neighbour_key(order: &[u128], key: u128, is_next: bool) -> Option<u128> {
    let at = order.iter().position(|known| *known == key)?;
    let to = if is_next { at.checked_add(1) } else { at.checked_sub(1) };
    order.get(to?).copied()
}

#[cfg(test)]
mod tests {
    use super::neighbour_key;

    #[test]
    fn beside_a_key_is_the_one_before_or_after_it() {
        let order = [7, 3, 9];
        assert_eq!(
            [neighbour_key(&order, 7, true), neighbour_key(&order, 3, true), neighbour_key(&order, 9, true)],
            [Some(3), Some(9), None]
        );
        assert_eq!([neighbour_key(&order, 7, false), neighbour_key(&order, 9, false)], [None, Some(3)]);
        assert_eq!(neighbour_key(&order, 1, true), None, "it is not there any more");
    }
}
