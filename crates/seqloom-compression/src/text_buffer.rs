//! A buffer that passes text from a decompressor to a parser.

use std::io;

use crate::input::zeroed_vec;

/// Size of a text buffer in bytes. Larger buffers are passed to another thread less
/// often; smaller buffers are still in the cache when they are parsed.
const TEXT_BUFFER_BYTES: usize = 512 << 10;

/// A buffer of fixed size with decompressed text. The parser may have read the
/// beginning of the text already.
pub(super) struct TextBuffer {
    pub(super) bytes: Vec<u8>,
    pub(super) start: usize,
    pub(super) stop: usize,
}

impl TextBuffer {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            bytes: zeroed_vec(TEXT_BUFFER_BYTES)?,
            start: 0,
            stop: 0,
        })
    }

    /// Returns an empty buffer that takes no memory, as a placeholder.
    pub(super) const fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            stop: 0,
        }
    }

    /// Returns the unread text.
    pub(super) fn unread_text(&self) -> &[u8] {
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

    /// Returns the unused memory after the text. Call [`extend_text`](Self::extend_text) after
    /// writing to this memory.
    pub(super) fn unused(&mut self) -> &mut [u8] {
        &mut self.bytes[self.stop..]
    }

    pub(super) fn extend_text(&mut self, count: usize) {
        self.stop += count;
    }

    #[cfg(feature = "containers")]
    pub(super) fn is_full(&self) -> bool {
        self.stop == self.bytes.len()
    }
}
