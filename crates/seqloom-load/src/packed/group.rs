//! Windows that are tokenised together.

use super::row::{TokenRow, WindowInfo};
use super::tokens::WindowTokens;
use crate::gather::RaggedRows;

/// Maximum number of windows of a group.
const MAX_GROUP_WINDOWS: usize = 64;
/// Number of residues from which a group is full.
const FULL_GROUP_RESIDUES: usize = 1 << 15;

/// The residues and tokens of several windows, and their metadata.
#[derive(Debug, Default)]
pub(super) struct WindowGroup {
    pub(super) letters: RaggedRows,
    pub(super) tokens: WindowTokens,
    pub(super) infos: Vec<WindowInfo>,
}

impl WindowGroup {
    /// Removes all windows from the group.
    pub(super) fn clear(&mut self) {
        self.letters.data.clear();
        self.letters.offsets.clear();
        self.letters.offsets.push(0);
        self.tokens.offsets.clear();
        self.infos.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.infos.len() >= MAX_GROUP_WINDOWS || self.letters.data.len() >= FULL_GROUP_RESIDUES
    }

    /// Adds a window to the group.
    pub(super) fn add_window(&mut self, letters: &[u8], info: WindowInfo) {
        self.letters.data.extend_from_slice(letters);
        let end = i64::try_from(self.letters.data.len()).unwrap_or(i64::MAX);
        self.letters.offsets.push(end);
        self.infos.push(info);
    }

    /// Returns the tokenised windows, in order.
    pub(super) fn token_rows(&mut self) -> impl Iterator<Item = TokenRow> {
        let count = self.tokens.len();
        let tokens = &self.tokens;
        let infos = self.infos.drain(..count).enumerate();
        infos.map(|(number, info)| TokenRow {
            tokens: tokens.get(number).into(),
            info,
        })
    }
}
