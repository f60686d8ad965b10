//! The character table of an encoder: how it converts each of the 256 bytes.

use seqloom_core::{Error, Ragged};

use super::expected::ExpectedLetters;
use super::kinds::is_rejected;
use super::plain::{ChunkFlags, ResidueRanges};

/// The symbol of a translated stop codon.
pub(crate) const STOP_SYMBOL: u8 = b'*';

/// The residue and the kind of each of the 256 bytes, for an alphabet and a policy.
#[derive(Clone, Debug)]
pub struct LetterTable {
    pub(super) members: Vec<u8>,
    pub(super) ambiguities: &'static [(u8, &'static [u8])],
    pub(super) normal: [u8; 256],
    pub(super) kinds: [u64; 256],
    pub(super) plain: ResidueRanges,
    pub(super) strips_stop: bool,
    pub(super) expected: ExpectedLetters,
}

impl LetterTable {
    /// Returns the residues that have a channel, in channel order: the residues of the
    /// alphabet, then the residues that the policy adds.
    pub fn residues(&self) -> &[u8] {
        &self.members
    }

    /// Returns the ambiguity codes, each with the residues that it represents.
    pub fn ambiguities(&self) -> &'static [(u8, &'static [u8])] {
        self.ambiguities
    }

    /// Returns the residue or ambiguity code for each byte, or 0 for bytes that are
    /// masked or rejected.
    pub fn residue_by_byte(&self) -> &[u8; 256] {
        &self.normal
    }

    /// Returns the bytes that are rejected. A `*` that may end a sequence is not among
    /// the rejected bytes.
    pub fn rejected_bytes(&self) -> Vec<u8> {
        let all = 0..=u8::MAX;
        all.filter(|byte| is_rejected(self.kinds[usize::from(*byte)]))
            .filter(|byte| !(self.strips_stop && *byte == STOP_SYMBOL))
            .collect()
    }

    /// Returns true if one `*` at the end of a sequence is removed.
    pub fn strips_stop(&self) -> bool {
        self.strips_stop
    }

    /// Returns the sequence without a final stop symbol, if the policy removes it.
    #[inline]
    pub fn strip_stop<'a>(&self, sequence: &'a [u8]) -> &'a [u8] {
        match sequence {
            [rest @ .., STOP_SYMBOL] if self.strips_stop => rest,
            _ => sequence,
        }
    }

    /// Returns a copy of the table that does not remove a final stop symbol.
    #[must_use]
    pub fn without_stop_removal(&self) -> Self {
        Self {
            strips_stop: false,
            ..self.clone()
        }
    }

    /// Converts residues to upper case, if the policy folds case.
    #[inline(always)]
    pub(crate) fn to_upper<const N: usize>(&self, chunk: &[u8; N]) -> [u8; N] {
        self.plain.to_upper(chunk)
    }

    /// Compares the residues of a sequence with the plain residues, and returns the
    /// flags.
    #[inline(always)]
    pub(crate) fn scan_sequence(&self, letters: &[u8]) -> ChunkFlags {
        self.plain.scan_sequence(letters)
    }

    /// Returns the error for the first rejected character in the batch, regardless of
    /// the number of threads.
    pub(crate) fn first_rejection(&self, sequences: &Ragged<'_>) -> Error {
        let mut rejections = sequences
            .iter()
            .enumerate()
            .filter_map(|(record, sequence)| {
                let letters = self.strip_stop(sequence);
                let is_rejected_byte = |letter: &u8| is_rejected(self.kinds[usize::from(*letter)]);
                let position = letters.iter().position(is_rejected_byte)?;
                Some((record, position, letters[position]))
            });
        let (record, position, letter) = rejections.next().unwrap_or_default();
        Error::Letter {
            record,
            position,
            letter,
            expected: self.expected.describe(letter).into(),
        }
    }
}
