//! Attention within each of several sequences that are concatenated along one axis.

use seqloom_macros::compiled_once;
use std::ops::Range;

use super::backward::{self, AttentionGrads, ForwardResult};
use super::head::Head;
use super::{AttentionInputs, AttentionResults, HeadsMut, forward as answers_to, split_queries};
use crate::{Float, Instances, matrix::MatrixMut, parallel};

/// Fills the output (1, head, position, width) and the `lse` (head, position). Sequence
/// i spans positions `bounds[i]` to `bounds[i + 1]`; bounds increase from 0 to the
/// number of positions.
#[compiled_once]
pub fn forward<T: Float>(
    inputs: &AttentionInputs<'_, T>,
    bounds: &[usize],
    out: HeadsMut<'_, T>,
    lse: &mut [T],
    threads: usize,
) {
    let [_, heads, total, _] = inputs.queries.shape();
    let sharing = (heads * bounds.len().saturating_sub(1), threads);
    let heads = out.matrices.into_iter().zip(lse.chunks_mut(total.max(1)));
    let mut pieces = Vec::new();
    for (number, (out, lse)) in heads.enumerate() {
        let lse = split_slice(lse, bounds);
        for ((range, out), lse) in sequence_ranges(bounds).zip(split(out, bounds)).zip(lse) {
            pieces.extend(split_queries(
                sequence(inputs, number, range),
                out,
                lse,
                sharing,
            ));
        }
    }
    parallel::run_tasks(pieces, threads, |piece| {
        let queries = piece.first..piece.first + piece.lse.len();
        answers_to::compute_output(&piece.head, queries, piece.out, piece.lse);
    });
}

/// Fills the gradients of the queries, keys and values.
#[compiled_once]
pub fn backward<T: Float>(
    inputs: &AttentionInputs<'_, T>,
    bounds: &[usize],
    outputs: &AttentionResults<'_, T>,
    [queries, keys, values]: [HeadsMut<'_, T>; 3],
    threads: usize,
) {
    let total = inputs.queries.shape()[2];
    let heads = queries
        .matrices
        .into_iter()
        .zip(keys.matrices)
        .zip(values.matrices);
    let mut pieces = Vec::new();
    for (number, ((queries, keys), values)) in heads.enumerate() {
        let grads = [queries, keys, values].map(|grad| split(grad, bounds).into_iter());
        let [queries, keys, values] = grads;
        let grads = queries.zip(keys).zip(values);
        pieces.extend(
            sequence_ranges(bounds)
                .zip(grads)
                .map(|(range, grads)| (number, range, grads)),
        );
    }
    parallel::run_tasks(
        pieces,
        threads,
        |(number, range, ((queries, keys), values))| {
            let result = ForwardResult {
                grad: outputs.grad.matrix(0, number).rows(range.clone()),
                out: outputs.out.matrix(0, number).rows(range.clone()),
                lse: &outputs.lse[number * total..][range.clone()],
            };
            let grads = AttentionGrads {
                queries,
                keys,
                values,
            };
            backward::fill_gradients(&sequence(inputs, number, range), result, grads);
        },
    );
}

/// Returns the queries, keys and values of one head of one sequence.
fn sequence<'a, T: Float>(
    inputs: &AttentionInputs<'a, T>,
    number: usize,
    range: Range<usize>,
) -> Head<'a, T> {
    let head = inputs.head(number);
    Head {
        queries: head.queries.rows(range.clone()),
        keys: head.keys.rows(range.clone()),
        values: head.values.rows(range),
        ..head
    }
}

fn sequence_ranges(bounds: &[usize]) -> impl Iterator<Item = Range<usize>> {
    bounds.windows(2).map(|pair| pair[0]..pair[1])
}

/// Splits the rows of an attention head into the rows of each sequence.
fn split<'a, T: Float>(rows: MatrixMut<'a, T>, bounds: &[usize]) -> Vec<MatrixMut<'a, T>> {
    let mut rest = Some(rows);
    let part = |range: Range<usize>| {
        let (part, after) = rest.take()?.split(range.len());
        rest = Some(after);
        Some(part)
    };
    sequence_ranges(bounds).filter_map(part).collect()
}

/// Splits a row of values into the values of each sequence.
fn split_slice<'a, T>(row: &'a mut [T], bounds: &[usize]) -> Vec<&'a mut [T]> {
    let mut rest = row;
    let part = |range: Range<usize>| rest.split_off_mut(..range.len());
    sequence_ranges(bounds).filter_map(part).collect()
}
