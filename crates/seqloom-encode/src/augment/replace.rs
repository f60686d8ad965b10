//! Letters that take the position of others.

use seqloom_core::{Alphabet, Result};

use super::draw::among;

/// No letter of the alphabet.
const NONE: u8 = u8::MAX;

/// The letters that a substitution or an insertion draws from.
#[derive(Clone, Debug)]
pub struct Replacement {
    letters: Vec<u8>,
    /// For each byte its position among the letters, whatever its case.
    positions: [u8; 256],
}

impl Replacement {
    /// The members of an alphabet.
    pub fn new(alphabet: &str) -> Result<Self> {
        let letters = Alphabet::new(alphabet)?.letters().to_vec();
        let mut positions = [NONE; 256];
        for (position, letter) in (0..NONE).zip(&letters) {
            positions[usize::from(letter.to_ascii_lowercase())] = position;
        }
        for (position, letter) in (0..NONE).zip(&letters) {
            positions[usize::from(*letter)] = position;
        }
        Ok(Self { letters, positions })
    }

    /// Another letter in place of this one, of the same case; a letter that is
    /// no member stays what it is.
    pub(super) fn instead(&self, letter: u8, word: u32) -> u8 {
        let own = self.positions[usize::from(letter)];
        if own == NONE || self.letters.len() < 2 {
            return letter;
        }
        let position = among(word, self.letters.len() - 1);
        self.cased(position + usize::from(position >= usize::from(own)), letter)
    }

    /// Any letter, of the case of this one.
    pub(super) fn beside(&self, letter: u8, word: u32) -> u8 {
        self.cased(among(word, self.letters.len()), letter)
    }

    /// The letter at `position`, in lower case beside a lower-case letter that is
    /// no member itself.
    fn cased(&self, position: usize, near: u8) -> u8 {
        let letter = self.letters.get(position).copied().unwrap_or(near);
        if near.is_ascii_lowercase() && !self.letters.contains(&near) {
            return letter.to_ascii_lowercase();
        }
        letter
    }
}
