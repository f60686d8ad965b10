//! Sequences of different lengths, stored one after another in one buffer.

use crate::{Error, Result};

/// Sequences in one buffer, with the offset of each sequence.
///
/// Sequence `i` is `data[offsets[i]..offsets[i + 1]]`. The constructors check that the
/// offsets increase and do not exceed the length of the buffer. If sequences were selected,
/// `i` is an index into the selection.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    data: &'a [u8],
    offsets: &'a [i64],
    picked: Option<&'a [i64]>,
}

/// The distance, in sequences, from the sequence whose residues are prefetched to the
/// sequence whose offset is prefetched.
const OFFSET_DISTANCE: usize = 8;

/// The number of bytes of a cache line.
const CACHE_LINE_BYTES: usize = 64;

/// The number of cache lines of a sequence that are prefetched; the processor
/// prefetches the following lines automatically.
const PREFETCHED_LINES: usize = 4;

impl<'a> Ragged<'a> {
    /// Creates ragged sequences after checking that the offsets match the data.
    pub fn new(data: &'a [u8], offsets: &'a [i64]) -> Result<Self> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err(Error::argument("offsets must contain at least one number"));
        };
        let rises = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        let fits = usize::try_from(last).is_ok_and(|last| last <= data.len());
        if first < 0 || !rises || !fits {
            return Err(Error::argument(format!(
                "offsets must increase from 0 to at most {} (the length of the data)",
                data.len()
            )));
        }
        Ok(Self {
            data,
            offsets,
            picked: None,
        })
    }

    /// Selects sequences by index. Only the offsets of the selected sequences are checked,
    /// so the cost of a batch does not depend on the size of the file.
    pub fn select_rows(data: &'a [u8], offsets: &'a [i64], rows: &'a [i64]) -> Result<Self> {
        let all = Self {
            data,
            offsets,
            picked: Some(rows),
        };
        match (0..rows.len()).find(|row| all.try_get(*row).is_none()) {
            None => Ok(all),
            Some(row) => Err(Error::OutOfRange {
                message: format!(
                    "sequence {} of {}",
                    rows[row],
                    offsets.len().saturating_sub(1)
                ),
            }),
        }
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.picked
            .map_or(self.offsets.len().saturating_sub(1), <[i64]>::len)
    }

    /// Returns whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the residues of sequence `index`, or an empty slice if `index` is out of
    /// range.
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.try_get(index).unwrap_or_default()
    }

    /// Prefetches sequence `index` of a selection. Selected sequences are scattered in
    /// memory, so without the prefetch, loading a sequence would take longer than
    /// encoding it.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        let Some(rows) = self.picked else { return };
        let offset = |ahead: usize| {
            let row = usize::try_from(*rows.get(index + ahead)?).ok()?;
            self.offsets.get(row)
        };
        if let Some(offset) = offset(OFFSET_DISTANCE) {
            prefetch(offset);
        }
        let start = offset(0).and_then(|start| usize::try_from(*start).ok());
        let letters = start.and_then(|start| self.data.get(start..));
        for line in letters
            .unwrap_or_default()
            .chunks(CACHE_LINE_BYTES)
            .take(PREFETCHED_LINES)
        {
            prefetch(&line[0]);
        }
    }

    #[inline]
    fn try_get(&self, index: usize) -> Option<&'a [u8]> {
        let row = match self.picked {
            None => index,
            Some(rows) => usize::try_from(*rows.get(index)?).ok()?,
        };
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        let (start, stop) = (bound(row)?, bound(row.checked_add(1)?)?);
        self.data.get(start..stop)
    }

    /// Iterates over the sequences in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let all = *self;
        (0..all.len()).map(move |index| all.get(index))
    }

    /// Returns the length of the longest sequence.
    pub fn max_length(&self) -> usize {
        self.iter().map(<[u8]>::len).max().unwrap_or(0)
    }
}

#[inline]
fn prefetch<T>(position: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "prefetching takes a raw pointer")]
    // SAFETY: the pointer is derived from a reference, and nothing is read through it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(std::ptr::from_ref(position).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = position;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_the_bytes_between_two_offsets() {
        let all = Ragged::new(b"ACGTA", &[0, 2, 2, 5]).unwrap();
        let found: Vec<&[u8]> = all.iter().collect();
        assert_eq!(found, [b"AC".as_slice(), b"", b"GTA"]);
        assert_eq!(all.max_length(), 3);
    }

    #[test]
    fn offsets_that_decrease_or_exceed_the_data_are_an_error() {
        for offsets in [&[][..], &[0, 6], &[-1, 2], &[0, 3, 2]] {
            assert!(Ragged::new(b"ACGTA", offsets).is_err(), "{offsets:?}");
        }
    }

    #[test]
    fn selected_sequences_have_the_order_of_the_selection() {
        let some = Ragged::select_rows(b"ACGTA", &[0, 2, 2, 5], &[2, 0, 2]).unwrap();
        let found: Vec<&[u8]> = some.iter().collect();
        assert_eq!(found, [b"GTA".as_slice(), b"AC", b"GTA"]);
        assert_eq!((some.len(), some.get(3)), (3, b"".as_slice()));
    }

    #[test]
    fn an_index_beyond_the_end_is_an_error_that_names_the_size() {
        for row in [3, -1, i64::MAX] {
            let error = Ragged::select_rows(b"ACGTA", &[0, 2, 2, 5], &[0, row]).unwrap_err();
            assert_eq!(error.to_string(), format!("sequence {row} of 3"));
        }
        assert!(Ragged::select_rows(b"A", &[0, 9], &[0]).is_err());
        assert!(Ragged::select_rows(b"A", &[], &[0]).is_err());
    }
}
