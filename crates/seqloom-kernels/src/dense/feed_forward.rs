//! The feed-forward block of a transformer.

use std::ops::Range;

use seqloom_macros::compiled_once;

use super::{LinearLayer, fill_with_bias, for_each_band, row_matrix};
use crate::matrix::MatrixMut;
use crate::norm::{self, NormRule};
use crate::product::{Epilogue, Matrix, Panels, Side, k_blocks};
use crate::{Float, Instances, activation};

/// The feed-forward block of a transformer: the input plus the output of layer norm, a
/// linear layer, gelu and a second linear layer.
///
/// The hidden values of a band of rows are computed in parts that fit in the cache.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward<'a, T> {
    /// The layer norm.
    pub norm: NormRule<'a, T>,
    /// The linear layer that computes the hidden values.
    pub inner: LinearLayer<'a, T>,
    /// The linear layer that computes the output from the hidden values.
    pub outer: LinearLayer<'a, T>,
}

#[compiled_once]
fn apply_layers<T: Float>(layers: &FeedForward<'_, T>, x: &[T], out: &mut [T], threads: usize) {
    layers.fill_bands(x, out, threads);
}

impl<T: Float> FeedForward<'_, T> {
    /// Fills `out` with the outputs for the rows of `x`.
    pub fn apply(&self, x: &[T], out: &mut [T], threads: usize) {
        apply_layers(self, x, out, threads);
    }

    fn fill_bands(&self, x: &[T], out: &mut [T], threads: usize) {
        let width = self.inner.inputs;
        T::with_scratch(
            self.hidden_ranges()
                .map(|part| self.packed_size(&part))
                .sum(),
            |packed| {
                let parts = self.pack_weights(packed, threads);
                let longest = parts.iter().map(|part| part.hidden.len()).max();
                let longest = longest.unwrap_or(0);
                for_each_band(out, width, 2 * (width + longest), threads, |first, out| {
                    let x = &x[first * width..][..out.len()];
                    self.fill_band(&parts, longest, x, out);
                });
            },
        );
    }

    /// Returns the ranges of hidden values that are computed together. Each range is a
    /// block of the axis over which the second layer sums.
    fn hidden_ranges(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        k_blocks(self.outer.inputs)
    }

    /// Returns the weights of both layers for a range of hidden values.
    fn weights(&self, hidden: &Range<usize>) -> [Matrix<'_, T>; 2] {
        [
            self.inner.weights(hidden.clone(), 0..self.inner.inputs),
            self.outer.weights(0..self.outer.outputs(), hidden.clone()),
        ]
    }

    /// Returns the number of packed weights of both layers for a range of hidden
    /// values.
    fn packed_size(&self, hidden: &Range<usize>) -> usize {
        let sizes = self
            .weights(hidden)
            .map(|lines| Side::Right.packed_size(&lines));
        sizes.into_iter().sum()
    }

    /// Packs the weights of both layers for each range of hidden values.
    fn pack_weights<'p>(&self, packed: &'p mut [T], threads: usize) -> Vec<HiddenPart<'p, T>> {
        let mut rest = packed;
        let mut factor = |lines: Matrix<'_, T>| {
            let (packed, after) =
                std::mem::take(&mut rest).split_at_mut(Side::Right.packed_size(&lines));
            rest = after;
            Panels::pack_into(Side::Right, &lines, packed, threads)
        };
        let part = |hidden: Range<usize>| {
            let [inner, outer] = self.weights(&hidden).map(&mut factor);
            HiddenPart {
                hidden,
                inner,
                outer,
            }
        };
        self.hidden_ranges().map(part).collect()
    }

    /// Computes the output of a band of rows, one range of hidden values at a time.
    /// `longest` is the length of the longest range.
    fn fill_band(&self, parts: &[HiddenPart<'_, T>], longest: usize, x: &[T], out: &mut [T]) {
        let (width, bias) = (self.inner.inputs, self.inner.bias);
        let count = x.len() / width;
        fill_with_bias(x, self.outer.bias, out);
        self.with_normalised_rows(x, |normal| {
            T::with_scratch(count * longest, |hidden| {
                for part in parts {
                    let hidden = &mut hidden[..count * part.hidden.len()];
                    let bias = bias.map(|bias| &bias[part.hidden.clone()]);
                    part.add_output(
                        normal,
                        bias,
                        hidden,
                        MatrixMut::new(out, count, width, width),
                    );
                }
            });
        });
    }

    /// Normalises rows, and calls `work` with the normalised rows as a left matrix.
    fn with_normalised_rows(&self, x: &[T], work: impl FnOnce(&Panels<'_, T>)) {
        let width = self.inner.inputs;
        let count = x.len() / width;
        T::with_scratch(x.len() + 2 * count, |scratch| {
            let (normal, rest) = scratch.split_at_mut(x.len());
            let (means, inverses) = rest.split_at_mut(count);
            norm::normalise(self.norm, x, [normal, means, inverses], 1);
            Panels::pack(Side::Left, &row_matrix(normal, width), work);
        });
    }
}

/// A range of hidden values, and the packed weights of both layers for this range.
struct HiddenPart<'a, T> {
    hidden: Range<usize>,
    inner: Panels<'a, T>,
    outer: Panels<'a, T>,
}

impl<T: Float> HiddenPart<'_, T> {
    /// Adds the contribution of this range of hidden values to the output.
    fn add_output(
        &self,
        normal: &Panels<'_, T>,
        bias: Option<&[T]>,
        hidden: &mut [T],
        out: MatrixMut<'_, T>,
    ) {
        let (count, width) = (out.rows_count(), self.hidden.len());
        let epilogue = Epilogue::with_bias(bias);
        let made = MatrixMut::new(hidden, count, width, width);
        self.inner.multiply_packed(normal, made, epilogue);
        activation::apply_gelu(hidden);
        let epilogue = Epilogue {
            adds: true,
            ..Epilogue::new()
        };
        self.outer
            .multiply(&row_matrix(hidden, width), out, epilogue);
    }
}
