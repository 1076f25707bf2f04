//! One part of something that changes, for the components that show this part alone.

use leptos::prelude::*;

/// Follows a part as long as it is there; what it was last stays when it is not any more.
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

/// Lines with their numbers, which make different keys of lines that say the same.
pub fn numbered<T: Clone>(lines: &[T]) -> Vec<(usize, T)> {
    lines.iter().cloned().enumerate().collect()
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
