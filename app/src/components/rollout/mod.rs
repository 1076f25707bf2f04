//! Parts of a page.
