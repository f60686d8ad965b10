//! The windows that wait to be packed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use super::row::TokenRow;

/// The windows that wait. A batch consists of the oldest one, and then repeatedly of the
/// longest one that still fits (among equals the first).
#[derive(Debug)]
pub struct WindowPool {
    capacity: usize,
    window: usize,
    tokens: usize,
    /// In the order they came in; nothing where one was taken.
    rows: VecDeque<Option<TokenRow>>,
    /// The number of the first of them.
    first: u64,
    /// Sizes and numbers of all that wait.
    sizes: BTreeSet<(usize, Reverse<u64>)>,
}

impl WindowPool {
    /// Makes a pool for batches of at most `capacity` tokens, chosen among at least `window`
    /// windows.
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

    /// How many wait.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Lets one wait, which is not larger than a batch.
    pub fn add(&mut self, row: TokenRow) {
        let number = self.first + self.rows.len() as u64;
        self.tokens += row.size();
        self.sizes.insert((row.size(), Reverse(number)));
        self.rows.push_back(Some(row));
    }

    /// Whether enough wait to choose among: so many, and tokens for two batches.
    pub fn is_full(&self) -> bool {
        self.len() >= self.window && self.tokens >= self.capacity.saturating_mul(2)
    }

    /// Those that wait, in the order they came in.
    pub fn iter(&self) -> impl Iterator<Item = &TokenRow> {
        self.rows.iter().flatten()
    }

    /// Takes out a batch, in the order they came in.
    pub fn take(&mut self) -> Vec<TokenRow> {
        let mut chosen = self.choose();
        chosen.sort_unstable();
        let rows: Vec<TokenRow> = chosen
            .iter()
            .filter_map(|number| self.pull(*number))
            .collect();
        while matches!(self.rows.front(), Some(None)) {
            self.rows.pop_front();
            self.first += 1;
        }
        self.tokens -= rows.iter().map(TokenRow::size).sum::<usize>();
        rows
    }

    /// Chooses a batch, and takes it off the list of sizes.
    fn choose(&mut self) -> Vec<u64> {
        let Some(Some(oldest)) = self.rows.front() else {
            return Vec::new();
        };
        let mut found = Some((oldest.size(), Reverse(self.first)));
        let (mut left, mut chosen) = (self.capacity, Vec::new());
        while let Some(entry) = found {
            self.sizes.remove(&entry);
            left = left.saturating_sub(entry.0);
            chosen.push(entry.1.0);
            found = self.sizes.range(..=(left, Reverse(0))).next_back().copied();
        }
        chosen
    }

    fn pull(&mut self, number: u64) -> Option<TokenRow> {
        let position = usize::try_from(number - self.first).ok()?;
        self.rows.get_mut(position)?.take()
    }
}
