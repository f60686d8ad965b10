//! Windows that are turned into tokens together.

use super::row::{TokenRow, WindowInfo};
use super::tokens::WindowTokens;
use crate::gather::RaggedRows;

/// So many windows, or hardly more than so many letters.
const WINDOWS: usize = 64;
const LETTERS: usize = 1 << 15;

/// The letters and tokens of some windows, and the facts about them.
#[derive(Debug, Default)]
pub(super) struct WindowGroup {
    pub(super) letters: RaggedRows,
    pub(super) tokens: WindowTokens,
    pub(super) infos: Vec<WindowInfo>,
}

impl WindowGroup {
    /// Forgets all windows.
    pub(super) fn clear(&mut self) {
        self.letters.data.clear();
        self.letters.offsets.clear();
        self.letters.offsets.push(0);
        self.tokens.offsets.clear();
        self.infos.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.infos.len() >= WINDOWS || self.letters.data.len() >= LETTERS
    }

    /// Adds the letters of a window.
    pub(super) fn push(&mut self, letters: &[u8], info: WindowInfo) {
        self.letters.data.extend_from_slice(letters);
        let end = i64::try_from(self.letters.data.len()).unwrap_or(i64::MAX);
        self.letters.offsets.push(end);
        self.infos.push(info);
    }

    /// The windows that have tokens, in order.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = TokenRow> {
        let count = self.tokens.len();
        let tokens = &self.tokens;
        let infos = self.infos.drain(..count).enumerate();
        infos.map(|(number, info)| TokenRow {
            tokens: tokens.get(number).into(),
            info,
        })
    }
}
