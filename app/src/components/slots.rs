//! Slots: the texts and attributes of a page that change while it lives. Defined once, next to the markup that has room for
//! them. The server reads them while it renders; the browser lets each follow its signals.
//!
//! The browser does not build the page again from views to find these places: view code for elements that never change is
//! more than a quarter of what such a page would have to load.

/// What a slot says; follows the signals that it reads.
type Follow = Box<dyn Fn() -> String + Send + Sync>;

/// The slots of a page.
#[derive(Default)]
pub struct Slots(Vec<Slot>);

struct Slot {
    /// Id of the element.
    id: String,
    /// Name of the attribute; empty for the text inside.
    attribute: &'static str,
    says: Follow,
}

impl Slots {
    /// The text inside an element.
    pub fn text(&mut self, id: &str, says: impl Fn() -> String + Send + Sync + 'static) {
        self.attribute(id, "", says);
    }

    /// An attribute of an element.
    pub fn attribute(&mut self, id: &str, attribute: &'static str, says: impl Fn() -> String + Send + Sync + 'static) {
        self.0.push(Slot { id: id.to_owned(), attribute, says: Box::new(says) });
    }

    /// The text inside an element, now.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn now(&self, id: &str) -> String {
        self.attribute_now(id, "")
    }

    /// An attribute of an element, now.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn attribute_now(&self, id: &str, attribute: &str) -> String {
        let slot = self.0.iter().find(|slot| slot.id == id && slot.attribute == attribute);
        slot.map(|slot| leptos::prelude::untrack(|| (slot.says)())).unwrap_or_default()
    }

    /// From here on every slot follows its signals.
    #[cfg(feature = "hydrate")]
    pub fn follow(self) {
        for Slot { id, attribute, says } in self.0 {
            let effect = leptos::reactive::effect::ImmediateEffect::new(move || show(&id, attribute, &says()));
            std::mem::forget(effect); // it lives as long as the page
        }
    }
}

#[cfg(feature = "hydrate")]
fn show(id: &str, attribute: &str, text: &str) {
    let Some(element) = crate::live::element(id) else { return };
    if attribute.is_empty() {
        if element.text_content().as_deref() != Some(text) {
            element.set_text_content(Some(text));
        }
    } else if element.get_attribute(attribute).as_deref() != Some(text) {
        let _ = element.set_attribute(attribute, text); // names of attributes are ours
    }
}
