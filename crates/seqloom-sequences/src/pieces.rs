//! Text in pieces, some of which may be put back.

use std::collections::TryReserveError;

use seqloom_compression::{Text, Trouble};

/// Text in pieces. Text that was peeked at, or must be read again, is put back.
pub(crate) struct TextPieces {
    /// What was put back, and how much of it was used again.
    front: Vec<u8>,
    used: usize,
    text: Box<dyn Text>,
}

impl TextPieces {
    pub(crate) fn new(text: Box<dyn Text>) -> Self {
        Self {
            front: Vec::new(),
            used: 0,
            text,
        }
    }

    /// The text that waits to be used; nothing only at the end.
    pub(crate) fn fill(&mut self) -> Result<&[u8], Trouble> {
        if let Some(front @ [_, ..]) = self.front.get(self.used..) {
            return Ok(front);
        }
        self.text.fill()
    }

    /// Uses the first `count` of the bytes that wait.
    pub(crate) fn consume(&mut self, count: usize) {
        if self.used < self.front.len() {
            self.used += count;
        } else {
            self.text.consume(count);
        }
    }

    /// The beginning of the text, as far as it satisfies.
    pub(crate) fn peek(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> Result<&[u8], Trouble> {
        while !is_enough(&self.front) {
            let piece = self.text.fill()?;
            let count = piece.len();
            if count == 0 {
                break;
            }
            self.front.extend_from_slice(piece);
            self.text.consume(count);
        }
        Ok(&self.front)
    }

    /// Puts text back, before what waits, unless memory is refused.
    pub(crate) fn put_back(&mut self, text: &[u8]) -> Result<(), TryReserveError> {
        self.front.drain(..self.used);
        self.used = 0;
        self.front.try_reserve_exact(text.len())?;
        self.front.splice(..0, text.iter().copied());
        Ok(())
    }
}
