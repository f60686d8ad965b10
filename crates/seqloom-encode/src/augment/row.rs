//! The buffers for a sequence during augmentation.

use std::mem;

/// The residues and qualities of a sequence. The memory is reused for the next
/// sequence.
#[derive(Debug, Default)]
pub struct AugmentedRow {
    /// The residues.
    pub letters: Vec<u8>,
    /// The quality of each residue, or an empty vector.
    pub qualities: Vec<u8>,
    /// True if the current sequence has qualities.
    pub has_qualities: bool,
    /// The index of the sequence in the batch, for error messages.
    pub record: usize,
    /// One random byte for each residue.
    pub(super) bytes: Vec<u8>,
    pub(super) next: OutputBuffer,
}

/// A buffer for the augmented sequence, which replaces the original sequence.
#[derive(Debug, Default)]
pub(super) struct OutputBuffer {
    letters: Vec<u8>,
    qualities: Vec<u8>,
}

impl AugmentedRow {
    /// Loads another sequence into the buffers.
    pub fn load(&mut self, record: usize, letters: &[u8], qualities: Option<&[u8]>) {
        self.record = record;
        self.letters.clear();
        self.letters.extend_from_slice(letters);
        self.qualities.clear();
        self.has_qualities = qualities.is_some();
        self.qualities
            .extend_from_slice(qualities.unwrap_or_default());
    }

    /// Clears the buffer for the augmented sequence.
    pub(super) fn clear_output(&mut self) {
        self.next.letters.clear();
        self.next.qualities.clear();
    }

    /// Appends the residues `start..stop` to the augmented sequence.
    pub(super) fn copy_range(&mut self, start: usize, stop: usize) {
        let letters = self.letters.get(start..stop).unwrap_or_default();
        let qualities = self.qualities.get(start..stop).unwrap_or_default();
        self.next.letters.extend_from_slice(letters);
        self.next.qualities.extend_from_slice(qualities);
    }

    /// Appends `count` copies of a residue to the augmented sequence.
    pub(super) fn append(&mut self, letter: u8, quality: u8, count: usize) {
        let length = self.next.letters.len() + count;
        self.next.letters.resize(length, letter);
        if self.has_qualities {
            self.next.qualities.resize(length, quality);
        }
    }

    /// Replaces the original sequence by the augmented sequence.
    pub(super) fn replace_sequence(&mut self) {
        mem::swap(&mut self.letters, &mut self.next.letters);
        mem::swap(&mut self.qualities, &mut self.next.qualities);
    }

    /// Reorders the residues and qualities of the sequence.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.clear_output();
        for &position in order {
            self.copy_range(position, position + 1);
        }
        self.replace_sequence();
    }
}
