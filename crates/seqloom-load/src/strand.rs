//! Reverse complements.

use seqloom_core::{Error, Result};

/// Reverses in place each row whose mark is not 0, and replaces each character by
/// `other[character]`.
pub fn reverse_complement(
    data: &mut [u8],
    offsets: &[i64],
    marked: &[u8],
    other: &[u8; 256],
) -> Result<()> {
    for (bounds, _) in offsets
        .windows(2)
        .zip(marked)
        .filter(|(_, mark)| **mark != 0)
    {
        let at = |bound: i64| usize::try_from(bound).unwrap_or(usize::MAX);
        let row = data.get_mut(at(bounds[0])..at(bounds[1]));
        let row = row.ok_or_else(|| Error::argument("offsets are outside the data"))?;
        row.reverse();
        for letter in row {
            *letter = other[usize::from(*letter)];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_rows_are_reverse_complemented() {
        let mut other = [b'?'; 256];
        for (letter, partner) in b"ACGT".iter().zip(b"TGCA") {
            other[usize::from(*letter)] = *partner;
        }
        let mut data = b"AACGGTTT".to_vec();
        reverse_complement(&mut data, &[0, 3, 5, 8], &[1, 0, 1], &other).unwrap();
        assert_eq!(data, b"GTTGGAAA");
    }

    #[test]
    fn offsets_outside_the_data_are_an_error() {
        let other = [0; 256];
        for offsets in [[0, 9], [-1, 2], [2, 1]] {
            assert!(reverse_complement(&mut [0; 4], &offsets, &[1], &other).is_err());
        }
    }
}
