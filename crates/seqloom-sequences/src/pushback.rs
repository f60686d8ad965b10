//! A source of text. Text that was read can be pushed back and read again.

use std::collections::TryReserveError;

use seqloom_compression::{ReadError, TextSource};

/// A source of text in chunks. Text that must be read again is pushed back.
pub(crate) struct PushbackText {
    /// The text that was pushed back, and the number of its bytes that were consumed.
    pushed: Vec<u8>,
    consumed: usize,
    text: Box<dyn TextSource>,
}

impl PushbackText {
    pub(crate) fn new(text: Box<dyn TextSource>) -> Self {
        Self {
            pushed: Vec::new(),
            consumed: 0,
            text,
        }
    }

    /// Returns the next chunk of text, which is empty only at the end.
    pub(crate) fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        if let Some(pushed @ [_, ..]) = self.pushed.get(self.consumed..) {
            return Ok(pushed);
        }
        self.text.fill_buffer()
    }

    /// Consumes the first `count` bytes of the current chunk.
    pub(crate) fn consume(&mut self, count: usize) {
        if self.consumed < self.pushed.len() {
            self.consumed += count;
        } else {
            self.text.consume(count);
        }
    }

    /// Returns the beginning of the text without consuming it. Reads until `is_enough`
    /// returns true.
    pub(crate) fn peek(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> Result<&[u8], ReadError> {
        while !is_enough(&self.pushed) {
            let chunk = self.text.fill_buffer()?;
            let count = chunk.len();
            if count == 0 {
                break;
            }
            self.pushed.extend_from_slice(chunk);
            self.text.consume(count);
        }
        Ok(&self.pushed)
    }

    /// Pushes text back, so that it is read before the next chunk. Returns an error if
    /// memory is lacking.
    pub(crate) fn push_back(&mut self, text: &[u8]) -> Result<(), TryReserveError> {
        self.pushed.drain(..self.consumed);
        self.consumed = 0;
        self.pushed.try_reserve_exact(text.len())?;
        self.pushed.splice(..0, text.iter().copied());
        Ok(())
    }
}
