//! Attention (Vaswani and others, 2017): the average of the values, weighted by the
//! softmax of query-key products.
//!
//! A thread computes a block of queries of one head. The thread processes one block of
//! keys after the other, so that the scores remain in its cache (Dao and others, 2022).
//! The forward pass stores the logarithm of the sum of exponentials (`lse`) of each
//! query, and the backward pass recomputes the weights from `lse`. Masked keys have
//! weight 0; the output of a query whose keys are all masked is 0.

mod backward;
mod forward;
mod fused;
mod group;
mod head;
mod heads;
mod mask;
#[cfg(test)]
mod tests;
pub mod varlen;

use crate::matrix::MatrixMut;
use crate::{Float, Instances, parallel};
use backward::{AttentionGrads, ForwardResult};
use head::{Head, queries_per_block};
use seqloom_macros::compiled_once;

pub use head::AttentionRule;
pub use heads::{Heads, HeadsMut};
pub use mask::{AttentionMask, BroadcastArray};

/// The inputs of attention. The batch size and the number of heads are determined by
/// the queries.
#[derive(Clone, Copy, Debug)]
pub struct AttentionInputs<'a, T> {
    /// The queries, of shape `(batch, head, query, head_size)`.
    pub queries: Heads<'a, T>,
    /// The keys, of shape `(batch, head, key, head_size)`.
    pub keys: Heads<'a, T>,
    /// The values, of shape `(batch, head, key, width)`.
    pub values: Heads<'a, T>,
    /// The attention mask, if any.
    pub mask: Option<AttentionMask<'a, T>>,
    /// The scale, causality and dropout that determine the attention weights.
    pub rule: AttentionRule<T>,
}

impl<'a, T: Float> AttentionInputs<'a, T> {
    /// Returns the attention head with this index in the batch.
    fn head(&self, number: usize) -> Head<'a, T> {
        let [_, heads, queries, _] = self.queries.shape();
        let keys = self.keys.shape()[2];
        let (batch, head) = (number / heads, number % heads);
        Head {
            queries: self.queries.matrix(batch, head),
            keys: self.keys.matrix(batch, head),
            values: self.values.matrix(batch, head),
            mask: self.mask,
            rule: self.rule,
            position: [batch, head],
            start: number as u64 * queries as u64 * keys as u64,
        }
    }
}

/// Fills the output `(batch, head, query, width)` and the `lse` `(batch, head, query)`.
#[compiled_once]
pub fn forward<T: Float>(
    inputs: &AttentionInputs<'_, T>,
    out: HeadsMut<'_, T>,
    lse: &mut [T],
    threads: usize,
) {
    let [batch, heads, queries, _] = inputs.queries.shape();
    let sharing = (batch * heads, threads);
    let heads = out.matrices.into_iter().zip(lse.chunks_mut(queries.max(1)));
    let pieces = heads.enumerate();
    let pieces = pieces
        .flat_map(|(number, (out, lse))| split_queries(inputs.head(number), out, lse, sharing));
    parallel::run_tasks(
        pieces.collect(),
        threads,
        |QueryBlock {
             head,
             first,
             out,
             lse,
         }| {
            forward::compute_output(&head, first..first + lse.len(), out, lse);
        },
    );
}

/// A block of queries of an attention head, and the memory for their output.
struct QueryBlock<'a, 'b, T> {
    head: Head<'a, T>,
    first: usize,
    out: MatrixMut<'b, T>,
    lse: &'b mut [T],
}

/// Splits the queries of an attention head into blocks. The number of blocks depends on
/// the number of heads and threads.
fn split_queries<'a, 'b, T: Float>(
    head: Head<'a, T>,
    out: MatrixMut<'b, T>,
    lse: &'b mut [T],
    (heads, threads): (usize, usize),
) -> Vec<QueryBlock<'a, 'b, T>> {
    let step = if fused::is_supported(&head) {
        fused::queries_per_block(heads, threads)
    } else {
        queries_per_block::<T>(head.keys.rows)
    };
    let mut rest = Some(out);
    let block = |(number, lse): (usize, &'b mut [T])| {
        let (out, after) = rest.take()?.split(lse.len());
        rest = Some(after);
        let first = number * step;
        Some(QueryBlock {
            head,
            first,
            out,
            lse,
        })
    };
    lse.chunks_mut(step).enumerate().filter_map(block).collect()
}

/// The output of the attention forward pass, and the gradient of this output.
#[derive(Clone, Copy, Debug)]
pub struct AttentionResults<'a, T> {
    /// The gradient of the output.
    pub grad: Heads<'a, T>,
    /// The output.
    pub out: Heads<'a, T>,
    /// The logarithm of the sum of exponentials of each query (`lse`).
    pub lse: &'a [T],
}

/// Fills the gradients of the queries, keys and values.
#[compiled_once]
pub fn backward<T: Float>(
    inputs: &AttentionInputs<'_, T>,
    outputs: &AttentionResults<'_, T>,
    [queries, keys, values]: [HeadsMut<'_, T>; 3],
    threads: usize,
) {
    let [_, heads, count, _] = inputs.queries.shape();
    let grads = queries
        .matrices
        .into_iter()
        .zip(keys.matrices)
        .zip(values.matrices);
    let pieces = grads.enumerate().collect();
    parallel::run_tasks(pieces, threads, |(number, ((queries, keys), values))| {
        let (batch, head) = (number / heads, number % heads);
        let result = ForwardResult {
            grad: outputs.grad.matrix(batch, head),
            out: outputs.out.matrix(batch, head),
            lse: &outputs.lse[number * count..][..count],
        };
        let grads = AttentionGrads {
            queries,
            keys,
            values,
        };
        backward::fill_gradients(&inputs.head(number), result, grads);
    });
}
