//! The other strand.

use seqloom_core::{Error, Key, Result};

use super::draw::Choices;
use super::{AugmentedRow, Chance};

/// Letters and what stands opposite (Cornish-Bowden 1985); gaps and dots
/// have no other side.
const PAIRS: [(u8, u8); 18] = [
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

const EXPECTED: &str = "a base or a code of RYSWKMBDHVN, or a gap";

/// Reverse-complements a sequence, with a probability.
#[derive(Clone, Debug)]
pub struct ReverseComplement {
    chance: Chance,
    /// What stands opposite each byte; 0 where nothing does.
    opposite: [u8; 256],
}

impl ReverseComplement {
    /// For `dna` (or `iupac`) A faces T, for `rna` it faces U.
    pub fn new(chance: Chance, alphabet: &str) -> Result<Self> {
        let facing_a = match alphabet {
            "dna" | "iupac" => b'T',
            "rna" => b'U',
            _ => {
                return Err(Error::argument(format!(
                    "alphabet must be 'dna', 'rna' or 'iupac', got {alphabet:?}"
                )));
            }
        };
        let mut opposite = [0; 256];
        for (letter, other) in PAIRS {
            opposite[usize::from(letter)] = other;
            opposite[usize::from(letter.to_ascii_lowercase())] = other.to_ascii_lowercase();
        }
        opposite[usize::from(b'A')] = facing_a;
        opposite[usize::from(b'a')] = facing_a.to_ascii_lowercase();
        Ok(Self { chance, opposite })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) -> Result<()> {
        self.check(row)?;
        let [high, ..] = split(Choices::new(key).next());
        if self.chance.holds(high) {
            row.qualities.reverse();
            row.letters.reverse();
            for letter in &mut row.letters {
                *letter = self.opposite[usize::from(*letter)];
            }
        }
        Ok(())
    }

    /// A letter without another side is an error in either direction, so that
    /// it does not depend on the key.
    fn check(&self, row: &AugmentedRow) -> Result<()> {
        let lone = |letter: &u8| self.opposite[usize::from(*letter)] == 0;
        match row.letters.iter().position(lone) {
            None => Ok(()),
            Some(position) => Err(Error::Letter {
                record: row.record,
                position,
                letter: row.letters[position],
                expected: EXPECTED.into(),
            }),
        }
    }
}

fn split(bits: u64) -> [u32; 2] {
    let [a, b, c, d, rest @ ..] = bits.to_be_bytes();
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes(rest)]
}
