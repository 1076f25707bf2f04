//! The elements of a list by the keys of their objects, for movement through the list by keyboard.

use std::collections::HashMap;

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use web_sys::Element;

use crate::browser;

/// Elements of a list, registered by the components that show their objects ([`register_element`]). Copies are handles of the same
/// elements.
#[derive(Clone, Copy, Default)]
pub struct Elements(StoredValue<HashMap<u128, SendWrapper<Element>>>);

impl Elements {
    /// Returns the element of the object with that key, while it is on the page.
    pub fn get(self, key: u128) -> Option<Element> {
        self.0.try_with_value(|elements| elements.get(&key).cloned()).flatten().map(SendWrapper::take)
    }

    /// Focuses the element of the object with that key; false if there is none.
    pub fn focus(self, key: u128) -> bool {
        self.get(key).is_some_and(|element| browser::focus(&element))
    }
}

/// Registers an element by the key of its object until its component is disposed. Used as `use:register_element=(elements, key)`.
pub fn register_element(element: Element, (elements, key): (Elements, u128)) {
    elements.0.try_update_value(|elements| elements.insert(key, SendWrapper::new(element)));
    on_cleanup(move || {
        elements.0.try_update_value(|elements| elements.remove(&key));
    });
}

/// The direction of a key that moves to another element or another moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// The previous one.
    Previous,
    /// The next one.
    Next,
}

/// Returns the key before or after another one in an order; `None` at its ends.
pub fn neighbour_key(order: &[u128], key: u128, neighbour: Neighbour) -> Option<u128> {
    let at = order.iter().position(|known| *known == key)?;
    let to = match neighbour {
        Neighbour::Previous => at.checked_sub(1),
        Neighbour::Next => at.checked_add(1),
    };
    order.get(to?).copied()
}

#[cfg(test)]
mod tests {
    use super::Neighbour::{Next, Previous};
    use super::neighbour_key;

    #[test]
    fn beside_a_key_is_the_one_before_or_after_it() {
        let order = [7, 3, 9];
        assert_eq!(
            [neighbour_key(&order, 7, Next), neighbour_key(&order, 3, Next), neighbour_key(&order, 9, Next)],
            [Some(3), Some(9), None]
        );
        assert_eq!([neighbour_key(&order, 7, Previous), neighbour_key(&order, 9, Previous)], [None, Some(3)]);
        assert_eq!(neighbour_key(&order, 1, Next), None, "it is not there any more");
    }
}
