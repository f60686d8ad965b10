//! The row of a record in an index.

use seqloom_core::error::Fault;
use seqloom_core::number::{u32_at, u64_at};

/// The size of a row in bytes.
pub(crate) const ROW_BYTES: usize = 40;

/// The position of a record in the text, and the lengths of its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexRow {
    /// The offset of the `>` or `@` of the record.
    pub begin: u64,
    /// The number of bytes up to the next record.
    pub size: u64,
    /// The number of residues.
    pub length: u64,
    /// The number of bytes of the header line, including `>` or `@` and the line end.
    pub header: u32,
    /// The number of residues in a line; 0 if the lines have different lengths.
    pub line_letters: u32,
    /// The number of bytes in a line, including the line end.
    pub line_bytes: u32,
    /// The checksum of the bytes of the record. In an index that was created from a
    /// `.fai`, this is the checksum of the id.
    pub sum: u32,
}

impl IndexRow {
    pub(crate) fn to_bytes(self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        let wide = [self.begin, self.size, self.length];
        let narrow = [self.header, self.line_letters, self.line_bytes, self.sum];
        let (left, right) = bytes.split_at_mut(24);
        for (out, value) in left.chunks_exact_mut(8).zip(wide) {
            out.copy_from_slice(&value.to_le_bytes());
        }
        for (out, value) in right.chunks_exact_mut(4).zip(narrow) {
            out.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            begin: u64_at(bytes, 0),
            size: u64_at(bytes, 8),
            length: u64_at(bytes, 16),
            header: u32_at(bytes, 24),
            line_letters: u32_at(bytes, 28),
            line_bytes: u32_at(bytes, 32),
            sum: u32_at(bytes, 36),
        }
    }

    /// Returns an error if the row is invalid in a text of this size.
    pub(crate) fn check_bounds(&self, text: u64) -> Result<(), Fault> {
        let end = self.begin.checked_add(self.size);
        let fits = end.is_some_and(|end| end <= text) && u64::from(self.header) <= self.size;
        let (letters, bytes) = (self.line_letters, self.line_bytes);
        let is_line = (letters == 0 && bytes == 0) || (letters < bytes && bytes - letters <= 2);
        if fits && is_line && self.length <= self.size {
            return Ok(());
        }
        Err(Fault::of_file(format!(
            "a row is outside the text of {text} bytes"
        )))
    }

    /// Returns the offset of the residue at `position`, if all lines except the last have equal lengths.
    pub(crate) fn offset(&self, position: u64) -> Option<u64> {
        let line = position.checked_div(u64::from(self.line_letters))?;
        let within = position % u64::from(self.line_letters);
        let before = line.checked_mul(u64::from(self.line_bytes))?;
        (self.begin + u64::from(self.header))
            .checked_add(before)?
            .checked_add(within)
    }
}

/// Returns the first word of a header.
pub(crate) use seqloom_sequences::pairs::header_id as id_of;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_row_parses_to_the_same_row() {
        let row = IndexRow {
            begin: 1 << 40,
            size: 99,
            length: 80,
            header: 7,
            line_letters: 60,
            line_bytes: 61,
            sum: u32::MAX,
        };
        assert_eq!(IndexRow::from_bytes(&row.to_bytes()), row);
        assert_eq!(row.offset(61), Some((1 << 40) + 7 + 62));
    }
}
