//! One head of attention: its queries, keys, values and settings.

use crate::tuned::{ATTENTION_KEYS, ATTENTION_SCORE_BYTES};
use std::ops::Range;

use super::mask::AttentionMask;
use crate::dropout::Dropout;
use crate::matrix::StridedMatrix;

/// The settings that turn scores into weights.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRule<T> {
    /// The factor of the dot products of queries and keys.
    pub scale: T,
    /// If true, query i attends to keys 0 to i only.
    pub causal: bool,
    /// The dropout of the weights, which are numbered in C order of (batch, head,
    /// query, key).
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
    /// The indices of the sample and of the head.
    pub(super) position: [usize; 2],
    /// The total number of attention weights of all previous heads.
    pub(super) start: u64,
}

impl<T: crate::Float> Head<'_, T> {
    /// Returns the number of keys that the query may attend to.
    #[inline(always)]
    pub(super) fn visible(&self, query: usize) -> usize {
        let all = self.keys.rows;
        if self.rule.causal {
            all.min(query + 1)
        } else {
            all
        }
    }

    /// Returns the number of keys of a block that the query may attend to.
    #[inline(always)]
    pub(super) fn visible_of(&self, query: usize, keys: &Range<usize>) -> usize {
        let visible = self.visible(query);
        visible.saturating_sub(keys.start).min(keys.len())
    }

    /// Splits the keys that a block of queries may attend to into equal blocks, at
    /// least one.
    pub(super) fn key_blocks(&self, queries: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let keys = queries
            .end
            .checked_sub(1)
            .map_or(0, |last| self.visible(last));
        let count = keys.div_ceil(ATTENTION_KEYS).max(1);
        let size = keys.div_ceil(count);
        (0..count).map(move |number| number * size..keys.min((number + 1) * size))
    }

    /// Applies the mask to the scores of a query; `first` is the index of the first
    /// key.
    #[inline(always)]
    pub(super) fn mask(&self, query: usize, first: usize, scores: &mut [T]) {
        if let Some(mask) = &self.mask {
            let [sample, head] = self.position;
            mask.apply([sample, head, query, first], scores);
        }
    }

    /// Returns the index of a weight in the batch.
    #[inline(always)]
    pub(super) fn weight_index(&self, query: usize, key: usize) -> u64 {
        self.start + (query * self.keys.rows + key) as u64
    }
}

/// Returns the number of queries of a block. The scores of a block of queries for a
/// block of keys must fit in an L2 cache.
pub(super) fn queries_per_block<T>(keys: usize) -> usize {
    (ATTENTION_SCORE_BYTES / size_of::<T>() / keys.clamp(1, ATTENTION_KEYS)).clamp(16, 256)
}
