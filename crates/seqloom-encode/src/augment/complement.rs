//! Random reverse complement.

use seqloom_core::{Error, Key, Result};

use super::{AugmentedRow, Chance, random::RandomChoices};

/// Bases and ambiguity codes, each followed by its complement (Cornish-Bowden 1985).
/// Gaps and dots do not change.
const COMPLEMENT_PAIRS: [(u8, u8); 18] = [
    (b'A', b'T'),
    (b'C', b'G'),
    (b'G', b'C'),
    (b'T', b'A'),
    (b'U', b'A'),
    (b'R', b'Y'),
    (b'Y', b'R'),
    (b'S', b'S'),
    (b'W', b'W'),
    (b'K', b'M'),
    (b'M', b'K'),
    (b'B', b'V'),
    (b'V', b'B'),
    (b'D', b'H'),
    (b'H', b'D'),
    (b'N', b'N'),
    (b'-', b'-'),
    (b'.', b'.'),
];

const EXPECTED_BASES: &str = "a base, an ambiguity code (RYSWKMBDHVN) or a gap";

/// An augmentation that reverse-complements a sequence with a given probability.
#[derive(Clone, Debug)]
pub struct ReverseComplement {
    chance: Chance,
    /// The complement of each byte, or 0 if the byte has no complement.
    complements: [u8; 256],
}

impl ReverseComplement {
    /// Creates the augmentation. The complement of A is T for the alphabets `dna` and
    /// `iupac`, and U for `rna`.
    pub fn new(chance: Chance, alphabet: &str) -> Result<Self> {
        let complement_of_a = match alphabet {
            "dna" | "iupac" => b'T',
            "rna" => b'U',
            _ => {
                return Err(Error::argument(format!(
                    "alphabet must be 'dna', 'rna' or 'iupac', got {alphabet:?}"
                )));
            }
        };
        let mut complements = [0; 256];
        for (letter, other) in COMPLEMENT_PAIRS {
            complements[usize::from(letter)] = other;
            complements[usize::from(letter.to_ascii_lowercase())] = other.to_ascii_lowercase();
        }
        complements[usize::from(b'A')] = complement_of_a;
        complements[usize::from(b'a')] = complement_of_a.to_ascii_lowercase();
        Ok(Self {
            chance,
            complements,
        })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) -> Result<()> {
        self.check_residues(row)?;
        let [high, ..] = split_bits(RandomChoices::new(key).next_bits());
        if self.chance.occurs(high) {
            row.qualities.reverse();
            row.letters.reverse();
            for letter in &mut row.letters {
                *letter = self.complements[usize::from(*letter)];
            }
        }
        Ok(())
    }

    /// Returns an error if a residue has no complement. All sequences are checked, even
    /// those that are not reversed, so that the error does not depend on the key.
    fn check_residues(&self, row: &AugmentedRow) -> Result<()> {
        let has_no_complement = |letter: &u8| self.complements[usize::from(*letter)] == 0;
        match row.letters.iter().position(has_no_complement) {
            None => Ok(()),
            Some(position) => Err(Error::Letter {
                record: row.record,
                position,
                letter: row.letters[position],
                expected: EXPECTED_BASES.into(),
            }),
        }
    }
}

fn split_bits(bits: u64) -> [u32; 2] {
    let [a, b, c, d, rest @ ..] = bits.to_be_bytes();
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes(rest)]
}
