//! One sequence while it is being changed.

use std::mem;

/// The letters of a sequence and their qualities, in memory that is used again
/// for the next sequence.
#[derive(Debug, Default)]
pub struct AugmentedRow {
    /// The letters.
    pub letters: Vec<u8>,
    /// One quality for each letter, or nothing.
    pub qualities: Vec<u8>,
    /// Whether there are qualities.
    pub has_qualities: bool,
    /// Which sequence of the call this is, for an error.
    pub record: usize,
    /// One random byte for each letter.
    pub(super) bytes: Vec<u8>,
    pub(super) next: NextRow,
}

/// The sequence that a row is about to become.
#[derive(Debug, Default)]
pub(super) struct NextRow {
    letters: Vec<u8>,
    qualities: Vec<u8>,
}

impl AugmentedRow {
    /// Takes up another sequence.
    pub fn load(&mut self, record: usize, letters: &[u8], qualities: Option<&[u8]>) {
        self.record = record;
        self.letters.clear();
        self.letters.extend_from_slice(letters);
        self.qualities.clear();
        self.has_qualities = qualities.is_some();
        self.qualities
            .extend_from_slice(qualities.unwrap_or_default());
    }

    /// Begins an empty next sequence.
    pub(super) fn begin(&mut self) {
        self.next.letters.clear();
        self.next.qualities.clear();
    }

    /// Copies letters from `start` to `stop` to the next sequence.
    pub(super) fn copy(&mut self, start: usize, stop: usize) {
        let letters = self.letters.get(start..stop).unwrap_or_default();
        let qualities = self.qualities.get(start..stop).unwrap_or_default();
        self.next.letters.extend_from_slice(letters);
        self.next.qualities.extend_from_slice(qualities);
    }

    /// Puts `count` new letters into the next sequence.
    pub(super) fn put(&mut self, letter: u8, quality: u8, count: usize) {
        let length = self.next.letters.len() + count;
        self.next.letters.resize(length, letter);
        if self.has_qualities {
            self.next.qualities.resize(length, quality);
        }
    }

    /// Replaces the sequence by the next one, which has been written.
    pub(super) fn finish(&mut self) {
        mem::swap(&mut self.letters, &mut self.next.letters);
        mem::swap(&mut self.qualities, &mut self.next.qualities);
    }

    /// Takes letters and qualities in another order.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.begin();
        for &position in order {
            self.copy(position, position + 1);
        }
        self.finish();
    }
}
