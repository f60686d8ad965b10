//! Rows of bytes, such as ids or residues, stored in one vector.

use seqloom_core::{Ragged, Result, number::as_u64};

/// Rows of bytes in one vector, and the offset of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRows {
    data: Vec<u8>,
    offsets: Vec<i64>,
}

impl Default for ByteRows {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            offsets: vec![0],
        }
    }
}

impl ByteRows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a row. For an index after the last row, the result is
    /// empty.
    pub fn get(&self, row: usize) -> &[u8] {
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        let range = bound(row).zip(bound(row.saturating_add(1)));
        let row = range.and_then(|(start, stop)| self.data.get(start..stop));
        row.unwrap_or_default()
    }

    /// Iterates over the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[u8]) {
        self.data.extend_from_slice(row);
        self.push_row_end();
    }

    /// Adds rows that are already concatenated.
    pub(crate) fn append(&mut self, data: &[u8], offsets: &[i64]) {
        let shift = to_offset(self.data.len());
        self.data.extend_from_slice(data);
        self.offsets
            .extend(offsets.iter().skip(1).map(|end| end + shift));
    }

    /// Returns the total size of the rows in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len() + size_of_val(self.offsets.as_slice())
    }

    /// Returns all rows as a view for encoders.
    pub(crate) fn rows(&self) -> Result<Ragged<'_>> {
        Ragged::new(&self.data, &self.offsets)
    }

    /// Returns selected rows as a view for encoders.
    pub(crate) fn select_rows<'a>(&'a self, rows: &'a [i64]) -> Result<Ragged<'a>> {
        Ragged::select_rows(&self.data, &self.offsets, rows)
    }

    fn push_row_end(&mut self) {
        self.offsets.push(to_offset(self.data.len()));
    }
}

fn to_offset(size: usize) -> i64 {
    i64::try_from(as_u64(size)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_returned_as_they_were_added() {
        let mut column = ByteRows::default();
        column.push(b"AC");
        column.append(b"GTT", &[0, 1, 1, 3]);
        let rows: Vec<&[u8]> = column.iter().collect();
        assert_eq!(rows, [b"AC".as_slice(), b"G", b"", b"TT"]);
        assert_eq!((column.len(), column.get(9)), (4, b"".as_slice()));
    }
}
