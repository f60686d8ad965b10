//! One window on its way into a batch.

use super::cut::TokenWindow;

/// Where a record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The number of its file.
    pub file: usize,
    /// Its number in the file.
    pub record: u64,
    /// Its number over all files.
    pub ordinal: u64,
}

impl Origin {
    /// A record of the same file, so many further.
    #[must_use]
    pub fn plus(self, records: u64) -> Self {
        Self {
            record: self.record + records,
            ordinal: self.ordinal + records,
            ..self
        }
    }

    /// The first record behind a file whose last one is before this.
    #[must_use]
    pub fn next_file(self) -> Self {
        Self {
            file: self.file + 1,
            record: 0,
            ..self
        }
    }
}

/// The facts about a window, apart from its tokens.
#[derive(Clone, Debug)]
pub(super) struct WindowInfo {
    pub(super) origin: Origin,
    pub(super) id: Box<[u8]>,
    /// The letters of the whole record.
    pub(super) letters: usize,
    pub(super) window: TokenWindow,
    /// The hash of all content up to this record, with it.
    pub(super) content: u64,
}

/// The tokens of a window, and the facts about it.
#[derive(Clone, Debug)]
pub struct TokenRow {
    pub(super) tokens: Box<[u32]>,
    pub(super) info: WindowInfo,
}

impl TokenRow {
    /// The number of tokens.
    pub fn size(&self) -> usize {
        self.tokens.len()
    }

    /// What names the window: the ordinal of its record, and its first letter.
    pub(super) fn key(&self) -> (u64, u64) {
        self.info.key()
    }
}

impl WindowInfo {
    pub(super) fn key(&self) -> (u64, u64) {
        (self.origin.ordinal, self.window.start as u64)
    }

    /// Where the next window stands, and what names it.
    pub(super) fn next(&self) -> (Origin, (u64, u64)) {
        if let Some(start) = self.window.next {
            return (self.origin, (self.origin.ordinal, start as u64));
        }
        let next = self.origin.plus(1);
        (next, (next.ordinal, 0))
    }
}
