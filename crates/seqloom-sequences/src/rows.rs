//! Copies of selected rows of bytes, and hashes of record ids.

use std::hash::{DefaultHasher, Hasher};

use seqloom_core::{Error, Ragged, Result};

use crate::pairs;

/// Copies the rows with the indices `wanted`, in this order. Returns the concatenated
/// bytes and the offsets.
pub fn copy_rows(all: &Ragged<'_>, wanted: &[i64]) -> Result<(Vec<u8>, Vec<i64>)> {
    let positions = wanted
        .iter()
        .map(|row| row_index(all, *row))
        .collect::<Result<Vec<usize>>>()?;
    let size = positions.iter().map(|row| all.get(*row).len()).sum();
    let mut data = Vec::with_capacity(size);
    let mut offsets = Vec::with_capacity(positions.len() + 1);
    offsets.push(0);
    for row in positions {
        data.extend_from_slice(all.get(row));
        offsets.push(i64::try_from(data.len()).unwrap_or(i64::MAX));
    }
    Ok((data, offsets))
}

fn row_index(all: &Ragged<'_>, row: i64) -> Result<usize> {
    let found = usize::try_from(row).ok().filter(|row| *row < all.len());
    found.ok_or_else(|| Error::OutOfRange {
        message: format!("row {row} of {}", all.len()),
    })
}

/// Returns a hash of the id in each header.
pub fn hash_ids(headers: &Ragged<'_>) -> Vec<u64> {
    let hash = |header| {
        let mut hasher = DefaultHasher::new();
        hasher.write(pairs::header_id(header));
        hasher.finish()
    };
    headers.iter().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_copied_in_the_requested_order() {
        let all = Ragged::new(b"ACGTA", &[0, 2, 2, 5]).unwrap();
        let found = copy_rows(&all, &[2, 0, 0, 1]).unwrap();
        assert_eq!(found, (b"GTAACAC".to_vec(), vec![0, 3, 5, 7, 7]));
    }

    #[test]
    fn a_row_out_of_range_is_an_error() {
        let all = Ragged::new(b"ACGTA", &[0, 2, 2, 5]).unwrap();
        assert!(copy_rows(&all, &[3]).is_err());
        assert!(copy_rows(&all, &[-1]).is_err());
    }
    #[test]
    fn the_hash_of_an_id_ignores_the_description() {
        let headers = Ragged::new(b"a xa\tyb", &[0, 3, 6, 7]).unwrap();
        let found = hash_ids(&headers);
        assert_eq!(found[0], found[1]);
        assert_ne!(found[0], found[2]);
    }
}
