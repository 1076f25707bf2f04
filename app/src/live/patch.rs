//! Keeps the elements of a list right: those that stay are changed where they differ, the others come and go.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element};

use crate::rows::{Row, Tag};

/// A list in the page.
pub(crate) struct List {
    id: String,
    tag: Tag,
    rows: Vec<Row>,
    /// The element of each row.
    nodes: Vec<Element>,
    container: Option<Element>,
}

impl List {
    /// The list in the element with that id, which the server filled with these rows.
    pub(crate) fn new(id: &str, tag: Tag, rows: &[Row]) -> Self {
        Self { id: id.to_owned(), tag, rows: rows.to_vec(), nodes: Vec::new(), container: None }
    }

    /// Shows these rows and no others, in their order.
    pub(crate) fn show(&mut self, rows: Vec<Row>) {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else {
            return;
        };
        let Some(container) = document.get_element_by_id(&self.id) else {
            return; // this part of the page is not there now
        };
        if self.container.as_ref() != Some(&container) {
            self.adopt(container.clone());
        }
        if rows == self.rows {
            return;
        }
        match self.patch(&document, &container, &rows) {
            Ok(nodes) => (self.rows, self.nodes) = (rows, nodes),
            Err(_) => {
                // The browser refused something: begin anew with the next change.
                self.rows.clear();
                self.container = None;
            }
        }
    }

    /// Takes over what the server rendered; anything else is made anew.
    fn adopt(&mut self, container: Element) {
        let children = container.children();
        self.nodes = (0..children.length()).filter_map(|index| children.item(index)).collect();
        if self.nodes.len() != self.rows.len() {
            container.set_inner_html("");
            self.rows.clear();
            self.nodes.clear();
        }
        self.container = Some(container);
    }

    /// Makes the elements what the rows say, and returns them.
    fn patch(&self, document: &Document, container: &Element, rows: &[Row]) -> Result<Vec<Element>, JsValue> {
        let mut kept = vec![false; self.rows.len()];
        let mut nodes = Vec::with_capacity(rows.len());
        let mut next = container.first_element_child();
        // Rows mostly keep their order: the next one is looked for after the last one.
        let mut from = 0;
        for row in rows {
            let known = (from..self.rows.len())
                .chain(0..from)
                .find(|index| self.rows.get(*index).is_some_and(|known| known.key == row.key));
            let node = match known.and_then(|index| Some((index, self.rows.get(index)?, self.nodes.get(index)?))) {
                Some((index, before, node)) => {
                    from = index + 1;
                    kept.get_mut(index).into_iter().for_each(|kept| *kept = true);
                    change(node, Some(before), row)?;
                    node.clone()
                }
                None => {
                    let node = match self.tag {
                        Tag::Group => document.create_element_ns(Some("http://www.w3.org/2000/svg"), self.tag.name()),
                        _ => document.create_element(self.tag.name()),
                    }?;
                    change(&node, None, row)?;
                    node
                }
            };
            if next.as_ref() == Some(&node) {
                next = node.next_element_sibling();
            } else {
                container.insert_before(&node, next.as_ref().map(JsCast::unchecked_ref))?;
            }
            nodes.push(node);
        }
        self.nodes.iter().zip(kept).filter(|(_, kept)| !kept).for_each(|(node, _)| node.remove());
        Ok(nodes)
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
    if before.is_none_or(|before| before.inside != row.inside) {
        node.set_inner_html(&row.inside);
    }
    Ok(())
}
