//! From queries, keys and values to the answers.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::head::Head;
use crate::lanes::Lanes;
use crate::matrix::{Into, MatrixMut};
use crate::{Float, machine, special};

/// Answers some queries, and keeps the logarithm of each one's sum of exponentials.
pub(super) fn answer<T: Float>(
    head: &Head<'_, T>,
    queries: Range<usize>,
    mut out: MatrixMut<'_, T>,
    lse: &mut [T],
) {
    let (count, seen) = (queries.len(), head.seen_by(&queries));
    let first = queries.start;
    T::with_scratch(count * (seen + 1), |scratch| {
        let (scores, inverses) = scratch.split_at_mut(count * seen);
        let q = head.queries.rows(queries);
        let keys = head.keys.rows(0..seen).turned();
        MatrixMut::new(scores, count, seen, seen).product(Into::Placed, head.rule.scale, q, keys);
        machine::dispatch(Weights {
            head,
            first,
            scores,
            seen,
            lse,
            inverses,
        });
        let weights = crate::matrix::Matrix::new(scores, count, seen, seen);
        out.product(Into::Placed, T::ONE, weights, head.values.rows(0..seen));
        machine::dispatch(Shares {
            out: &mut out,
            inverses,
        });
    });
}

/// Turns the scores of some queries into weights that their sums are still to divide.
struct Weights<'a, 'b, T> {
    head: &'a Head<'b, T>,
    first: usize,
    scores: &'a mut [T],
    seen: usize,
    lse: &'a mut [T],
    inverses: &'a mut [T],
}

impl<T: Float> WithSimd for Weights<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.scores.chunks_mut(self.seen.max(1));
        let rows = rows.map(Some).chain(std::iter::repeat_with(|| None));
        let sums = self.lse.iter_mut().zip(self.inverses);
        for ((query, row), (lse, inverse)) in (self.first..).zip(rows).zip(sums) {
            let row = row.unwrap_or_default();
            let (highest, total) = weigh(simd, self.head, query, row);
            *lse = highest + total.ln();
            *inverse = if total == T::ZERO {
                T::ZERO
            } else {
                drop_weights(self.head, query, row) / total
            };
        }
    }
}

/// Fills a row of scores with their exponentials, less the highest; gives that and the sum.
#[inline(always)]
fn weigh<S: Simd, T: Float>(simd: S, head: &Head<'_, T>, query: usize, row: &mut [T]) -> (T, T) {
    let (seen, hidden) = row.split_at_mut(head.seen(query).min(row.len()));
    hidden.fill(T::ZERO);
    head.mask(query, seen);
    let highest = crate::softmax::highest(simd, seen);
    // Where nothing may be seen, all exponentials are to be zero.
    let highest = if highest == T::LOWEST {
        T::ZERO
    } else {
        highest
    };
    (highest, exponentials(simd, highest, seen))
}

/// Fills a row with `exp(x - shift)`, which is at most about one; gives the sum.
#[inline(always)]
pub(super) fn exponentials<S: Simd, T: Float>(simd: S, shift: T, row: &mut [T]) -> T {
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

/// Drops weights of a query; gives the factor of the others.
#[inline(always)]
fn drop_weights<T: Float>(head: &Head<'_, T>, query: usize, row: &mut [T]) -> T {
    let Some(dropout) = head.rule.dropout else {
        return T::ONE;
    };
    dropout.blocks(head.first_weight(query), row.len(), |first, kept| {
        for (weight, &kept) in row[first..].iter_mut().zip(kept) {
            *weight = if kept { *weight } else { T::ZERO };
        }
    });
    dropout.factor
}

/// Divides answers by the sums of their weights.
struct Shares<'a, 'b, T> {
    out: &'a mut MatrixMut<'b, T>,
    inverses: &'a [T],
}

impl<T: Float> WithSimd for Shares<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, &inverse) in self.inverses.iter().enumerate() {
            for value in self.out.row(row) {
                *value = *value * inverse;
            }
        }
    }
}
