//! What stands around the tokens of a sequence.

use crate::Word;

/// What comes before the tokens of a sequence, after them, and behind its end.
#[derive(Clone, Copy, Debug)]
pub struct Frame<T> {
    /// The token at the start, if there is one.
    pub head: Option<T>,
    /// The token at the end, if there is one.
    pub tail: Option<T>,
    /// What fills the row.
    pub pad: T,
}

impl<T: Word> Frame<T> {
    /// The positions of so many tokens and what stands around them.
    pub(crate) fn size(&self, tokens: usize) -> usize {
        tokens + usize::from(self.head.is_some()) + usize::from(self.tail.is_some())
    }

    /// Writes the padding and special tokens of a row, and returns the part for the tokens.
    pub(crate) fn around<'a>(&self, row: &'a mut [T], tokens: usize) -> &'a mut [T] {
        let start = usize::from(self.head.is_some());
        let (used, rest) = row.split_at_mut(self.size(tokens));
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
