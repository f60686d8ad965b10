//! Chooses the windows of each batch.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use super::row::TokenRow;

/// Tokenised windows that are not yet in a batch. A batch takes the oldest window and
/// then repeatedly the longest window that still fits, or the oldest of several equally
/// long windows.
#[derive(Debug)]
pub struct WindowPool {
    capacity: usize,
    window: usize,
    tokens: usize,
    /// The windows in order of arrival; `None` for a window that was moved to a batch.
    rows: VecDeque<Option<TokenRow>>,
    /// The number of the first window in `rows`.
    first: u64,
    /// The size and number of every window in the pool.
    sizes: BTreeSet<(usize, Reverse<u64>)>,
}

impl WindowPool {
    /// Creates a pool for batches of at most `capacity` tokens. A batch is chosen only when
    /// the pool contains at least `window` windows.
    pub fn new(capacity: usize, window: usize) -> Self {
        Self {
            capacity,
            window,
            tokens: 0,
            rows: VecDeque::new(),
            first: 0,
            sizes: BTreeSet::new(),
        }
    }

    /// Returns the number of windows in the pool.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Returns true if the pool has no windows.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Adds a window to the pool; the window must fit into a batch.
    pub fn add_window(&mut self, row: TokenRow) {
        let number = self.first + self.rows.len() as u64;
        self.tokens += row.size();
        self.sizes.insert((row.size(), Reverse(number)));
        self.rows.push_back(Some(row));
    }

    /// Returns true if the pool has enough windows, and enough tokens for two batches.
    pub fn is_full(&self) -> bool {
        self.len() >= self.window && self.tokens >= self.capacity.saturating_mul(2)
    }

    /// Returns the windows in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &TokenRow> {
        self.rows.iter().flatten()
    }

    /// Removes and returns the windows of a batch, in order of arrival.
    pub fn take_batch(&mut self) -> Vec<TokenRow> {
        let mut chosen = self.choose_batch();
        chosen.sort_unstable();
        let rows: Vec<TokenRow> = chosen
            .iter()
            .filter_map(|number| self.take_window(*number))
            .collect();
        while matches!(self.rows.front(), Some(None)) {
            self.rows.pop_front();
            self.first += 1;
        }
        self.tokens -= rows.iter().map(TokenRow::size).sum::<usize>();
        rows
    }

    /// Chooses a batch and removes its windows from `sizes`.
    fn choose_batch(&mut self) -> Vec<u64> {
        let Some(Some(oldest)) = self.rows.front() else {
            return Vec::new();
        };
        let mut candidate = Some((oldest.size(), Reverse(self.first)));
        let (mut left, mut chosen) = (self.capacity, Vec::new());
        while let Some(entry) = candidate {
            self.sizes.remove(&entry);
            left = left.saturating_sub(entry.0);
            chosen.push(entry.1.0);
            candidate = self.sizes.range(..=(left, Reverse(0))).next_back().copied();
        }
        chosen
    }

    fn take_window(&mut self, number: u64) -> Option<TokenRow> {
        let position = usize::try_from(number - self.first).ok()?;
        self.rows.get_mut(position)?.take()
    }
}
