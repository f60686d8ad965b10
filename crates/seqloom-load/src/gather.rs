//! Copies selected rows of a ragged array, in any order.

use seqloom_core::{Error, Result};

/// Size in bytes below which a second thread costs more time than it saves.
const MIN_PARALLEL_BYTES: usize = 1 << 20;

/// Number of bytes that are allocated per id. Most ids have at most this number of
/// bytes.
const RESERVED_ID_BYTES: usize = 32;

/// Concatenated rows of bytes and their offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaggedRows {
    /// The bytes of all rows, concatenated.
    pub data: Vec<u8>,
    /// The offset of each row in `data`, then the size of `data`.
    pub offsets: Vec<i64>,
}

impl RaggedRows {
    /// Appends rows.
    pub fn append(&mut self, rows: &RaggedView<'_>) -> Result<()> {
        let full = |_| Error::full("the records do not fit into memory");
        let (first, last) = match rows.offsets {
            [first, .., last] => (*first, *last),
            _ => return Ok(()),
        };
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let range = usize::try_from(first).ok().zip(usize::try_from(last).ok());
        let data = range.and_then(|(first, last)| rows.data.get(first..last));
        let data = data.ok_or_else(|| Error::argument("offsets do not fit the data"))?;
        let shift = i64::try_from(self.data.len()).unwrap_or(i64::MAX) - first;
        self.data.try_reserve(data.len()).map_err(full)?;
        self.data.extend_from_slice(data);
        let ends = rows.offsets.iter().skip(1).map(|end| end + shift);
        self.offsets.try_reserve(rows.len()).map_err(full)?;
        self.offsets.extend(ends);
        Ok(())
    }

    /// Returns an iterator over the rows.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let end = |end: i64| usize::try_from(end).unwrap_or(usize::MAX);
        let pairs = self.offsets.iter().zip(self.offsets.iter().skip(1));
        pairs.map(move |(start, stop)| self.data.get(end(*start)..end(*stop)).unwrap_or_default())
    }
}

/// Borrowed rows of bytes, concatenated, and their offsets.
#[derive(Clone, Copy, Debug)]
pub struct RaggedView<'a> {
    data: &'a [u8],
    offsets: &'a [i64],
}

impl<'a> RaggedView<'a> {
    /// Creates a view without checks. Access to a row outside the data returns an error.
    pub const fn new(data: &'a [u8], offsets: &'a [i64]) -> Self {
        Self { data, offsets }
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a row. A row number past the end returns an error.
    pub fn get(&self, row: i64) -> Result<&'a [u8]> {
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        usize::try_from(row)
            .ok()
            .and_then(|row| bound(row).zip(bound(row.checked_add(1)?)))
            .and_then(|(start, stop)| self.data.get(start..stop))
            .ok_or_else(|| Error::OutOfRange {
                message: format!("sequence {row} of {}", self.len()),
            })
    }

    /// Copies the given rows in the given order, on the threads of the current pool if
    /// there is one.
    pub fn gather(&self, rows: &[i64]) -> Result<RaggedRows> {
        let offsets = self.row_offsets(rows)?;
        let total = offsets.last().copied().unwrap_or_default();
        let mut data = Vec::new();
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        data.try_reserve_exact(total)
            .map_err(|_| Error::full(format!("{total} bytes do not fit into memory")))?;
        // Outside a pool, this thread does all work, because rayon would create its
        // global pool.
        if total < MIN_PARALLEL_BYTES || rayon::current_thread_index().is_none() {
            for &row in rows {
                data.extend_from_slice(self.get(row)?);
            }
        } else {
            data.resize(total, 0);
            self.copy_in_threads(rows, &mut data)?;
        }
        Ok(RaggedRows { data, offsets })
    }

    /// Returns the first word of each row. If the rows are headers, the first word is the
    /// id.
    pub fn first_words(&self) -> Result<RaggedRows> {
        self.first_words_of((0..self.len()).map(|row| i64::try_from(row).unwrap_or(i64::MAX)))
    }

    /// Returns the first words of the given rows, in the given order.
    pub fn first_words_of(&self, rows: impl ExactSizeIterator<Item = i64>) -> Result<RaggedRows> {
        let mut words = RaggedRows {
            data: Vec::with_capacity(self.data.len().min(RESERVED_ID_BYTES * rows.len())),
            offsets: Vec::with_capacity(rows.len() + 1),
        };
        words.offsets.push(0);
        for row in rows {
            words.data.extend_from_slice(first_word(self.get(row)?));
            let end = i64::try_from(words.data.len()).unwrap_or(i64::MAX);
            words.offsets.push(end);
        }
        Ok(words)
    }

    /// Returns the offsets of the selected rows after concatenation.
    fn row_offsets(&self, rows: &[i64]) -> Result<Vec<i64>> {
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        let mut end = 0;
        offsets.push(end);
        for &row in rows {
            end += i64::try_from(self.get(row)?.len()).unwrap_or(i64::MAX);
            offsets.push(end);
        }
        Ok(offsets)
    }

    /// Fills `out` with rows; each of two threads copies one half.
    fn copy_in_threads(&self, rows: &[i64], out: &mut [u8]) -> Result<()> {
        if out.len() < MIN_PARALLEL_BYTES || rows.len() < 2 {
            return self.copy_rows(rows, out);
        }
        let (left, right) = rows.split_at(rows.len() / 2);
        let mut middle = 0;
        for &row in left {
            middle += self.get(row)?.len();
        }
        let (first, second) = out.split_at_mut(middle);
        let (one, other) = rayon::join(
            || self.copy_in_threads(left, first),
            || self.copy_in_threads(right, second),
        );
        one.and(other)
    }

    fn copy_rows(&self, rows: &[i64], mut out: &mut [u8]) -> Result<()> {
        for &row in rows {
            let letters = self.get(row)?;
            let (slot, rest) = out.split_at_mut(letters.len());
            slot.copy_from_slice(letters);
            out = rest;
        }
        Ok(())
    }
}

/// Returns the first word of a header: the id.
pub use seqloom_sequences::pairs::header_id as first_word;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns(rows: &[Vec<u8>]) -> RaggedRows {
        let mut all = RaggedRows::default();
        all.offsets.push(0);
        for row in rows {
            all.data.extend(row);
            all.offsets.push(i64::try_from(all.data.len()).unwrap());
        }
        all
    }

    #[test]
    fn an_index_past_the_end_is_an_error_with_the_number_of_rows() {
        let all = columns(&[b"AC".to_vec()]);
        let found = RaggedView::new(&all.data, &all.offsets);
        for row in [1, -1, i64::MAX] {
            let error = found.gather(&[0, row]).unwrap_err().to_string();
            assert_eq!(error, format!("sequence {row} of 1"));
        }
    }

    #[test]
    fn offsets_outside_the_data_are_an_error() {
        for offsets in [&[0, 9][..], &[-3, 1], &[2, 1], &[]] {
            assert!(RaggedView::new(b"ACGT", offsets).gather(&[0]).is_err());
        }
    }

    #[test]
    fn threads_copy_large_rows_correctly() {
        let rows: Vec<Vec<u8>> = (0..9).map(|i| vec![b'A' + i; 300_000]).collect();
        let (all, picked) = (columns(&rows), [8, 0, 3, 3, 7, 1]);
        let found = RaggedView::new(&all.data, &all.offsets);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        assert_eq!(
            pool.install(|| found.gather(&picked)).unwrap(),
            found.gather(&picked).unwrap()
        );
    }

    #[test]
    fn rows_are_appended() {
        let parts = [&[b"AC".to_vec(), b"".to_vec()][..], &[], &[b"GGT".to_vec()]];
        let mut all = RaggedRows::default();
        for part in parts {
            let part = columns(part);
            let part = RaggedView::new(&part.data, &part.offsets);
            all.append(&part).unwrap();
        }
        assert_eq!(all, columns(&parts.concat()));
        assert!(all.append(&RaggedView::new(b"A", &[0, 2])).is_err());
    }

    #[test]
    fn a_first_word_ends_at_the_first_blank() {
        let headers = [&b"a one"[..], b"  b\tc", b"", b" ", b"d\x0be"].map(<[u8]>::to_vec);
        let all = columns(&headers);
        let words = RaggedView::new(&all.data, &all.offsets).first_words();
        let wanted = [&b"a"[..], b"b", b"", b"", b"d"].map(<[u8]>::to_vec);
        assert_eq!(words.unwrap(), columns(&wanted));
    }

    proptest! {
        #[test]
        fn gather_returns_the_selected_rows(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..20),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let all = columns(&rows);
            let picks: Vec<usize> = picks.iter().map(|pick| pick.index(rows.len())).collect();
            let wanted: Vec<Vec<u8>> = picks.iter().map(|&pick| rows[pick].clone()).collect();
            let numbers: Vec<i64> = picks.iter().map(|&pick| i64::try_from(pick).unwrap()).collect();
            let found = RaggedView::new(&all.data, &all.offsets).gather(&numbers).unwrap();
            prop_assert_eq!(found, columns(&wanted));
        }
    }
}
