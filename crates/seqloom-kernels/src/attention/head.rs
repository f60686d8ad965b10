//! One head: what its queries, keys and values are, and how they meet.

use std::ops::Range;

use super::mask::Mask;
use crate::dropout::Dropout;
use crate::matrix::Matrix;

/// How scores become weights.
#[derive(Clone, Copy, Debug)]
pub struct Rule<T> {
    /// What the products of queries and keys are multiplied by.
    pub scale: T,
    /// Whether query i sees the keys up to the i-th only.
    pub causal: bool,
    /// Drops weights, as they lie in (batch, head, query, key).
    pub dropout: Option<Dropout<T>>,
}

/// One head of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a, T> {
    pub(super) queries: Matrix<'a, T>,
    pub(super) keys: Matrix<'a, T>,
    pub(super) values: Matrix<'a, T>,
    pub(super) mask: Option<Mask<'a, T>>,
    pub(super) rule: Rule<T>,
    /// Its sample, and its place in there.
    pub(super) place: [usize; 2],
    /// How many weights lie before its first.
    pub(super) start: u64,
}

impl<T: crate::Float> Head<'_, T> {
    /// How many keys the query may see at most.
    #[inline(always)]
    pub(super) fn seen(&self, query: usize) -> usize {
        let all = self.keys.rows_count();
        if self.rule.causal {
            all.min(query + 1)
        } else {
            all
        }
    }

    /// How many keys the last of some queries may see.
    pub(super) fn seen_by(&self, queries: &Range<usize>) -> usize {
        queries.end.checked_sub(1).map_or(0, |last| self.seen(last))
    }

    /// Masks the scores of a query.
    #[inline(always)]
    pub(super) fn mask(&self, query: usize, scores: &mut [T]) {
        if let Some(mask) = &self.mask {
            let [sample, head] = self.place;
            mask.apply([sample, head, query], scores);
        }
    }

    /// The place of a query's first weight.
    #[inline(always)]
    pub(super) fn first_weight(&self, query: usize) -> u64 {
        self.start + (query * self.keys.rows_count()) as u64
    }
}

/// Queries whose scores stay in the second-level cache.
pub(super) fn queries_at_once<T>(keys: usize) -> usize {
    (SCORES / size_of::<T>() / keys.max(1)).clamp(16, 256)
}

/// Bytes of a block of scores.
const SCORES: usize = 256 << 10;
