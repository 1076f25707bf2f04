//! Keeps the elements of a list right: those that stay are changed where they differ, the others come and go.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, HtmlElement};

use crate::rows::{Plan, Row, Stamp, Tag};

/// A list in the page.
pub(crate) struct List {
    id: String,
    tag: Tag,
    items: Vec<Item>,
    container: Option<Element>,
}

/// An element of a list.
struct Item {
    key: u128,
    stamp: Stamp,
    node: Element,
    /// What it shows.
    row: Row,
}

impl List {
    /// The list in the element with that id.
    pub(crate) fn new(id: &str, tag: Tag) -> Self {
        Self { id: id.to_owned(), tag, items: Vec::new(), container: None }
    }

    /// Takes over what the server rendered from these plans; anything else is made anew.
    pub(crate) fn adopt(&mut self, plans: &[Plan<'_>]) {
        let Some((_, container)) = self.find() else { return };
        let children = container.children();
        let nodes = (0..children.length()).filter_map(|index| children.item(index));
        if children.length() as usize == plans.len() {
            let item = |(plan, node): (&Plan<'_>, Element)| {
                let row = plan.row();
                place(&node, &row.style);
                Item { key: plan.key, stamp: plan.stamp, node, row }
            };
            self.items = plans.iter().zip(nodes).map(item).collect();
        } else {
            container.set_inner_html("");
        }
        self.container = Some(container);
    }

    /// Shows these rows and no others, in their order.
    pub(crate) fn show(&mut self, plans: &[Plan<'_>]) {
        let Some((document, container)) = self.find() else {
            return; // this part of the page is not there now
        };
        let patched = self.patch(&document, &container, plans);
        self.container = Some(container);
        match patched {
            Ok(items) => self.items = items,
            Err(_) => self.items.clear(), // the browser refused something: begin anew with the next change
        }
    }

    fn find(&self) -> Option<(Document, Element)> {
        let document = web_sys::window()?.document()?;
        let container = self.container.clone().or_else(|| document.get_element_by_id(&self.id))?;
        Some((document, container))
    }

    /// Makes the elements what the plans say.
    fn patch(&mut self, document: &Document, container: &Element, plans: &[Plan<'_>]) -> Result<Vec<Item>, JsValue> {
        if self.items.is_empty() && !plans.is_empty() {
            container.set_inner_html("");
        }
        let mut old: Vec<Option<Item>> = std::mem::take(&mut self.items).into_iter().map(Some).collect();
        let is_same_order =
            old.len() == plans.len() && old.iter().flatten().zip(plans).all(|(item, plan)| item.key == plan.key);
        // Rows mostly keep their order: the next one is looked for after the last one.
        let mut from = 0;
        let mut known = Vec::with_capacity(plans.len());
        for plan in plans {
            let is_it = |index: &usize| matches!(old.get(*index), Some(Some(item)) if item.key == plan.key);
            let found = (from..old.len()).chain(0..from).find(is_it);
            from = found.map_or(from, |index| index + 1);
            known.push(found.and_then(|index| old.get_mut(index)?.take()));
        }
        // Before anything is put in its place: an element that is moved loses the focus.
        old.into_iter().flatten().for_each(|item| item.node.remove());
        let mut items = Vec::with_capacity(plans.len());
        let mut next = if is_same_order { None } else { container.first_element_child() };
        for (plan, known) in plans.iter().zip(known) {
            let item = match known {
                Some(mut item) => {
                    if item.stamp != plan.stamp {
                        let row = plan.row();
                        change(&item.node, Some(&item.row), &row)?;
                        (item.stamp, item.row) = (plan.stamp, row);
                    }
                    item
                }
                None => {
                    let node = match self.tag {
                        Tag::Group => document.create_element_ns(Some("http://www.w3.org/2000/svg"), self.tag.name()),
                        _ => document.create_element(self.tag.name()),
                    }?;
                    let row = plan.row();
                    change(&node, None, &row)?;
                    Item { key: plan.key, stamp: plan.stamp, node, row }
                }
            };
            if !is_same_order {
                if next.as_ref() == Some(&item.node) {
                    next = item.node.next_element_sibling();
                } else {
                    container.insert_before(&item.node, next.as_ref().map(JsCast::unchecked_ref))?;
                }
            }
            items.push(item);
        }
        Ok(items)
    }
}

/// Makes an element what a row says.
fn change(node: &Element, before: Option<&Row>, row: &Row) -> Result<(), JsValue> {
    let known = before.map(|before| before.attributes.as_slice()).unwrap_or_default();
    for (name, value) in &row.attributes {
        if !known.iter().any(|(other, same)| other == name && same == value) {
            node.set_attribute(name, value)?;
        }
    }
    for (name, _) in known {
        if !row.attributes.iter().any(|(other, _)| other == name) {
            node.remove_attribute(name)?;
        }
    }
    if before.is_none_or(|before| before.style != row.style) {
        place(node, &row.style);
    }
    if before.is_none_or(|before| before.inside != row.inside) {
        node.set_inner_html(&row.inside);
    }
    Ok(())
}

/// Sets an element's own style the one way that a strict content security policy allows.
pub(crate) fn place(node: &Element, style: &str) {
    if !style.is_empty()
        && let Some(node) = node.dyn_ref::<HtmlElement>()
    {
        node.style().set_css_text(style);
    }
}
