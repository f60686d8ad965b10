//! The check of letters by a table, which counts letters by kind and finds refused ones.

use super::plain::{CHUNK, ChunkFlags, count_lower};
use super::table::LetterTable;
use super::verdict::is_foreign;
use seqloom_core::Ragged;
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// The kind of lower case.
const LOWERS: usize = 1;
/// The kind of a stop that was taken as absent, for which there is no verdict.
const STOPS: usize = 4;
const KINDS: usize = 7;

/// How many letters were not plain members, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterCounts([u64; KINDS]);

impl LetterCounts {
    /// Ambiguity codes; lower case that is folded or masked; rare residues; symbols; stops
    /// taken as absent; U read as T; foreign letters, which never get so far.
    pub fn to_array(self) -> [i64; KINDS] {
        self.0.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|kind| self.0[kind] + other.0[kind]))
    }

    /// Adds the verdicts of at most [`CHUNK`] letters.
    #[inline(always)]
    fn add(&mut self, verdicts: u64) {
        for (count, part) in self.0.iter_mut().zip(verdicts.to_le_bytes()) {
            *count += u64::from(part);
        }
    }
}

/// Checks sequences by a table, and counts letters by kind. All rows share the counts: to
/// return them for each row would make the next row wait for them.
#[derive(Debug)]
pub struct LetterChecker<'a> {
    table: &'a LetterTable,
    counts: LetterCounts,
}

impl<'a> LetterChecker<'a> {
    pub(crate) fn new(table: &'a LetterTable) -> Self {
        Self {
            table,
            counts: LetterCounts::default(),
        }
    }

    /// How many letters were not plain.
    pub(crate) fn counts(&self) -> LetterCounts {
        self.counts
    }

    /// The sequence without what is taken as absent.
    #[inline(always)]
    pub(crate) fn strip<'b>(&mut self, sequence: &'b [u8]) -> &'b [u8] {
        let letters = self.table.stripped(sequence);
        if letters.len() < sequence.len() {
            self.counts.0[STOPS] += 1;
        }
        letters
    }

    /// Returns whether every letter of a sequence is a member, apart from its case; `None` if
    /// a letter is refused.
    #[inline(always)]
    pub(crate) fn check(&mut self, letters: &[u8]) -> Option<bool> {
        let flags = self.table.plain.scan(letters);
        self.count_flags(letters, &flags)
    }

    /// Does the same from the flags that a kernel has set for the letters.
    #[inline(always)]
    pub(crate) fn count_flags(&mut self, letters: &[u8], flags: &ChunkFlags) -> Option<bool> {
        if flags.has_other() {
            return self.sum(letters).then_some(false);
        }
        if flags.has_lower() {
            self.counts.0[LOWERS] += count_lower(letters);
        }
        Some(true)
    }

    /// Counts letters by the table, if the flags do not suffice; returns whether none is
    /// refused.
    #[inline(never)]
    fn sum(&mut self, letters: &[u8]) -> bool {
        letters.chunks(CHUNK).all(|chunk| {
            let of = |letter: &u8| self.table.verdicts[usize::from(*letter)];
            let verdicts = chunk.iter().map(of).sum();
            self.counts.add(verdicts);
            !is_foreign(verdicts)
        })
    }
}

impl LetterTable {
    /// The first sequence with a letter that is refused.
    pub fn refused_row(&self, sequences: &Ragged<'_>) -> Option<usize> {
        find_refused(self, sequences)
    }
}

/// The first sequence with a letter that is refused.
#[vectorized]
fn find_refused(table: &LetterTable, sequences: &Ragged<'_>) -> Option<usize> {
    let mut checker = LetterChecker::new(table);
    let mut rows = sequences.iter();
    rows.position(|row| checker.check(table.stripped(row)).is_none())
}
