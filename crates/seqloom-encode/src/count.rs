//! Counts the residues of sequences.

use seqloom_core::Ragged;

/// Returns the number of occurrences of each of the 256 bytes in `data`.
pub fn count_bytes(data: &[u8]) -> [i64; 256] {
    // Four tables are used, so that equal adjacent bytes do not increment the same
    // counter one after the other.
    let mut tables = [[0_i64; 256]; 4];
    let quads = data.chunks_exact(4);
    for &letter in quads.remainder() {
        tables[0][usize::from(letter)] += 1;
    }
    for quad in quads {
        for (table, &letter) in tables.iter_mut().zip(quad) {
            table[usize::from(letter)] += 1;
        }
    }
    std::array::from_fn(|byte| tables.iter().map(|table| table[byte]).sum())
}

/// Returns the number of residues of each sequence that are in `wanted`, in upper or
/// lower case.
pub fn count_residues(sequences: &Ragged<'_>, wanted: &[u8]) -> Vec<i64> {
    let mut is_wanted = [0_i64; 256];
    for letter in wanted {
        is_wanted[usize::from(letter.to_ascii_lowercase())] = 1;
        is_wanted[usize::from(letter.to_ascii_uppercase())] = 1;
    }
    let count = |letters: &[u8]| {
        letters
            .iter()
            .map(|letter| is_wanted[usize::from(*letter)])
            .sum()
    };
    sequences.iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn upper_and_lower_case_are_counted() {
        let all = Ragged::new(b"ACGTgc", &[0, 4, 4, 6]).unwrap();
        assert_eq!(count_residues(&all, b"GC"), [2, 0, 2]);
    }

    proptest! {
        #[test]
        fn every_byte_is_counted(data: Vec<u8>) {
            let mut slow = [0; 256];
            for letter in &data {
                slow[usize::from(*letter)] += 1;
            }
            prop_assert_eq!(count_bytes(&data), slow);
        }
    }
}
