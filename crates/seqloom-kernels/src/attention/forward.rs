//! The forward pass of attention.

use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{fused, head::Head};
use crate::lanes::Lanes;
use crate::machine::dispatch;
use crate::matrix::{MatrixMut, StridedMatrix};
use crate::product::Update;
use crate::{Float, special};

/// Computes the output for a block of queries, and stores the logarithm of the sum of
/// exponentials (`lse`) of each query.
///
/// The algorithm is the online softmax of Milakov and Gimelshein (2018): if a block of
/// keys has a higher score, the previous sums are scaled down.
pub(super) fn compute_output<T: Float>(
    head: &Head<'_, T>,
    queries: Range<usize>,
    mut out: MatrixMut<'_, T>,
    lse: &mut [T],
) {
    if fused::is_supported(head) {
        return fused::compute_output(head, queries, out, lse);
    }
    let (count, first) = (queries.len(), queries.start);
    let most = head.key_blocks(&queries).map(|keys| keys.len()).max();
    let size = count * most.unwrap_or(0);
    T::with_scratch(size + count, |scratch| {
        let (scores, totals) = scratch.split_at_mut(size);
        for keys in head.key_blocks(&queries) {
            let scores = &mut scores[..count * keys.len()];
            let block = KeyBlock {
                head,
                first,
                keys,
                scores,
                // `lse` stores the highest score of each query until all keys are
                // processed.
                highest: &mut *lse,
                totals: &mut *totals,
                out: out.reborrow(),
            };
            block.add_values(head.queries.rows(queries.clone()));
        }
        let factor = head.rule.dropout.map_or(T::ONE, |rule| rule.factor);
        divide_by_totals(factor, &mut out, lse, totals);
    });
}

/// A block of queries, a block of keys, and the running softmax over the previous
/// blocks of keys.
struct KeyBlock<'a, 'b, T> {
    head: &'a Head<'b, T>,
    /// The index of the first query.
    first: usize,
    keys: Range<usize>,
    scores: &'a mut [T],
    /// The highest score so far, and the sum of exp(score - highest), for each query.
    highest: &'a mut [T],
    totals: &'a mut [T],
    out: MatrixMut<'a, T>,
}

impl<T: Float> KeyBlock<'_, '_, T> {
    /// Adds the values, multiplied by the attention weights, to the output.
    fn add_values(mut self, queries: StridedMatrix<'_, T>) {
        let (head, keys) = (self.head, self.keys.clone());
        let (count, width) = (queries.rows, keys.len());
        let transposed = head.keys.rows(keys.clone()).transposed();
        MatrixMut::new(self.scores, count, width, width).product(
            Update::Replace,
            head.rule.scale,
            queries,
            transposed,
        );
        compute_all_weights(&mut self);
        let weights = StridedMatrix::new(self.scores, count, width, width);
        let into = if keys.start == 0 {
            Update::Replace
        } else {
            Update::Add
        };
        self.out
            .product(into, T::ONE, weights, head.values.rows(keys));
    }
}

/// Converts the attention scores of a block into weights that are not yet divided by
/// their sum.
#[vectorized]
fn compute_all_weights<S: Simd, T: Float>(simd: S, block: &mut KeyBlock<'_, '_, T>) {
    for number in 0..block.totals.len() {
        block.compute_weights(simd, number);
    }
}

impl<T: Float> KeyBlock<'_, '_, T> {
    /// Converts the attention scores of one query into weights.
    #[inline(always)]
    fn compute_weights<S: Simd>(&mut self, simd: S, number: usize) {
        let (head, query, width) = (self.head, self.first + number, self.keys.len());
        let row = &mut self.scores[number * width..][..width];
        let (visible, hidden) = row.split_at_mut(head.visible_block_keys(query, &self.keys));
        hidden.fill(T::ZERO);
        head.mask_scores(query, self.keys.start, visible);
        let here = crate::softmax::row_maximum(simd, visible);
        let is_first = self.keys.start == 0;
        let before = if is_first { here } else { self.highest[number] };
        let highest = if here > before { here } else { before };
        let total = row_exponentials(simd, score_shift(highest), visible);
        self.highest[number] = highest;
        if is_first {
            self.totals[number] = total;
        } else {
            let smaller = exponential(simd, before - score_shift(highest));
            self.totals[number] = self.totals[number] * smaller + total;
            let outputs = self.out.row(number).iter_mut();
            outputs.for_each(|answer| *answer = *answer * smaller);
        }
        drop_weights(head, head.weight_index(query, self.keys.start), row);
    }
}

/// Returns the value that is subtracted from the scores: the highest score or, if all
/// keys are masked, 0, so that all exponentials are 0.
#[inline(always)]
fn score_shift<T: Float>(highest: T) -> T {
    if highest == T::NEG_INF {
        T::ZERO
    } else {
        highest
    }
}

#[inline(always)]
fn exponential<S: Simd, T: Float>(simd: S, x: T) -> T {
    special::exp_of_negative(Lanes::splat(simd, x)).greatest()
}

/// Fills a row with `exp(x - shift)`, which is at most about 1, and returns the sum of
/// the row.
#[inline(always)]
pub(super) fn row_exponentials<S: Simd, T: Float>(simd: S, shift: T, row: &mut [T]) -> T {
    let shift = Lanes::splat(simd, shift);
    let (vectors, rest) = T::split_mut::<S>(row);
    let mut total = Lanes::splat(simd, T::ZERO);
    for x in vectors {
        let value = special::exp_of_negative(Lanes::new(simd, *x) - shift);
        *x = value.vector;
        total = total + value;
    }
    special::exp_of_negative(Lanes::load_part(simd, rest) - shift).store_part(rest);
    total.sum() + rest.iter().copied().sum()
}

/// Applies dropout to the attention weights of a query. `position` is the index of the
/// first weight in the batch.
#[inline(always)]
fn drop_weights<T: Float>(head: &Head<'_, T>, position: u64, row: &mut [T]) {
    let Some(dropout) = head.rule.dropout else {
        return;
    };
    dropout.blocks(position, row.len(), |first, kept| {
        for (weight, &kept) in row[first..].iter_mut().zip(kept) {
            *weight = if kept { *weight } else { T::ZERO };
        }
    });
}

/// Divides the output of each query by the sum of its attention weights, and converts
/// the highest scores into `lse` values.
#[vectorized]
fn divide_by_totals<T: Float>(factor: T, out: &mut MatrixMut<'_, T>, lse: &mut [T], totals: &[T]) {
    for (row, (&total, lse)) in totals.iter().zip(lse).enumerate() {
        *lse = score_shift(*lse) + total.ln();
        let inverse = if total == T::ZERO {
            T::ZERO
        } else {
            factor / total
        };
        for value in out.row(row) {
            *value = *value * inverse;
        }
    }
}
