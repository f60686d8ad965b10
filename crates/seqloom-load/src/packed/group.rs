//! Windows that are turned into tokens together.

use super::row::{About, Row};
use super::tokens::Tokens;
use crate::gather::Rows;

/// So many windows, or hardly more than so many letters.
const WINDOWS: usize = 64;
const LETTERS: usize = 1 << 15;

/// The letters of some windows, their tokens, and what else is known of them.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) letters: Rows,
    pub(super) tokens: Tokens,
    pub(super) abouts: Vec<About>,
}

impl Group {
    /// Forgets all windows.
    pub(super) fn clear(&mut self) {
        self.letters.data.clear();
        self.letters.offsets.clear();
        self.letters.offsets.push(0);
        self.tokens.offsets.clear();
        self.abouts.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.abouts.len() >= WINDOWS || self.letters.data.len() >= LETTERS
    }

    /// Adds the letters of a window.
    pub(super) fn push(&mut self, letters: &[u8], about: About) {
        self.letters.data.extend_from_slice(letters);
        let end = i64::try_from(self.letters.data.len()).unwrap_or(i64::MAX);
        self.letters.offsets.push(end);
        self.abouts.push(about);
    }

    /// The windows that have tokens, in order.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = Row> {
        let count = self.tokens.len();
        let tokens = &self.tokens;
        let abouts = self.abouts.drain(..count).enumerate();
        abouts.map(|(number, about)| Row {
            tokens: tokens.get(number).into(),
            about,
        })
    }
}
