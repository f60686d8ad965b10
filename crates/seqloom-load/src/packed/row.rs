//! A tokenised window.

use super::windows::TokenWindow;

/// The position of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The index of the record's file.
    pub file: usize,
    /// The index of the record in its file.
    pub record: u64,
    /// The ordinal of the record, counted over all files.
    pub ordinal: u64,
}

impl Origin {
    /// Returns the position that is `records` records later in the same file.
    #[must_use]
    pub fn advance_by(self, records: u64) -> Self {
        Self {
            record: self.record + records,
            ordinal: self.ordinal + records,
            ..self
        }
    }

    /// Returns the position of the first record of the next file; the current position must
    /// be the end of a file.
    #[must_use]
    pub fn next_file(self) -> Self {
        Self {
            file: self.file + 1,
            record: 0,
            ..self
        }
    }
}

/// The metadata of a window.
#[derive(Clone, Debug)]
pub(super) struct WindowInfo {
    pub(super) origin: Origin,
    pub(super) id: Box<[u8]>,
    /// The number of residues of the whole record.
    pub(super) letters: usize,
    pub(super) window: TokenWindow,
    /// The hash of all content up to and including this record.
    pub(super) content: u64,
}

/// The tokens of a window and its metadata.
#[derive(Clone, Debug)]
pub struct TokenRow {
    pub(super) tokens: Box<[u32]>,
    pub(super) info: WindowInfo,
}

impl TokenRow {
    /// Returns the number of tokens.
    pub fn size(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the key of the window: the ordinal of its record, and the index of its
    /// first residue.
    pub(super) fn key(&self) -> (u64, u64) {
        self.info.key()
    }
}

impl WindowInfo {
    pub(super) fn key(&self) -> (u64, u64) {
        (self.origin.ordinal, self.window.start as u64)
    }

    /// Returns the position and the key of the next window.
    pub(super) fn next_window(&self) -> (Origin, (u64, u64)) {
        if let Some(start) = self.window.next {
            return (self.origin, (self.origin.ordinal, start as u64));
        }
        let next = self.origin.advance_by(1);
        (next, (next.ordinal, 0))
    }
}
