//! Memos of the parts of a changing value: one part alone, or a list of lines.

use std::hash::Hash;

use leptos::prelude::*;

use crate::scoped::ScopedFor;

/// Follows a part while it exists, and keeps its last value afterwards.
pub fn following<S, T>(
    source: impl Into<Signal<S>>,
    first: T,
    read: impl Fn(&S) -> Option<T> + Send + Sync + 'static,
) -> Memo<T>
where
    S: Send + Sync + 'static,
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let source = source.into();
    Memo::new(move |known: Option<&T>| source.with(&read).or_else(|| known.cloned()).unwrap_or_else(|| first.clone()))
}

/// Follows the content of one variant of an enum; see [`following`].
macro_rules! content {
    ($source:expr, $first:ident, $variant:path) => {
        following($source, $first, |source| match source {
            $variant(content) => Some(content.clone()),
            _ => None,
        })
    };
}
pub(crate) use content;

/// Renders a view for each line. A line is identified by its number, as several lines may have the same text; a view is rendered again if
/// the line with its number differs.
pub fn lines<T, N>(
    all: impl Fn() -> Vec<T> + Send + 'static,
    line: impl Fn(T) -> N + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Eq + Hash + Send + 'static,
    N: IntoView + 'static,
{
    let each = move || all().into_iter().enumerate();
    view! { <ScopedFor each children=move |(_, of): (usize, T)| line(of)/> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stays_when_its_source_is_about_something_else() {
        Owner::new().with(|| {
            let source = RwSignal::new(Ok::<u8, ()>(1));
            let part = following(source, 0, |source: &Result<u8, ()>| source.ok());
            assert_eq!(part.get_untracked(), 1);
            source.set(Err(()));
            assert_eq!(part.get_untracked(), 1);
            source.set(Ok(2));
            assert_eq!(part.get_untracked(), 2);
        });
    }
}
