//! The inputs and settings of one attention head.

use crate::tuned::{ATTENTION_SCORE_BYTES, MAX_BLOCK_KEYS};
use std::ops::Range;

use super::mask::AttentionMask;
use crate::dropout::Dropout;
use crate::matrix::StridedMatrix;

/// The scale, causality and dropout that determine the attention weights.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRule<T> {
    /// The factor by which the dot products of queries and keys are multiplied.
    pub scale: T,
    /// If true, query i attends to keys 0 to i only.
    pub causal: bool,
    /// The dropout of the attention weights. The weights are numbered in C order of
    /// (batch, head, query, key).
    pub dropout: Option<Dropout<T>>,
}

/// One attention head of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a, T> {
    pub(super) queries: StridedMatrix<'a, T>,
    pub(super) keys: StridedMatrix<'a, T>,
    pub(super) values: StridedMatrix<'a, T>,
    pub(super) mask: Option<AttentionMask<'a, T>>,
    pub(super) rule: AttentionRule<T>,
    /// The index of the sample in the batch, and of the head in the sample.
    pub(super) position: [usize; 2],
    /// The number of attention weights in all previous heads of the batch.
    pub(super) start: u64,
}

impl<T: crate::Float> Head<'_, T> {
    /// Returns the number of keys that a query may attend to.
    #[inline(always)]
    pub(super) fn visible_keys(&self, query: usize) -> usize {
        let all = self.keys.rows;
        if self.rule.causal {
            all.min(query + 1)
        } else {
            all
        }
    }

    /// Returns the number of keys in a block that a query may attend to.
    #[inline(always)]
    pub(super) fn visible_block_keys(&self, query: usize, keys: &Range<usize>) -> usize {
        let visible = self.visible_keys(query);
        visible.saturating_sub(keys.start).min(keys.len())
    }

    /// Splits the keys that a block of queries may attend to into one or more blocks of
    /// equal size.
    pub(super) fn key_blocks(&self, queries: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let keys = queries
            .end
            .checked_sub(1)
            .map_or(0, |last| self.visible_keys(last));
        let count = keys.div_ceil(MAX_BLOCK_KEYS).max(1);
        let size = keys.div_ceil(count);
        (0..count).map(move |number| number * size..keys.min((number + 1) * size))
    }

    /// Applies the attention mask to the scores of a query, starting at the key with
    /// index `first`.
    #[inline(always)]
    pub(super) fn mask_scores(&self, query: usize, first: usize, scores: &mut [T]) {
        if let Some(mask) = &self.mask {
            let [sample, head] = self.position;
            mask.apply([sample, head, query, first], scores);
        }
    }

    /// Returns the index of an attention weight in the whole batch.
    #[inline(always)]
    pub(super) fn weight_index(&self, query: usize, key: usize) -> u64 {
        self.start + (query * self.keys.rows + key) as u64
    }
}

/// Returns the number of queries of a block. The scores of a block of queries and a
/// block of keys must fit in an L2 cache.
pub(super) fn queries_per_block<T>(keys: usize) -> usize {
    (ATTENTION_SCORE_BYTES / size_of::<T>() / keys.clamp(1, MAX_BLOCK_KEYS)).clamp(16, 256)
}
