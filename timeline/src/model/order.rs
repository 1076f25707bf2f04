//! Sorting in one place. A sort is compiled for each type of item, which makes a page's program larger; here only keys are sorted, and the
//! items are rearranged accordingly.

/// Sorts by a key of a time (or another number) and a tie-breaker; items with equal keys keep their order.
pub fn sort_by<T>(items: Vec<T>, key: impl Fn(&T) -> (i64, u128)) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let keys = items.iter().enumerate().map(|(index, item)| (key(item), index)).collect();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    sorted(keys).into_iter().filter_map(|index| items.get_mut(index)?.take()).collect()
}

fn sorted(mut keys: Vec<((i64, u128), usize)>) -> Vec<usize> {
    keys.sort_unstable();
    keys.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_keys_keep_their_order() {
        let items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        let sorted: String =
            super::sort_by(items, |(number, _)| (*number, 0)).into_iter().map(|(_, letter)| letter).collect();
        assert_eq!(sorted, "bdac");
    }
}
