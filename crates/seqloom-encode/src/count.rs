//! How often each letter occurs.

use seqloom_core::Ragged;

/// How often each of the 256 bytes occurs in `data`.
pub fn letters(data: &[u8]) -> [i64; 256] {
    // Four tables: with one, a run of the same letter would wait for its own count.
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

/// How many letters of each sequence are in `wanted`, whatever their case.
pub fn per_record(sequences: &Ragged<'_>, wanted: &[u8]) -> Vec<i64> {
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
    fn letters_count_whatever_their_case() {
        let all = Ragged::new(b"ACGTgc", &[0, 4, 4, 6]).unwrap();
        assert_eq!(per_record(&all, b"GC"), [2, 0, 2]);
    }

    proptest! {
        #[test]
        fn every_byte_is_counted(data: Vec<u8>) {
            let mut slow = [0; 256];
            for letter in &data {
                slow[usize::from(*letter)] += 1;
            }
            prop_assert_eq!(letters(&data), slow);
        }
    }
}
