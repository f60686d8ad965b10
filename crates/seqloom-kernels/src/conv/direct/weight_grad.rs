//! The gradients of the weights and bias of a convolution.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{Shape, forward::tile_positions, rows::InputRows};
use crate::machine::dispatch;
use crate::tuned::{
    CONV_GRAD_PARTS, CONV_GRAD_REGISTERS, CONV_GRAD_ROWS, CONV_GRAD_TAPS, CONV_GRAD_TILE,
};
use crate::{
    Float,
    lanes::{Lanes, Registers},
    parallel,
};

/// Fills the gradients of the weights (outputs, channels, kernel) and of the bias.
///
/// The samples of the batch are split into parts, and their gradients are added in
/// order. The number of parts does not depend on the number of threads, so the result
/// is bitwise reproducible.
pub(super) fn fill_weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    outs: (&mut [T], Option<&mut [T]>),
    threads: usize,
) {
    let sizes = TileSizes::new(shape, Registers::for_type::<T>().lanes);
    let parts = CONV_GRAD_PARTS.clamp(1, shape.batch.max(1));
    let samples = shape.batch.div_ceil(parts);
    let job = WeightGradJob {
        sizes,
        x,
        grad,
        offsets: &sizes.tap_offsets(),
    };
    T::with_scratch(parts * sizes.sum_count(), |sums| {
        parallel::fill_chunks(sums, sizes.sum_count(), threads, |part, sums| {
            sums.fill(T::ZERO);
            let range = part * samples..shape.batch.min((part + 1) * samples);
            T::with_scratch(sizes.scratch_size(), |scratch| {
                range.for_each(|sample| job.add_sample(sample, scratch, sums));
            });
        });
        sizes.store_gradients(sums, outs);
    });
}

#[derive(Clone, Copy)]
struct TileSizes {
    input: InputRows,
    outputs: usize,
    /// The number of outputs, rounded up to full registers.
    columns: usize,
    /// The number of taps of an output, in all input channels.
    taps: usize,
    /// The height and width of an output channel.
    size: [usize; 2],
    /// The number of positions of a row that are processed together.
    tile: usize,
}

impl TileSizes {
    fn new(shape: &Shape, lanes: usize) -> Self {
        let columns = shape.outputs.next_multiple_of(CONV_GRAD_REGISTERS * lanes);
        let size = shape.out_size().unwrap_or_default();
        let tile = (CONV_GRAD_TILE / columns.max(1)).max(32).min(size[1]);
        Self {
            input: shape.input_rows(),
            outputs: shape.outputs,
            columns,
            taps: shape.taps(),
            size,
            tile,
        }
    }

    /// Returns the number of sums for one part of the batch, which form one row for
    /// each tap and one row for the bias. The number of taps is rounded up to full
    /// blocks.
    fn sum_count(&self) -> usize {
        (self.taps.next_multiple_of(CONV_GRAD_TAPS) + 1) * self.columns
    }

    fn scratch_size(&self) -> usize {
        self.input.scratch_size(self.tile) + self.tile * self.columns
    }

    /// Returns the offset of each tap in scratch memory, padded with zeros to full
    /// blocks of taps.
    fn tap_offsets(&self) -> Vec<usize> {
        let mut offsets: Vec<usize> = self.input.tap_offsets(self.tile).collect();
        offsets.resize(self.taps.next_multiple_of(CONV_GRAD_TAPS), 0);
        offsets
    }

    /// Transposes the output gradient at the positions from `first`, from shape
    /// (outputs, all positions) to (positions, columns).
    fn transpose<T: Float>(&self, grad: &[T], first: usize, transposed: &mut [T]) {
        let plane = self.size[0] * self.size[1];
        for (number, rows) in grad.chunks(plane * CONV_GRAD_ROWS).enumerate() {
            let column = number * CONV_GRAD_ROWS;
            for (position, out) in (first..).zip(transposed.chunks_exact_mut(self.columns)) {
                let values = rows[position..].iter().step_by(plane);
                out[column..]
                    .iter_mut()
                    .zip(values)
                    .for_each(|(out, &value)| *out = value);
            }
        }
        for out in transposed.chunks_exact_mut(self.columns) {
            out[self.outputs..].fill(T::ZERO);
        }
    }

    /// Sums the gradients of all parts of the batch, and transposes the sum from shape
    /// (taps, columns) to (outputs, taps).
    fn store_gradients<T: Float>(&self, sums: &mut [T], (out, bias): (&mut [T], Option<&mut [T]>)) {
        let (total, parts) = sums.split_at_mut(self.sum_count());
        for part in parts.chunks_exact(self.sum_count()) {
            total
                .iter_mut()
                .zip(part)
                .for_each(|(total, &part)| *total += part);
        }
        let (taps, sum) = total.split_at(self.sum_count() - self.columns);
        for (output, row) in out.chunks_exact_mut(self.taps.max(1)).enumerate() {
            let column = taps[output..].iter().step_by(self.columns);
            row.iter_mut()
                .zip(column)
                .for_each(|(out, &value)| *out = value);
        }
        if let Some(bias) = bias {
            bias.copy_from_slice(&sum[..self.outputs]);
        }
    }
}

/// The inputs of the weight gradient, and the sizes of their tiles.
struct WeightGradJob<'a, T> {
    sizes: TileSizes,
    x: &'a [T],
    grad: &'a [T],
    offsets: &'a [usize],
}

impl<T: Float> WeightGradJob<'_, T> {
    fn add_sample(&self, sample: usize, scratch: &mut [T], sums: &mut [T]) {
        let TileSizes {
            input,
            outputs,
            columns,
            size: [height, width],
            tile,
            ..
        } = self.sizes;
        let x = &self.x[sample * input.sample_size()..][..input.sample_size()];
        let size = outputs * height * width;
        let grad = &self.grad[sample * size..][..size];
        let (rows, transposed) = scratch.split_at_mut(input.scratch_size(tile));
        for [line, first] in tile_positions([height, width], tile) {
            input.copy_windows(x, [line, first], tile, rows);
            let transposed = &mut transposed[..tile.min(width - first) * columns];
            self.sizes.transpose(grad, line * width + first, transposed);
            add_tile(GradTile {
                job: self,
                rows,
                transposed,
                sums: &mut *sums,
            });
        }
    }
}

/// The input rows and the transposed gradient of a tile, and the sums of their
/// products.
struct GradTile<'a, T> {
    job: &'a WeightGradJob<'a, T>,
    rows: &'a [T],
    transposed: &'a [T],
    sums: &'a mut [T],
}

#[vectorized]
fn add_tile<S: Simd, T: Float>(simd: S, tile: GradTile<'_, T>) {
    let WeightGradJob { sizes, offsets, .. } = *tile.job;
    let columns = sizes.columns;
    let (taps, bias) = tile.sums.split_at_mut(sizes.sum_count() - columns);
    let (offsets, _) = offsets.as_chunks::<{ CONV_GRAD_TAPS }>();
    let taps = taps.chunks_exact_mut(CONV_GRAD_TAPS * columns);
    for (offsets, sums) in offsets.iter().zip(taps) {
        for column in (0..columns).step_by(CONV_GRAD_REGISTERS * Lanes::<S, T>::COUNT) {
            let inputs = offsets.map(|offset| &tile.rows[offset..]);
            let found = tile_products(simd, inputs, &tile.transposed[column..], columns);
            add_products(simd, found, columns, &mut sums[column..]);
        }
    }
    for row in tile.transposed.chunks_exact(columns) {
        let pairs = bias.iter_mut().zip(row);
        pairs.for_each(|(bias, &value)| *bias += value);
    }
}

/// Returns the sums of the products of six taps with two registers of output gradients,
/// over the positions of the tile.
#[inline(always)]
fn tile_products<S: Simd, T: Float>(
    simd: S,
    inputs: [&[T]; CONV_GRAD_TAPS],
    transposed: &[T],
    columns: usize,
) -> [[Lanes<S, T>; CONV_GRAD_REGISTERS]; CONV_GRAD_TAPS] {
    let positions = transposed.len().div_ceil(columns);
    let inputs = inputs.map(|input| &input[..positions]);
    let mut sums = [[Lanes::splat(simd, T::ZERO); CONV_GRAD_REGISTERS]; CONV_GRAD_TAPS];
    for (position, grads) in transposed.chunks(columns).enumerate() {
        let (grads, _) = T::split::<S>(&grads[..CONV_GRAD_REGISTERS * Lanes::<S, T>::COUNT]);
        let grads = [Lanes::new(simd, grads[0]), Lanes::new(simd, grads[1])];
        for (sums, input) in sums.iter_mut().zip(inputs) {
            let x = Lanes::splat(simd, input[position]);
            for (sum, grad) in sums.iter_mut().zip(grads) {
                *sum = x.mul_add(grad, *sum);
            }
        }
    }
    sums
}

#[inline(always)]
fn add_products<S: Simd, T: Float>(
    simd: S,
    found: [[Lanes<S, T>; CONV_GRAD_REGISTERS]; CONV_GRAD_TAPS],
    columns: usize,
    sums: &mut [T],
) {
    for (found, sums) in found.into_iter().zip(sums.chunks_mut(columns)) {
        let (sums, _) = T::split_mut::<S>(sums);
        for (found, sum) in found.into_iter().zip(sums) {
            *sum = (found + Lanes::new(simd, *sum)).vector;
        }
    }
}
