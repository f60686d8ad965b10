//! A buffer that passes text from a decompressor to a parser.

use std::io;

use crate::input::zeroed;

/// Size of a buffer. A larger buffer costs little to pass to another thread; a smaller
/// one is still in the cache when its text is parsed. This size is a compromise.
const TEXT_PIECE_BYTES: usize = 512 << 10;

/// A buffer of fixed size with text. A part of the text may be read already.
pub(super) struct TextPiece {
    pub(super) bytes: Vec<u8>,
    pub(super) start: usize,
    pub(super) stop: usize,
}

impl TextPiece {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            bytes: zeroed(TEXT_PIECE_BYTES)?,
            start: 0,
            stop: 0,
        })
    }

    /// Returns a placeholder that takes no memory.
    pub(super) const fn none() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            stop: 0,
        }
    }

    /// Returns the unread text.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.stop]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.stop
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.stop) = (0, 0);
    }

    /// Returns the free part of the buffer. Call [`grow`](Self::grow) after writing to it.
    pub(super) fn spare(&mut self) -> &mut [u8] {
        &mut self.bytes[self.stop..]
    }

    pub(super) fn grow(&mut self, count: usize) {
        self.stop += count;
    }

    #[cfg(feature = "containers")]
    pub(super) fn is_full(&self) -> bool {
        self.stop == self.bytes.len()
    }
}
