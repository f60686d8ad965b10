//! Pieces of text that were unpacked lately.

/// How many bytes of text are kept, at most.
const MOST: usize = 8 << 20;
/// How many pieces are kept, at most: they are searched one by one.
const COUNT: usize = 256;

/// The pieces that were used last.
#[derive(Default)]
pub(super) struct Kept {
    /// Number, when it was used last, and text.
    pieces: Vec<(usize, u64, Vec<u8>)>,
    size: usize,
    clock: u64,
}

impl Kept {
    /// Where a piece is, if so much of its text is kept.
    pub(super) fn find(&mut self, number: usize, size: usize) -> Option<usize> {
        self.clock += 1;
        let mut pieces = self.pieces.iter_mut().enumerate();
        let (position, piece) = pieces.find(|(_, piece)| piece.0 == number)?;
        piece.1 = self.clock;
        (piece.2.len() >= size).then_some(position)
    }

    pub(super) fn text(&self, position: usize) -> &[u8] {
        self.pieces.get(position).map_or(&[], |piece| &piece.2)
    }

    /// Lets a piece go; says whether there was one.
    pub(super) fn forget(&mut self, number: usize) -> bool {
        let position = self.pieces.iter().position(|piece| piece.0 == number);
        if let Some(position) = position {
            self.size -= self.pieces.swap_remove(position).2.len();
        }
        position.is_some()
    }

    pub(super) fn put(&mut self, number: usize, text: Vec<u8>) -> &[u8] {
        let is_full = |kept: &Self| kept.size + text.len() > MOST || kept.pieces.len() >= COUNT;
        while is_full(self) && self.drop_oldest() {}
        self.size += text.len();
        self.pieces.push((number, self.clock, text));
        self.pieces.last().map_or(&[], |piece| &piece.2)
    }

    fn drop_oldest(&mut self) -> bool {
        let pieces = self.pieces.iter().enumerate();
        let oldest = pieces.min_by_key(|(_, piece)| piece.1);
        let oldest = oldest.map(|(position, _)| position);
        if let Some(position) = oldest {
            self.size -= self.pieces.swap_remove(position).2.len();
        }
        oldest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_long_is_dropped_first() {
        let mut kept = Kept::default();
        kept.put(1, vec![1; MOST / 2]);
        kept.put(2, vec![2; MOST / 2]);
        assert!(kept.find(1, 1).is_some());
        kept.put(3, vec![3; 9]);
        assert_eq!(
            [1, 2, 3].map(|number| kept.find(number, 1).is_some()),
            [true, false, true]
        );
    }
}
