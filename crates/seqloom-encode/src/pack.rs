//! Packing of several sequences into one row.

use std::cmp::Reverse;

use seqloom_core::{Error, Result};

/// Selects the sequences of the next row of at most `capacity` positions, and returns
/// their indices in order. The first sequence is always selected, so that every
/// sequence is used eventually. After the first sequence, the longest sequence that
/// still fits is added repeatedly; among sequences of equal length, the first one is
/// added.
pub fn best_fit(lengths: &[i64], capacity: i64) -> Result<Vec<i64>> {
    let Some((&first, rest)) = lengths.split_first() else {
        return Ok(Vec::new());
    };
    if first > capacity || lengths.iter().any(|&length| length < 0) {
        return Err(Error::argument(format!(
            "lengths must be from 0 to {capacity}, the first length is {first}"
        )));
    }
    let mut left = capacity - first;
    let mut by_length: Vec<(i64, i64)> = (1_i64..).zip(rest.iter().copied()).collect();
    by_length.sort_by_key(|&(_, length)| Reverse(length));
    let mut chosen = vec![0];
    for (index, length) in by_length {
        if length <= left {
            left -= length;
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    Ok(chosen)
}

/// Writes the position of each residue within its sequence, starting at 0.
pub fn write_positions(offsets: &[i64], out: &mut [i64]) -> Result<()> {
    let mut rest = out;
    for pair in offsets.windows(2) {
        let length = pair[1].checked_sub(pair[0]);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let length = length.unwrap_or(usize::MAX);
        let Some((row, after)) = rest.split_at_mut_checked(length) else {
            return Err(invalid_offsets());
        };
        for (number, position) in (0..).zip(row) {
            *position = number;
        }
        rest = after;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(invalid_offsets())
    }
}

fn invalid_offsets() -> Error {
    Error::argument("offsets must rise from 0 to the number of positions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_sequence_that_fits_is_added_to_the_first() {
        assert_eq!(best_fit(&[3, 9, 2, 4, 4, 1], 8).unwrap(), [0, 3, 5]);
        assert_eq!(best_fit(&[8, 1, 0], 8).unwrap(), [0, 2]);
        assert_eq!(best_fit(&[], 8).unwrap(), [0_i64; 0]);
    }

    #[test]
    fn a_first_sequence_that_exceeds_the_capacity_is_an_error() {
        assert!(best_fit(&[9], 8).is_err());
        assert!(best_fit(&[1, -1], 8).is_err());
        assert!(best_fit(&[-1], i64::MAX).is_err());
        assert!(best_fit(&[1], i64::MIN).is_err());
    }

    #[test]
    fn positions_restart_at_0_in_each_sequence() {
        let mut out = [7; 5];
        write_positions(&[0, 2, 2, 5], &mut out).unwrap();
        assert_eq!(out, [0, 1, 0, 1, 2]);
        assert!(write_positions(&[0, 2], &mut out).is_err());
        assert!(write_positions(&[0, 6], &mut out).is_err());
        assert!(write_positions(&[0, 3, 2, 5], &mut out).is_err());
        assert!(write_positions(&[i64::MIN, i64::MAX], &mut out).is_err());
    }

    proptest! {
        #[test]
        fn a_row_is_full_if_no_remaining_sequence_fits(
            lengths in prop::collection::vec(0_i64..50, 1..60),
        ) {
            let chosen = best_fit(&lengths, 50).unwrap();
            let used: i64 = chosen.iter().map(|&i| lengths[usize::try_from(i).unwrap()]).sum();
            prop_assert!(used <= 50 && chosen[0] == 0);
            for (index, length) in (0..).zip(&lengths) {
                prop_assert!(chosen.contains(&index) || used + length > 50);
            }
        }
    }
}
