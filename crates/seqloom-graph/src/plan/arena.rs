//! Allocation of storages in one block of memory.

use std::ops::Range;

use crate::memory::ALIGNMENT;

/// The size of a storage, and the first and last step that use it.
#[derive(Clone, Debug)]
pub(crate) struct StorageNeed {
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Assigns an offset to each storage, such that storages with overlapping lifetimes do
/// not overlap. Storages are placed in order of decreasing size, each at the lowest
/// free offset. Returns the offsets and the total size, or `None` on overflow.
pub(crate) fn assign_offsets(needs: &[StorageNeed]) -> Option<(Vec<usize>, usize)> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(needs[number].bytes));
    let mut places = vec![0; needs.len()];
    let mut placed: Vec<(Range<usize>, usize)> = Vec::with_capacity(needs.len());
    let mut size = 0;
    for number in order {
        let need = &needs[number];
        let bytes = need.bytes.checked_next_multiple_of(ALIGNMENT)?;
        let others = placed
            .iter()
            .filter(|(_, other)| do_lifetimes_overlap(need, &needs[*other]));
        let start = free_offset(others.map(|(range, _)| range), bytes)?;
        let end = start.checked_add(bytes)?;
        (places[number], size) = (start, size.max(end));
        let at = placed.partition_point(|(range, _)| range.start < start);
        placed.insert(at, (start..end, number));
    }
    Some((places, size))
}

/// Returns true if the lifetimes of both storages overlap.
fn do_lifetimes_overlap(one: &StorageNeed, other: &StorageNeed) -> bool {
    one.first <= other.last && other.first <= one.last
}

/// Returns the lowest free offset for `bytes` bytes. The used ranges must be sorted
/// by their start.
fn free_offset<'a>(used: impl Iterator<Item = &'a Range<usize>>, bytes: usize) -> Option<usize> {
    let mut start = 0_usize;
    for range in used {
        if start.checked_add(bytes)? <= range.start {
            break;
        }
        start = start.max(range.end);
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn storages_in_use_at_the_same_time_do_not_overlap(
            needs in prop::collection::vec((0_usize..900, 0_usize..40, 0_usize..9), 0..60)
        ) {
            let needs: Vec<StorageNeed> = needs
                .into_iter()
                .map(|(bytes, first, more)| StorageNeed { bytes, first, last: first + more })
                .collect();
            let (places, size) = assign_offsets(&needs).unwrap();
            for (number, need) in needs.iter().enumerate() {
                prop_assert!(places[number] + need.bytes <= size);
                for (other, place) in needs.iter().zip(&places).take(number) {
                    let apart = places[number] + need.bytes <= *place
                        || place + other.bytes <= places[number];
                    prop_assert!(apart || !do_lifetimes_overlap(need, other) || need.bytes * other.bytes == 0);
                }
            }
        }
    }
}
