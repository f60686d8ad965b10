//! Counting what is met, and finding what is refused.

use super::Letters;
use super::plain::{CHUNK, Seen};

/// A verdict holds one byte for each kind, so that the verdicts of a chunk can be summed.
pub(super) const AMBIGUOUS: u64 = 1;
pub(super) const LOWER: u64 = 1 << 8;
pub(super) const RARE: u64 = 1 << 16;
pub(super) const SYMBOL: u64 = 1 << 24;
pub(super) const RNA: u64 = 1 << 40;
pub(super) const FOREIGN: u64 = 1 << 56;

/// The kind of lower case.
const LOWERS: usize = 1;
/// The kind of a stop that was taken as absent, which no verdict tells.
const STOPS: usize = 4;
const KINDS: usize = 7;

pub(super) fn is_foreign(verdict: u64) -> bool {
    verdict >= FOREIGN
}

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

    /// Counts a stop that was taken as absent.
    #[inline(always)]
    pub(crate) fn add_stop(&mut self) {
        self.0[STOPS] += 1;
    }

    /// Adds the verdicts of at most [`CHUNK`] letters.
    #[inline(always)]
    fn add(&mut self, verdicts: u64) {
        for (count, part) in self.0.iter_mut().zip(verdicts.to_le_bytes()) {
            *count += u64::from(part);
        }
    }
}

/// What the letters of a sequence are, beside plain members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// How many letters are not plain; nothing if none is.
    pub counts: Option<Counts>,
    /// Whether every letter is a member, but for its case.
    pub is_plain: bool,
}

impl Met {
    const NOTHING: Self = Self {
        counts: None,
        is_plain: true,
    };
}

impl Letters {
    /// What a sequence is made of; nothing if a letter is refused.
    #[inline(always)]
    pub(crate) fn judge(&self, letters: &[u8]) -> Option<Met> {
        self.tell(letters, self.plain.look(letters))
    }

    /// The same, once a kernel has looked at every letter.
    #[inline(always)]
    pub(crate) fn tell(&self, letters: &[u8], seen: Seen) -> Option<Met> {
        if seen.is_odd() {
            return self.sum(letters);
        }
        Some(if seen.is_lower() {
            self.lower(letters)
        } else {
            Met::NOTHING
        })
    }

    /// Counts lower case where there is nothing else to count.
    #[inline(always)]
    fn lower(&self, letters: &[u8]) -> Met {
        let mut counts = Counts::default();
        counts.0[LOWERS] = self.plain.count_lower(letters);
        Met {
            counts: Some(counts),
            is_plain: true,
        }
    }

    /// Counts by the table, for what the vectors do not know.
    #[inline(never)]
    fn sum(&self, letters: &[u8]) -> Option<Met> {
        let mut counts = Counts::default();
        for chunk in letters.chunks(CHUNK) {
            let of = |letter: &u8| self.verdicts[usize::from(*letter)];
            let verdicts = chunk.iter().map(of).sum();
            if is_foreign(verdicts) {
                return None;
            }
            counts.add(verdicts);
        }
        Some(Met {
            counts: Some(counts),
            is_plain: false,
        })
    }
}
