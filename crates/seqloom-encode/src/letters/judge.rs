//! Counting what is met, and finding what is refused.

use super::plain::{CHUNK, Seen, count_lower};
use super::table::Letters;
use super::verdict::is_foreign;
use seqloom_core::Ragged;
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// The kind of lower case.
const LOWERS: usize = 1;
/// The kind of a stop that was taken as absent, which no verdict tells.
const STOPS: usize = 4;
const KINDS: usize = 7;

/// How many letters were not plain members, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; KINDS]);

impl Counts {
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

/// What judges sequences by a table, and counts what is met. The counts stay in one position:
/// handing them on from row to row would wait for the numbers to leave the processor.
#[derive(Debug)]
pub struct Judge<'a> {
    table: &'a Letters,
    counts: Counts,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(table: &'a Letters) -> Self {
        Self {
            table,
            counts: Counts::default(),
        }
    }

    /// How many letters were not plain.
    pub(crate) fn counts(&self) -> Counts {
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

    /// Whether every letter of a sequence is a member, but for its case; nothing if one is
    /// refused.
    #[inline(always)]
    pub(crate) fn judge(&mut self, letters: &[u8]) -> Option<bool> {
        let seen = self.table.plain.look(letters);
        self.tell(letters, &seen)
    }

    /// The same, once a kernel has looked at every letter.
    #[inline(always)]
    pub(crate) fn tell(&mut self, letters: &[u8], seen: &Seen) -> Option<bool> {
        if seen.is_odd() {
            return self.sum(letters).then_some(false);
        }
        if seen.is_lower() {
            self.counts.0[LOWERS] += count_lower(letters);
        }
        Some(true)
    }

    /// Counts by the table, for what the vectors do not know; says whether all is taken.
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

impl Letters {
    /// The first sequence with a letter that is refused.
    pub fn refused_row(&self, sequences: &Ragged<'_>) -> Option<usize> {
        find_refused(self, sequences)
    }
}

/// The first sequence with a letter that is refused.
#[vectorized]
fn find_refused(table: &Letters, sequences: &Ragged<'_>) -> Option<usize> {
    let mut judge = Judge::new(table);
    let mut rows = sequences.iter();
    rows.position(|row| judge.judge(table.stripped(row)).is_none())
}
