//! One head: what its queries, keys and values are, and how they meet.

use crate::tuned::{ATTENTION_KEYS, ATTENTION_SCORE_BYTES};
use std::ops::Range;

use super::mask::AttentionMask;
use crate::dropout::Dropout;
use crate::matrix::StridedMatrix;

/// How scores become weights.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRule<T> {
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
    pub(super) queries: StridedMatrix<'a, T>,
    pub(super) keys: StridedMatrix<'a, T>,
    pub(super) values: StridedMatrix<'a, T>,
    pub(super) mask: Option<AttentionMask<'a, T>>,
    pub(super) rule: AttentionRule<T>,
    /// Its sample, and its position in there.
    pub(super) position: [usize; 2],
    /// How many weights lie before its first.
    pub(super) start: u64,
}

impl<T: crate::Float> Head<'_, T> {
    /// The number of keys that the query may attend to.
    #[inline(always)]
    pub(super) fn visible(&self, query: usize) -> usize {
        let all = self.keys.rows;
        if self.rule.causal {
            all.min(query + 1)
        } else {
            all
        }
    }

    /// The number of keys of a block that the query may attend to.
    #[inline(always)]
    pub(super) fn visible_of(&self, query: usize, keys: &Range<usize>) -> usize {
        let visible = self.visible(query);
        visible.saturating_sub(keys.start).min(keys.len())
    }

    /// Cuts the keys that some queries may attend to into equal blocks, at least one.
    pub(super) fn key_blocks(&self, queries: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let keys = queries
            .end
            .checked_sub(1)
            .map_or(0, |last| self.visible(last));
        let count = keys.div_ceil(ATTENTION_KEYS).max(1);
        let size = keys.div_ceil(count);
        (0..count).map(move |number| number * size..keys.min((number + 1) * size))
    }

    /// Masks a query's scores of the keys from `first` on.
    #[inline(always)]
    pub(super) fn mask(&self, query: usize, first: usize, scores: &mut [T]) {
        if let Some(mask) = &self.mask {
            let [sample, head] = self.position;
            mask.apply([sample, head, query, first], scores);
        }
    }

    /// The number of a query's weight of a key, counted through the batch.
    #[inline(always)]
    pub(super) fn weight_number(&self, query: usize, key: usize) -> u64 {
        self.start + (query * self.keys.rows + key) as u64
    }
}

/// How many queries are taken at once, so that their scores of a block of keys stay in the
/// second-level cache.
pub(super) fn queries_at_once<T>(keys: usize) -> usize {
    (ATTENTION_SCORE_BYTES / size_of::<T>() / keys.clamp(1, ATTENTION_KEYS)).clamp(16, 256)
}
