//! The forward pass of convolution.

use super::{Shape, direct, windows::WindowRows};
use crate::product::{Matrix, PanelSizes, Panels, Tile, TileReader, for_each_tile, pack_right};
use crate::{Float, Instances, parallel, tuned};
use seqloom_macros::compiled_once;

/// Fills `out` (batch, outputs, positions) with the convolution of `x` (batch,
/// channels, positions) with the weights (outputs, channels of a group, taps), plus the
/// bias.
#[compiled_once]
pub fn forward<T: Float>(
    shape: &Shape,
    (x, weight): (&[T], &[T]),
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    if direct::is_faster(shape, shape.taps()) || direct::is_faster_for_rows(shape, shape.outputs) {
        return direct::forward(shape, (x, weight), bias, out, threads);
    }
    let size = shape.outputs * shape.positions();
    if out.is_empty() {
        return;
    }
    let (rows, taps) = (shape.group_outputs(), shape.taps());
    let filter = |group: usize| Matrix {
        values: &weight[group * rows * taps..][..rows * taps],
        lines: rows,
        k: taps,
        line_step: taps,
        k_step: 1,
    };
    Panels::pack_matrices(shape.groups, filter, threads, |filters| {
        let samples_per_block = shape.samples_per_block();
        parallel::fill_chunks(out, samples_per_block * size, threads, |number, out| {
            for (group, filter) in filters.iter().enumerate() {
                let samples = ConvSamples {
                    shape,
                    group,
                    first: number * samples_per_block,
                    x,
                    bias,
                };
                samples.fill_output(filter, out);
            }
        });
    });
}

/// Some samples of a batch, and one group of channels.
struct ConvSamples<'a, T> {
    shape: &'a Shape,
    group: usize,
    first: usize,
    x: &'a [T],
    bias: Option<&'a [T]>,
}

impl<T: Float> ConvSamples<'_, T> {
    fn fill_output(&self, filter: &Panels<'_, T>, out: &mut [T]) {
        let positions = self.shape.positions();
        let count = out.len() / self.shape.outputs;
        for start in (0..count).step_by(tuned::CONV_STRIP_WINDOWS) {
            let windows = WindowRows {
                image: self.shape.input_image(self.x, self.group),
                first: self.first * positions + start,
                count: tuned::CONV_STRIP_WINDOWS.min(count - start),
            };
            self.fill_windows(filter, &windows, start, out);
        }
    }

    fn fill_windows(
        &self,
        filter: &Panels<'_, T>,
        windows: &WindowRows<'_, T>,
        start: usize,
        out: &mut [T],
    ) {
        let panels = PanelSizes::for_type::<T>();
        for (k, left) in filter.blocks() {
            pack_right(&panels, windows, k.clone(), |right| {
                let rows = ConvRows {
                    outputs: self.shape.outputs,
                    positions: self.shape.positions(),
                    channels: filter.rows(),
                    first_channel: self.group * filter.rows(),
                    start,
                    count: windows.count,
                    bias: self.bias.filter(|_| k.start == 0),
                    is_first: k.start == 0,
                    out: &mut *out,
                };
                for_each_tile(k.len(), left, right, rows);
            });
        }
    }
}

/// The output rows to which tiles of the product are added. The first tile also adds
/// the bias.
struct ConvRows<'a, T> {
    /// The number of channels of a sample.
    outputs: usize,
    /// The number of positions of a channel.
    positions: usize,
    /// The number of channels of the group, and the index of the first.
    channels: usize,
    first_channel: usize,
    /// The index of the first of the `count` windows.
    start: usize,
    count: usize,
    bias: Option<&'a [T]>,
    is_first: bool,
    out: &'a mut [T],
}

impl<T: Float> TileReader<T> for ConvRows<'_, T> {
    #[inline(always)]
    fn read_tile(&mut self, tile: Tile<'_, T>) {
        let positions = self.positions;
        let rows = self.channels - tile.row;
        let columns = tile.width.min(self.count - tile.column);
        let mut done = 0;
        while done < columns {
            let column = self.start + tile.column + done;
            let (sample, position) = (column / positions, column % positions);
            let count = (columns - done).min(positions - position);
            let row = sample * self.outputs + self.first_channel + tile.row;
            for (number, sums) in tile.sums.chunks_exact(tile.width).take(rows).enumerate() {
                let sums = &sums[done..][..count];
                let out = &mut self.out[(row + number) * positions + position..][..count];
                let bias = self
                    .bias
                    .map_or(T::ZERO, |bias| bias[self.first_channel + tile.row + number]);
                if self.is_first {
                    out.iter_mut()
                        .zip(sums)
                        .for_each(|(out, &sum)| *out = sum + bias);
                } else {
                    out.iter_mut().zip(sums).for_each(|(out, &sum)| *out += sum);
                }
            }
            done += count;
        }
    }
}
