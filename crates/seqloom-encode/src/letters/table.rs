//! One verdict for each of the 256 bytes.

use seqloom_core::{Error, Ragged};

use super::expected::Expected;
use super::plain::{ChunkFlags, MemberRuns};
use super::verdict::is_foreign;

/// A translated stop codon.
pub(crate) const STOP: u8 = b'*';

/// One verdict for each of the 256 bytes, made once.
#[derive(Clone, Debug)]
pub struct LetterTable {
    pub(super) members: Vec<u8>,
    pub(super) ambiguities: &'static [(u8, &'static [u8])],
    pub(super) normal: [u8; 256],
    pub(super) verdicts: [u64; 256],
    pub(super) plain: MemberRuns,
    pub(super) strips: bool,
    pub(super) expected: Expected,
}

impl LetterTable {
    /// The members, in order: of the alphabet, then those that the policy keeps.
    pub fn members(&self) -> &[u8] {
        &self.members
    }

    /// The codes that stand for several members, each with those members.
    pub fn ambiguities(&self) -> &'static [(u8, &'static [u8])] {
        self.ambiguities
    }

    /// What each byte counts as: a member, an ambiguity code, or 0 where it is masked or
    /// refused.
    pub fn normal(&self) -> &[u8; 256] {
        &self.normal
    }

    /// The bytes that are refused wherever they stand, and those that may only end a sequence.
    pub fn refused(&self) -> Vec<u8> {
        let all = 0..=u8::MAX;
        all.filter(|byte| is_foreign(self.verdicts[usize::from(*byte)]))
            .filter(|byte| !(self.strips && *byte == STOP))
            .collect()
    }

    /// Whether one `*` at the end of a sequence is taken as absent.
    pub fn strips(&self) -> bool {
        self.strips
    }

    /// The sequence without what is taken as absent.
    #[inline]
    pub fn stripped<'a>(&self, sequence: &'a [u8]) -> &'a [u8] {
        match sequence {
            [rest @ .., STOP] if self.strips => rest,
            _ => sequence,
        }
    }

    /// The same letters, of which no stop is taken as absent.
    #[must_use]
    pub fn unstripped(&self) -> Self {
        Self {
            strips: false,
            ..self.clone()
        }
    }

    /// What plain letters count as, whatever their case.
    #[inline(always)]
    pub(crate) fn raised<const N: usize>(&self, chunk: &[u8; N]) -> [u8; N] {
        self.plain.raised(chunk)
    }

    /// Compares every letter with the plain members.
    #[inline(always)]
    pub(crate) fn scan(&self, letters: &[u8]) -> ChunkFlags {
        self.plain.scan(letters)
    }

    /// The error of the first letter that is refused: looked for in order, so that every
    /// number of threads names the same one.
    pub(crate) fn first_refused(&self, sequences: &Ragged<'_>) -> Error {
        let mut found = sequences
            .iter()
            .enumerate()
            .filter_map(|(record, sequence)| {
                let letters = self.stripped(sequence);
                let is_refused = |letter: &u8| is_foreign(self.verdicts[usize::from(*letter)]);
                let position = letters.iter().position(is_refused)?;
                Some((record, position, letters[position]))
            });
        let (record, position, letter) = found.next().unwrap_or_default();
        Error::Letter {
            record,
            position,
            letter,
            expected: self.expected.but_found(letter).into(),
        }
    }
}
