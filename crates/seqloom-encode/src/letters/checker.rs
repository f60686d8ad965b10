//! Validates sequences with a character table, and counts special characters by kind.

use super::kinds::is_rejected;
use super::plain::{CHUNK_RESIDUES, ChunkFlags, count_lower};
use super::table::LetterTable;
use seqloom_core::{Ragged, simd::dispatch};
use seqloom_macros::vectorized;

/// The index of lower-case characters in the counts.
const LOWER_CASE_INDEX: usize = 1;
/// The index of removed stops in the counts. The character table does not contain this
/// kind, because removed stops are counted separately.
const STOP_INDEX: usize = 4;
const KIND_COUNT: usize = 7;

/// The counts of special characters by kind. Plain residues of the alphabet are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterCounts([u64; KIND_COUNT]);

impl LetterCounts {
    /// Returns seven counts: ambiguity codes, lower case that is folded or masked, rare
    /// residues, symbols, removed stops, U read as T, and invalid characters. The count
    /// of invalid characters is always 0.
    pub fn to_array(self) -> [i64; KIND_COUNT] {
        self.0.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|kind| self.0[kind] + other.0[kind]))
    }

    /// Adds counts. `kinds` is the sum of the kinds of at most [`CHUNK_RESIDUES`]
    /// characters.
    #[inline(always)]
    fn add(&mut self, kinds: u64) {
        for (count, part) in self.0.iter_mut().zip(kinds.to_le_bytes()) {
            *count += u64::from(part);
        }
    }
}

/// Validates sequences with a character table, and counts special characters by kind.
/// The counts are for all sequences together, because separate counts would be slower.
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

    /// Returns the counts of special characters.
    pub(crate) fn counts(&self) -> LetterCounts {
        self.counts
    }

    /// Returns the sequence without a final stop symbol, if the policy removes it.
    #[inline(always)]
    pub(crate) fn strip_stop<'b>(&mut self, sequence: &'b [u8]) -> &'b [u8] {
        let letters = self.table.strip_stop(sequence);
        if letters.len() < sequence.len() {
            self.counts.0[STOP_INDEX] += 1;
        }
        letters
    }

    /// Returns true if the sequence contains only plain residues, and `None` if a
    /// character is rejected.
    #[inline(always)]
    pub(crate) fn check(&mut self, letters: &[u8]) -> Option<bool> {
        let flags = self.table.plain.scan_sequence(letters);
        self.check_flags(letters, &flags)
    }

    /// Does the same as [`check`](Self::check), with the flags that a kernel has
    /// computed for the sequence.
    #[inline(always)]
    pub(crate) fn check_flags(&mut self, letters: &[u8], flags: &ChunkFlags) -> Option<bool> {
        if flags.has_special() {
            return self.count_by_table(letters).then_some(false);
        }
        if flags.has_lower() {
            self.counts.0[LOWER_CASE_INDEX] += count_lower(letters);
        }
        Some(true)
    }

    /// Counts special characters with the table. Returns true if all characters are
    /// accepted.
    #[inline(never)]
    fn count_by_table(&mut self, letters: &[u8]) -> bool {
        letters.chunks(CHUNK_RESIDUES).all(|chunk| {
            let of = |letter: &u8| self.table.kinds[usize::from(*letter)];
            let kinds = chunk.iter().map(of).sum();
            self.counts.add(kinds);
            !is_rejected(kinds)
        })
    }
}

impl LetterTable {
    /// Returns the index of the first sequence with a rejected character.
    pub fn first_rejected_row(&self, sequences: &Ragged<'_>) -> Option<usize> {
        find_rejected_row(self, sequences)
    }
}

/// Returns the index of the first sequence with a rejected character.
#[vectorized]
fn find_rejected_row(table: &LetterTable, sequences: &Ragged<'_>) -> Option<usize> {
    let mut checker = LetterChecker::new(table);
    let mut rows = sequences.iter();
    rows.position(|row| checker.check(table.strip_stop(row)).is_none())
}
