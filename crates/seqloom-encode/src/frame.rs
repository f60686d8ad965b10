//! The special tokens and padding around the tokens of a sequence.

use crate::ElementBits;

/// The special tokens at both ends of a tokenised sequence, and the padding of its row.
#[derive(Clone, Copy, Debug)]
pub struct TokenFrame<T> {
    /// The token at the start of a row, or `None` to omit it.
    pub head: Option<T>,
    /// The token after the sequence, or `None` to omit it.
    pub tail: Option<T>,
    /// The padding token.
    pub pad: T,
}

impl<T: ElementBits> TokenFrame<T> {
    /// Returns the row length for this number of tokens plus the special tokens.
    pub(crate) fn row_length(&self, tokens: usize) -> usize {
        tokens + usize::from(self.head.is_some()) + usize::from(self.tail.is_some())
    }

    /// Writes the special tokens and the padding of a row. Returns the slice of the row
    /// for the tokens of the sequence.
    pub(crate) fn write_frame<'a>(&self, row: &'a mut [T], tokens: usize) -> &'a mut [T] {
        let start = usize::from(self.head.is_some());
        let (used, rest) = row.split_at_mut(self.row_length(tokens));
        rest.fill(self.pad);
        if let (Some(head), Some(first)) = (self.head, used.first_mut()) {
            *first = head;
        }
        if let (Some(tail), Some(last)) = (self.tail, used.last_mut()) {
            *last = tail;
        }
        &mut used[start..start + tokens]
    }
}
