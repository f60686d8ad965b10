//! What each of the 256 bytes means to an encoder, by a declared policy.

mod build;
mod expected;
mod judge;
mod plain;

pub use judge::{Counts, Judge};
pub(crate) use plain::{CHUNK, Seen};

use expected::Expected;
use plain::Plain;
use seqloom_core::simd::dispatch;
use seqloom_core::{Error, Ragged, Result};
use seqloom_macros::vectorized;

use crate::Policy;

/// One verdict for each of the 256 bytes, made once.
#[derive(Clone, Debug)]
pub struct Letters {
    members: Vec<u8>,
    ambiguities: &'static [(u8, &'static [u8])],
    normal: [u8; 256],
    verdicts: [u64; 256],
    plain: Plain,
    strips: bool,
    expected: Expected,
}

impl Letters {
    /// The letters of an alphabet (by name, or the letters themselves) under a policy.
    pub fn new(alphabet: &str, policy: Policy) -> Result<Self> {
        build::from_alphabet(alphabet, policy)
    }

    /// Every byte from `first` to `last`, and no other; `expected` names them in an error.
    pub fn range(first: u8, last: u8, expected: &str) -> Self {
        build::from_range(first, last, expected)
    }

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
        all.filter(|byte| judge::is_foreign(self.verdicts[usize::from(*byte)]))
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

    /// What plain letters count as, whatever their case.
    #[inline(always)]
    pub(crate) fn raised<const N: usize>(&self, chunk: &[u8; N]) -> [u8; N] {
        self.plain.raised(chunk)
    }

    /// Looks at every letter.
    #[inline(always)]
    pub(crate) fn look(&self, letters: &[u8]) -> Seen {
        self.plain.look(letters)
    }

    /// The first sequence with a letter that is refused.
    pub fn refused_row(&self, sequences: &Ragged<'_>) -> Option<usize> {
        find_refused(self, sequences)
    }

    /// The error of the first letter that is refused: looked for in order, so that every
    /// number of threads names the same one.
    pub(crate) fn first_refused(&self, sequences: &Ragged<'_>) -> Error {
        let mut found = sequences
            .iter()
            .enumerate()
            .filter_map(|(record, sequence)| {
                let letters = self.stripped(sequence);
                let is_refused =
                    |letter: &u8| judge::is_foreign(self.verdicts[usize::from(*letter)]);
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

/// The first sequence with a letter that is refused.
#[vectorized]
fn find_refused(table: &Letters, sequences: &Ragged<'_>) -> Option<usize> {
    let mut judge = Judge::new(table);
    let mut rows = sequences.iter();
    rows.position(|row| judge.judge(table.stripped(row)).is_none())
}

/// A translated stop codon.
pub(crate) const STOP: u8 = b'*';

#[cfg(test)]
mod tests;
