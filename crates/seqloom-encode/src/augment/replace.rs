//! Random residues for substitutions and insertions.

use seqloom_core::{Alphabet, Result};

use super::random::scale_to_range;

/// The index for bytes that are not in the alphabet.
const NOT_IN_ALPHABET: u8 = u8::MAX;

/// The residues from which substitutions and insertions are sampled.
#[derive(Clone, Debug)]
pub struct Replacement {
    letters: Vec<u8>,
    /// The index in the alphabet of each byte, for upper and lower case.
    positions: [u8; 256],
}

impl Replacement {
    /// Creates the set of replacements from the residues of an alphabet.
    pub fn new(alphabet: &str) -> Result<Self> {
        let letters = Alphabet::new(alphabet)?.letters().to_vec();
        let mut positions = [NOT_IN_ALPHABET; 256];
        for (position, letter) in (0..NOT_IN_ALPHABET).zip(&letters) {
            positions[usize::from(letter.to_ascii_lowercase())] = position;
        }
        for (position, letter) in (0..NOT_IN_ALPHABET).zip(&letters) {
            positions[usize::from(*letter)] = position;
        }
        Ok(Self { letters, positions })
    }

    /// Returns a random residue that differs from `letter`, in the same case. A residue
    /// outside the alphabet is returned unchanged.
    pub(super) fn substitute(&self, letter: u8, word: u32) -> u8 {
        let current = self.positions[usize::from(letter)];
        if current == NOT_IN_ALPHABET || self.letters.len() < 2 {
            return letter;
        }
        let position = scale_to_range(word, self.letters.len() - 1);
        self.match_case(
            position + usize::from(position >= usize::from(current)),
            letter,
        )
    }

    /// Returns a random residue to insert after `letter`, in the same case.
    pub(super) fn insertion(&self, letter: u8, word: u32) -> u8 {
        self.match_case(scale_to_range(word, self.letters.len()), letter)
    }

    /// Returns the residue at `position` of the alphabet. If `neighbour` is lower case
    /// and not in the alphabet, the result is lower case too.
    fn match_case(&self, position: usize, neighbour: u8) -> u8 {
        let letter = self.letters.get(position).copied().unwrap_or(neighbour);
        if neighbour.is_ascii_lowercase() && !self.letters.contains(&neighbour) {
            return letter.to_ascii_lowercase();
        }
        letter
    }
}
