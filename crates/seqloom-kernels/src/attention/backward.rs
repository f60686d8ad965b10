//! The gradients of attention. The attention weights are recomputed from the `lse`
//! values that the forward pass stored.

use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::forward::row_exponentials;
use super::head::{Head, queries_per_block};
use crate::dropout::Dropout;
use crate::machine::dispatch;
use crate::matrix::{MatrixMut, StridedMatrix};
use crate::product::Update;
use crate::softmax::dot_product;
use crate::{Float, tuned};

/// The output of an attention head, its `lse` values, and the output gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForwardResult<'a, T> {
    pub(super) grad: StridedMatrix<'a, T>,
    pub(super) out: StridedMatrix<'a, T>,
    pub(super) lse: &'a [T],
}

/// The output arrays for the gradients of the queries, keys and values.
#[derive(Debug)]
pub(super) struct AttentionGrads<'a, T> {
    pub(super) queries: MatrixMut<'a, T>,
    pub(super) keys: MatrixMut<'a, T>,
    pub(super) values: MatrixMut<'a, T>,
}

/// Fills the gradients of an attention head, one block of queries at a time.
pub(super) fn fill_gradients<T: Float>(
    head: &Head<'_, T>,
    result: ForwardResult<'_, T>,
    mut grads: AttentionGrads<'_, T>,
) {
    let (count, keys) = (head.queries.rows, head.keys.rows);
    grads.keys.fill(T::ZERO);
    grads.values.fill(T::ZERO);
    let step = queries_per_block::<T>(keys);
    T::with_scratch(2 * step * keys.min(tuned::MAX_BLOCK_KEYS), |scratch| {
        for first in (0..count).step_by(step) {
            let queries = first..count.min(first + step);
            for keys in head.key_blocks(&queries) {
                add_block_gradients(head, (queries.clone(), keys), &result, &mut grads, scratch);
            }
        }
    });
}

/// Adds the gradients that a block of queries and a block of keys contribute.
fn add_block_gradients<T: Float>(
    head: &Head<'_, T>,
    (queries, keys): (Range<usize>, Range<usize>),
    result: &ForwardResult<'_, T>,
    grads: &mut AttentionGrads<'_, T>,
    scratch: &mut [T],
) {
    let (count, width) = (queries.len(), keys.len());
    let (weights, rest) = scratch.split_at_mut(count * width);
    let slopes = &mut rest[..count * width];
    let q = head.queries.rows(queries.clone());
    let (k, v) = (head.keys.rows(keys.clone()), head.values.rows(keys.clone()));
    let grad = result.grad.rows(queries.clone());
    let (one, scale) = (T::ONE, head.rule.scale);
    MatrixMut::new(weights, count, width, width).product(Update::Replace, scale, q, k.transposed());
    MatrixMut::new(slopes, count, width, width).product(Update::Replace, one, grad, v.transposed());
    differentiate_scores(
        head,
        result,
        (queries.start, &keys),
        [&mut *weights, &mut *slopes],
    );
    let weights = StridedMatrix::new(weights, count, width, width).transposed();
    let slopes = StridedMatrix::new(slopes, count, width, width);
    let mut values = grads.values.rows(keys.clone());
    values.product(Update::Add, one, weights, grad);
    let into = if keys.start == 0 {
        Update::Replace
    } else {
        Update::Add
    };
    let mut by_queries = grads.queries.rows(queries);
    by_queries.product(into, scale, slopes, k);
    let mut by_keys = grads.keys.rows(keys);
    by_keys.product(Update::Add, scale, slopes.transposed(), q);
}

/// Converts scores into weights, and gradients of weights into gradients of scores, for
/// a block of queries and a block of keys.
#[vectorized]
fn differentiate_scores<S: Simd, T: Float>(
    simd: S,
    head: &Head<'_, T>,
    result: &ForwardResult<'_, T>,
    (first, keys): (usize, &Range<usize>),
    [weights, slopes]: [&mut [T]; 2],
) {
    let width = keys.len().max(1);
    let rows = weights.chunks_mut(width).zip(slopes.chunks_mut(width));
    for (query, (weights, slopes)) in (first..).zip(rows) {
        compute_weights(simd, head, (query, keys), result.lse[query], weights);
        let (grad, out) = (result.grad.row(query), result.out.row(query));
        let mean = dot_product(simd, grad, out);
        let number = head.weight_index(query, keys.start);
        score_gradients(head.rule.dropout, number, mean, weights, slopes);
    }
}

#[inline(always)]
fn compute_weights<S: Simd, T: Float>(
    simd: S,
    head: &Head<'_, T>,
    (query, keys): (usize, &Range<usize>),
    lse: T,
    row: &mut [T],
) {
    let (visible, hidden) = row.split_at_mut(head.visible_block_keys(query, keys));
    hidden.fill(T::ZERO);
    head.mask_scores(query, keys.start, visible);
    let lse = if lse == T::NEG_INF { T::ZERO } else { lse };
    row_exponentials(simd, lse, visible);
}

/// Converts the gradients of the weights into gradients of the scores, and applies
/// dropout to the weights. `position` is the index of the first weight in the batch.
#[inline(always)]
fn score_gradients<T: Float>(
    dropout: Option<Dropout<T>>,
    position: u64,
    mean: T,
    weights: &mut [T],
    slopes: &mut [T],
) {
    let Some(dropout) = dropout else {
        for (weight, slope) in weights.iter().zip(slopes) {
            *slope = *weight * (*slope - mean);
        }
        return;
    };
    let factor = dropout.factor;
    dropout.blocks(position, weights.len(), |first, kept| {
        let pairs = weights[first..].iter_mut().zip(&mut slopes[first..]);
        for ((weight, slope), &kept) in pairs.zip(kept) {
            let factor = if kept { factor } else { T::ZERO };
            *slope = *weight * (*slope * factor - mean);
            *weight = *weight * factor;
        }
    });
}
