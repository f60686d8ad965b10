//! The feed-forward block of a transformer, with int8 weights.

use super::Int8Layer;
use super::epilogue::Int8Epilogue;
use super::linear::multiply_band;
use super::pack::PackedWeights;
use super::tile::Int8Tile;
use crate::Float;
use crate::dense::for_each_band;
use crate::norm::{self, NormRule};

/// The feed-forward block of a transformer: the input plus the output of layer norm, a
/// linear layer, gelu and a second linear layer. The hidden values of a band of rows
/// remain in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Int8FeedForward<'a> {
    /// The layer norm.
    pub norm: NormRule<'a, f32>,
    /// The linear layer that computes the hidden values.
    pub inner: Int8Layer<'a>,
    /// The linear layer that computes the output from the hidden values.
    pub outer: Int8Layer<'a>,
}

impl Int8FeedForward<'_> {
    /// Fills `out` with the outputs for the rows of `x`.
    pub fn apply(&self, x: &[f32], out: &mut [f32], threads: usize) {
        let (width, tile) = (self.inner.factors.len(), Int8Tile::current());
        let kept = 2 * width + self.outer.factors.len();
        PackedWeights::pack(tile, self.inner, threads, |inner| {
            PackedWeights::pack(tile, self.outer, threads, |outer| {
                for_each_band(out, width, kept, threads, |first, out| {
                    let x = &x[first * width..][..out.len()];
                    self.fill_band([inner, outer], x, out);
                });
            });
        });
    }

    /// Computes a band of rows through both layers.
    fn fill_band(&self, [inner, outer]: [&PackedWeights<'_>; 2], x: &[f32], out: &mut [f32]) {
        let rows = x.len() / inner.inputs;
        f32::with_scratch(x.len() + rows * (2 + outer.inputs), |scratch| {
            let (normal, rest) = scratch.split_at_mut(x.len());
            let (hidden, rest) = rest.split_at_mut(rows * outer.inputs);
            let (means, inverses) = rest.split_at_mut(rows);
            norm::normalise(self.norm, x, [normal, means, inverses], 1);
            let bends = Int8Epilogue {
                gelu: true,
                added: None,
            };
            multiply_band(inner, normal, bends, hidden);
            let adds = Int8Epilogue {
                gelu: false,
                added: Some(x),
            };
            multiply_band(outer, hidden, adds, out);
        });
    }
}
