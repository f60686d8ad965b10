//! Attention without masks or dropout, in one pass over the keys.
//!
//! Each vector lane computes the output of one query. The scores and weights of a tile
//! of keys remain in registers, and no sum is computed across lanes.

use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{group::QuerySet, head::Head};
use crate::lanes::{Lanes, Registers};
use crate::machine::{self, dispatch};
use crate::matrix::{MatrixMut, StridedMatrix};
use crate::product::transpose;
use crate::{Float, parallel, tuned};

/// Returns true if this module supports the masks and dropout of the attention head.
pub(super) fn is_supported<T: Float>(head: &Head<'_, T>) -> bool {
    let hides = head.mask.is_some() || head.rule.dropout.is_some() || head.rule.causal;
    !hides && head.keys.rows * head.keys.columns * head.values.columns > 0
}

/// Returns the number of queries in a block, a multiple of the group size. The keys and
/// values are packed again for each block of queries.
pub(super) fn queries_per_block(pieces: usize, threads: usize) -> usize {
    if parallel::is_single_threaded(threads) || pieces >= 4 * threads {
        1024
    } else {
        256
    }
}

/// Computes the output for a block of queries, and stores the logarithm of the sum of
/// exponentials (`lse`) of each query.
pub(super) fn compute_output<T: Float>(
    head: &Head<'_, T>,
    queries: Range<usize>,
    out: MatrixMut<'_, T>,
    lse: &mut [T],
) {
    let Registers { lanes, are_many } = Registers::for_type::<T>();
    let tile = if are_many {
        tuned::ATTENTION_TILE_32
    } else {
        tuned::ATTENTION_TILE_16
    };
    let (head_size, width) = (head.keys.columns, head.values.columns);
    let lines = head.keys.rows.next_multiple_of(tile);
    let group = tuned::QUERY_REGISTERS * lanes * (head_size + 2 * width + 2);
    T::with_scratch(group + lines * (head_size + width), |scratch| {
        let (scratch, packed) = scratch.split_at_mut(group);
        let (keys, values) = packed.split_at_mut(lines * head_size);
        pack_tiles(head.keys, tile, keys);
        pack_tiles(head.values, tile, values);
        let queries = head.queries.rows(queries);
        let pass = QueryPass {
            head,
            queries,
            keys,
            values,
        };
        compute_groups(pass, scratch, out, lse);
    });
}

/// Packs rows into tiles, which store the values of a column next to each other. The
/// last tile is padded with zeros.
fn pack_tiles<T: Float>(rows: StridedMatrix<'_, T>, tile: usize, out: &mut [T]) {
    for (number, out) in out.chunks_exact_mut(tile * rows.columns).enumerate() {
        let first = number * tile;
        pack_columns(rows.rows(first..rows.rows.min(first + tile)), tile, out);
    }
}

/// Copies rows into the columns of a matrix whose rows have `width` values.
fn pack_columns<T: Float>(rows: StridedMatrix<'_, T>, width: usize, out: &mut [T]) {
    if rows.rows < width {
        out.fill(T::ZERO);
    }
    transpose(rows.data, rows.steps.0, rows.rows, width, out);
}

/// A block of queries of an attention head, and the packed keys and values.
struct QueryPass<'a, 'b, T> {
    head: &'a Head<'b, T>,
    queries: StridedMatrix<'a, T>,
    keys: &'a [T],
    values: &'a [T],
}

#[vectorized]
fn compute_groups<S: Simd, T: Float>(
    simd: S,
    pass: QueryPass<'_, '_, T>,
    scratch: &mut [T],
    out: MatrixMut<'_, T>,
    lse: &mut [T],
) {
    if machine::has_many_registers::<S>() {
        pass.fill_groups::<S, { tuned::ATTENTION_TILE_32 }>(simd, scratch, out, lse);
    } else {
        pass.fill_groups::<S, { tuned::ATTENTION_TILE_16 }>(simd, scratch, out, lse);
    }
}

impl<T: Float> QueryPass<'_, '_, T> {
    /// Computes the output for one group of queries at a time. The last group may fill
    /// only one vector register.
    #[inline(always)]
    fn fill_groups<S: Simd, const K: usize>(
        &self,
        simd: S,
        scratch: &mut [T],
        mut out: MatrixMut<'_, T>,
        lse: &mut [T],
    ) {
        let lanes = Lanes::<S, T>::COUNT;
        let mut first = 0;
        for lse in lse.chunks_mut(tuned::QUERY_REGISTERS * lanes) {
            let range = first..first + lse.len();
            first = range.end;
            let (queries, out) = (self.queries.rows(range.clone()), out.rows(range));
            if lse.len() <= lanes {
                self.fill_group::<S, K, 1>(simd, queries, scratch, (out, lse));
            } else {
                self.fill_group::<S, K, { tuned::QUERY_REGISTERS }>(
                    simd,
                    queries,
                    scratch,
                    (out, lse),
                );
            }
        }
    }

    #[inline(always)]
    fn fill_group<S: Simd, const K: usize, const V: usize>(
        &self,
        simd: S,
        queries: StridedMatrix<'_, T>,
        scratch: &mut [T],
        (out, lse): (MatrixMut<'_, T>, &mut [T]),
    ) {
        let size = V * Lanes::<S, T>::COUNT;
        let (panel, rest) = scratch.split_at_mut(size * queries.columns);
        let (outputs, rest) = rest.split_at_mut(size * self.head.values.columns);
        pack_columns(queries, size, panel);
        let scale = self.head.rule.scale * T::from_f64(std::f64::consts::LOG2_E);
        for number in &mut *panel {
            *number = *number * scale;
        }
        let mut group = QuerySet::<S, T, V>::new(simd, panel, outputs);
        self.add_keys::<S, K, V>(&mut group);
        let (ends, rest) = rest.split_at_mut(2 * size);
        group.store_output(ends);
        store_rows(outputs, size, rest, out);
        store_lse(ends.split_at(size), lse);
    }

    /// Processes all keys for a group of queries, tile by tile.
    #[inline(always)]
    fn add_keys<S: Simd, const K: usize, const V: usize>(&self, group: &mut QuerySet<'_, S, T, V>) {
        let (keys, _) = self.keys.as_chunks::<K>();
        let (values, _) = self.values.as_chunks::<K>();
        let keys = keys.chunks_exact(self.head.keys.columns);
        let values = values.chunks_exact(self.head.values.columns);
        for (number, (keys, values)) in keys.zip(values).enumerate() {
            match self.head.keys.rows - number * K {
                // Full tiles are processed by a separate call, in which the compiler
                // removes the length checks.
                visible if visible >= K => group.push(keys, values, K),
                visible => group.push(keys, values, visible),
            }
        }
    }
}

/// Copies the output from columns (`outputs`) into rows.
fn store_rows<T: Float>(outputs: &[T], size: usize, scratch: &mut [T], mut out: MatrixMut<'_, T>) {
    let (rows, width) = (out.rows_count(), out.columns_count());
    let transposed = &mut scratch[..rows * width];
    transpose(outputs, size, width, width, transposed);
    for (row, transposed) in transposed.chunks_exact(width).enumerate() {
        out.row(row).copy_from_slice(transposed);
    }
}

/// Stores the `lse` of each query, computed from the shift of its scores and the total
/// of its weights.
fn store_lse<T: Float>((shifts, totals): (&[T], &[T]), lse: &mut [T]) {
    let ln_2 = T::from_f64(std::f64::consts::LN_2);
    for ((lse, &shift), &total) in lse.iter_mut().zip(shifts).zip(totals) {
        *lse = shift * ln_2 + total.ln();
    }
}
