//! What waits to be packed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use super::row::Row;

/// Windows that wait, and which of them make up a batch: the one that has waited longest, and
/// then again and again the longest that still fits (of equals the one that came first).
#[derive(Debug)]
pub struct Pool {
    room: usize,
    window: usize,
    tokens: usize,
    /// In the order they came in; nothing where one was taken.
    rows: VecDeque<Option<Row>>,
    /// The number of the first of them.
    first: u64,
    /// Sizes and numbers of all that wait.
    sizes: BTreeSet<(usize, Reverse<u64>)>,
}

impl Pool {
    /// Batches of at most `room` tokens, chosen among at least `window` that wait.
    pub fn new(room: usize, window: usize) -> Self {
        Self {
            room,
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
    pub fn add(&mut self, row: Row) {
        let number = self.first + self.rows.len() as u64;
        self.tokens += row.size();
        self.sizes.insert((row.size(), Reverse(number)));
        self.rows.push_back(Some(row));
    }

    /// Whether enough wait to choose among: so many, and tokens for two batches.
    pub fn is_full(&self) -> bool {
        self.len() >= self.window && self.tokens >= self.room.saturating_mul(2)
    }

    /// Those that wait, in the order they came in.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().flatten()
    }

    /// Takes out a batch, in the order they came in.
    pub fn take(&mut self) -> Vec<Row> {
        let mut chosen = self.choose();
        chosen.sort_unstable();
        let rows: Vec<Row> = chosen
            .iter()
            .filter_map(|number| self.pull(*number))
            .collect();
        while matches!(self.rows.front(), Some(None)) {
            self.rows.pop_front();
            self.first += 1;
        }
        self.tokens -= rows.iter().map(Row::size).sum::<usize>();
        rows
    }

    /// Chooses a batch, and takes it off the list of sizes.
    fn choose(&mut self) -> Vec<u64> {
        let Some(Some(oldest)) = self.rows.front() else {
            return Vec::new();
        };
        let mut found = Some((oldest.size(), Reverse(self.first)));
        let (mut left, mut chosen) = (self.room, Vec::new());
        while let Some(entry) = found {
            self.sizes.remove(&entry);
            left = left.saturating_sub(entry.0);
            chosen.push(entry.1.0);
            found = self.sizes.range(..=(left, Reverse(0))).next_back().copied();
        }
        chosen
    }

    fn pull(&mut self, number: u64) -> Option<Row> {
        let position = usize::try_from(number - self.first).ok()?;
        self.rows.get_mut(position)?.take()
    }
}
