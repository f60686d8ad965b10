//! Where in one piece of memory each storage lies.

use std::ops::Range;

use crate::memory::LINE;

/// Memory that is needed from one step to another, both included.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Gives each need a place that no other has at the same time: the largest first, each at the
/// lowest free place. Returns places and the size of all; none where that is too large a number.
pub(crate) fn place(needs: &[Need]) -> Option<(Vec<usize>, usize)> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(needs[number].bytes));
    let mut places = vec![0; needs.len()];
    let mut placed: Vec<(Range<usize>, usize)> = Vec::with_capacity(needs.len());
    let mut size = 0;
    for number in order {
        let need = &needs[number];
        let bytes = need.bytes.checked_next_multiple_of(LINE)?;
        let others = placed
            .iter()
            .filter(|(_, other)| meet(need, &needs[*other]));
        let start = lowest(others.map(|(range, _)| range), bytes)?;
        let end = start.checked_add(bytes)?;
        (places[number], size) = (start, size.max(end));
        let at = placed.partition_point(|(range, _)| range.start < start);
        placed.insert(at, (start..end, number));
    }
    Some((places, size))
}

/// Whether both are needed at some step.
fn meet(one: &Need, other: &Need) -> bool {
    one.first <= other.last && other.first <= one.last
}

/// The lowest free place for `bytes` bytes among occupied ranges, sorted by their start.
fn lowest<'a>(occupied: impl Iterator<Item = &'a Range<usize>>, bytes: usize) -> Option<usize> {
    let mut start = 0_usize;
    for range in occupied {
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
        fn needs_of_one_time_have_places_apart(
            needs in prop::collection::vec((0_usize..900, 0_usize..40, 0_usize..9), 0..60)
        ) {
            let needs: Vec<Need> = needs
                .into_iter()
                .map(|(bytes, first, more)| Need { bytes, first, last: first + more })
                .collect();
            let (places, size) = place(&needs).unwrap();
            for (number, need) in needs.iter().enumerate() {
                prop_assert!(places[number] + need.bytes <= size);
                for (other, place) in needs.iter().zip(&places).take(number) {
                    let apart = places[number] + need.bytes <= *place
                        || place + other.bytes <= places[number];
                    prop_assert!(apart || !meet(need, other) || need.bytes * other.bytes == 0);
                }
            }
        }
    }
}
