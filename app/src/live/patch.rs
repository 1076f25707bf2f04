//! Keeps the elements of a list right: those that stay are changed where they differ, the others come and go.

use std::collections::HashMap;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element};

use crate::rows::{Row, Tag};

/// A list in the page.
pub(crate) struct List {
    id: String,
    tag: Tag,
    rows: Vec<Row>,
    nodes: HashMap<String, Element>,
    container: Option<Element>,
}

impl List {
    /// The list in the element with that id, which the server filled with these rows.
    pub(crate) fn new(id: &str, tag: Tag, rows: &[Row]) -> Self {
        Self { id: id.to_owned(), tag, rows: rows.to_vec(), nodes: HashMap::new(), container: None }
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
        // A refusal by the browser would leave the list as it was; the next change tries again.
        if self.patch(&document, &container, &rows).is_ok() {
            self.rows = rows;
        }
    }

    /// Takes over what the server rendered; an element that was made since then is empty.
    fn adopt(&mut self, container: Element) {
        let children = container.children();
        if children.length() as usize != self.rows.len() {
            container.set_inner_html("");
            self.rows.clear();
        }
        self.nodes.clear();
        for (index, row) in self.rows.iter().enumerate() {
            if let Some(node) = children.item(index as u32) {
                self.nodes.insert(row.key.clone(), node);
            }
        }
        self.container = Some(container);
    }

    fn patch(&mut self, document: &Document, container: &Element, rows: &[Row]) -> Result<(), JsValue> {
        let mut old: HashMap<&str, &Row> = self.rows.iter().map(|row| (row.key.as_str(), row)).collect();
        let mut next = container.first_element_child();
        for row in rows {
            let node = match (old.remove(row.key.as_str()), self.nodes.get(&row.key)) {
                (Some(before), Some(node)) => {
                    change(node, Some(before), row)?;
                    node.clone()
                }
                _ => {
                    let node = match self.tag {
                        Tag::Group => document.create_element_ns(Some("http://www.w3.org/2000/svg"), self.tag.name()),
                        _ => document.create_element(self.tag.name()),
                    }?;
                    change(&node, None, row)?;
                    self.nodes.insert(row.key.clone(), node.clone());
                    node
                }
            };
            if next.as_ref() == Some(&node) {
                next = node.next_element_sibling();
            } else {
                container.insert_before(&node, next.as_ref().map(JsCast::unchecked_ref))?;
            }
        }
        let gone: Vec<String> = old.into_keys().map(str::to_owned).collect();
        for key in gone {
            if let Some(node) = self.nodes.remove(&key) {
                node.remove();
            }
        }
        Ok(())
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
