//! What the answers are differentiated by; weights are made again from the kept sums.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::forward::exponentials;
use super::head::{Head, queries_at_once};
use crate::matrix::{Into, Matrix, MatrixMut};
use crate::softmax::dot;
use crate::{Float, machine};

/// What came out of a head, and the gradient by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Result<'a, T> {
    pub(super) grad: Matrix<'a, T>,
    pub(super) out: Matrix<'a, T>,
    pub(super) lse: &'a [T],
}

/// The gradients by queries, keys and values, to be filled.
#[derive(Debug)]
pub(super) struct Grads<'a, T> {
    pub(super) queries: MatrixMut<'a, T>,
    pub(super) keys: MatrixMut<'a, T>,
    pub(super) values: MatrixMut<'a, T>,
}

/// Fills a head's gradients, some queries at a time.
pub(super) fn differentiate<T: Float>(
    head: &Head<'_, T>,
    result: Result<'_, T>,
    mut grads: Grads<'_, T>,
) {
    let (count, keys) = (head.queries.rows_count(), head.keys.rows_count());
    grads.keys.fill(T::ZERO);
    grads.values.fill(T::ZERO);
    let step = queries_at_once::<T>(keys);
    T::with_scratch(2 * step * keys, |scratch| {
        for first in (0..count).step_by(step) {
            let queries = first..count.min(first + step);
            block(head, queries, &result, &mut grads, scratch);
        }
    });
}

fn block<T: Float>(
    head: &Head<'_, T>,
    queries: Range<usize>,
    result: &Result<'_, T>,
    grads: &mut Grads<'_, T>,
    scratch: &mut [T],
) {
    let (count, seen) = (queries.len(), head.seen_by(&queries));
    let (weights, rest) = scratch.split_at_mut(count * seen);
    let slopes = &mut rest[..count * seen];
    let q = head.queries.rows(queries.clone());
    let (k, v) = (head.keys.rows(0..seen), head.values.rows(0..seen));
    let grad = result.grad.rows(queries.clone());
    let one = T::ONE;
    let scale = head.rule.scale;
    MatrixMut::new(weights, count, seen, seen).product(Into::Placed, scale, q, k.turned());
    MatrixMut::new(slopes, count, seen, seen).product(Into::Placed, one, grad, v.turned());
    let first = queries.start;
    machine::dispatch(Scores {
        head,
        result,
        first,
        weights,
        slopes,
        seen,
    });
    let weights = Matrix::new(weights, count, seen, seen).turned();
    let slopes = Matrix::new(slopes, count, seen, seen);
    let mut values = grads.values.rows(0..seen);
    values.product(Into::Added, one, weights, grad);
    grads
        .queries
        .rows(queries)
        .product(Into::Placed, scale, slopes, k);
    let mut keys = grads.keys.rows(0..seen);
    keys.product(Into::Added, scale, slopes.turned(), q);
}

/// Turns scores into weights, and gradients by weights into gradients by scores.
struct Scores<'a, 'b, T> {
    head: &'a Head<'b, T>,
    result: &'a Result<'a, T>,
    first: usize,
    weights: &'a mut [T],
    slopes: &'a mut [T],
    seen: usize,
}

impl<T: Float> WithSimd for Scores<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let seen = self.seen.max(1);
        let rows = self
            .weights
            .chunks_mut(seen)
            .zip(self.slopes.chunks_mut(seen));
        for (query, (weights, slopes)) in (self.first..).zip(rows) {
            weigh(simd, self.head, query, self.result.lse[query], weights);
            let (grad, out) = (self.result.grad.row(query), self.result.out.row(query));
            let mean = dot(simd, grad, out);
            slope(self.head, query, mean, weights, slopes);
        }
    }
}

#[inline(always)]
fn weigh<S: Simd, T: Float>(simd: S, head: &Head<'_, T>, query: usize, lse: T, row: &mut [T]) {
    let (seen, hidden) = row.split_at_mut(head.seen(query).min(row.len()));
    hidden.fill(T::ZERO);
    head.mask(query, seen);
    let lse = if lse == T::LOWEST { T::ZERO } else { lse };
    exponentials(simd, lse, seen);
}

/// The gradient by scores; the weights become those that were dropped.
#[inline(always)]
fn slope<T: Float>(head: &Head<'_, T>, query: usize, mean: T, weights: &mut [T], slopes: &mut [T]) {
    let Some(dropout) = head.rule.dropout else {
        for (weight, slope) in weights.iter().zip(slopes) {
            *slope = *weight * (*slope - mean);
        }
        return;
    };
    let factor = dropout.factor;
    dropout.blocks(head.first_weight(query), weights.len(), |first, kept| {
        let pairs = weights[first..].iter_mut().zip(&mut slopes[first..]);
        for ((weight, slope), &kept) in pairs.zip(kept) {
            let factor = if kept { factor } else { T::ZERO };
            *slope = *weight * (*slope * factor - mean);
            *weight = *weight * factor;
        }
    });
}
