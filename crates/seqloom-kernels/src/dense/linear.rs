//! A linear layer, with packed weights.

use super::{LinearLayer, fill_with_bias, for_each_band, row_matrix};
use crate::matrix::MatrixMut;
use crate::product::{Epilogue, Panels, Side};
use crate::{Float, Instances};
use seqloom_macros::compiled_once;

/// Fills `out` with the outputs of the linear layer for the rows of `x`, plus the
/// residual if there is one.
#[compiled_once]
pub fn linear<T: Float>(
    layer: LinearLayer<'_, T>,
    x: &[T],
    residual: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    run_bands(layer, x, out, threads, |mut band| {
        let Some(residual) = residual else {
            return band.fill();
        };
        let first = band.first * layer.outputs();
        band.fill_with_residual(&residual[first..][..band.out.len()]);
    });
}

/// A band of input rows, and the memory for their outputs.
pub(super) struct Band<'a, 'b, T> {
    layer: LinearLayer<'a, T>,
    weight: &'a Panels<'a, T>,
    /// The index of the first row.
    pub(super) first: usize,
    x: &'a [T],
    pub(super) out: &'b mut [T],
}

impl<T: Float> Band<'_, '_, T> {
    /// Fills the outputs of the layer.
    pub(super) fn fill(&mut self) {
        self.multiply(Epilogue::with_bias(self.layer.bias));
    }

    /// Fills `out` with the outputs of the layer plus the residuals.
    fn fill_with_residual(&mut self, residual: &[T]) {
        fill_with_bias(residual, self.layer.bias, self.out);
        self.multiply(Epilogue {
            adds: true,
            ..Epilogue::new()
        });
    }

    fn multiply(&mut self, epilogue: Epilogue<'_, T>) {
        let outputs = self.layer.outputs();
        let count = self.out.len() / outputs;
        let out = MatrixMut::new(&mut *self.out, count, outputs, outputs);
        self.weight
            .multiply(&row_matrix(self.x, self.layer.inputs), out, epilogue);
    }
}

/// Packs the weights of the layer and calls `work` for each band of rows.
pub(super) fn run_bands<T: Float>(
    layer: LinearLayer<'_, T>,
    x: &[T],
    out: &mut [T],
    threads: usize,
    work: impl Fn(Band<'_, '_, T>) + Sync,
) {
    let (inputs, outputs) = (layer.inputs, layer.outputs());
    let lines = layer.all_weights();
    T::with_scratch(Side::Right.packed_size(&lines), |packed| {
        let weight = &Panels::pack_into(Side::Right, &lines, packed, threads);
        for_each_band(out, outputs, inputs + outputs, threads, |first, out| {
            work(Band {
                layer,
                weight,
                first,
                x: &x[first * inputs..][..out.len() / outputs * inputs],
                out,
            });
        });
    });
}
