//! The gradient of the input of a convolution.

use super::image::{Image, Tap};
use super::{Shape, direct, windows::WindowRows};
use crate::product::{Matrix, PanelSizes, Panels, Tile, TileReader, for_each_tile, pack_right};
use crate::{Float, Instances, parallel, tuned};
use seqloom_macros::compiled_once;

/// Fills `out`, of the shape of x, with the gradient of the input.
#[compiled_once]
pub fn input_grad<T: Float>(
    shape: &Shape,
    grad: &[T],
    weight: &[T],
    out: &mut [T],
    threads: usize,
) {
    let window = shape.kernel[0] * shape.kernel[1];
    if direct::is_faster(shape, shape.outputs * window)
        || direct::is_faster_for_rows(shape, shape.channels)
    {
        return direct::input_grad(shape, grad, weight, out, threads);
    }
    let size = shape.channels * shape.plane_size();
    let (outputs, taps) = (shape.group_outputs(), shape.taps());
    if out.is_empty() || outputs == 0 {
        return out.fill(T::ZERO);
    }
    let filter = |group: usize| Matrix {
        values: &weight[group * outputs * taps..][..outputs * taps],
        lines: taps,
        k: outputs,
        line_step: 1,
        k_step: taps,
    };
    Panels::pack_matrices(shape.groups, filter, threads, |filters| {
        let samples_per_block = shape.samples_per_block();
        parallel::fill_chunks(out, samples_per_block * size, threads, |number, out| {
            out.fill(T::ZERO);
            for (group, filter) in filters.iter().enumerate() {
                let first = number * samples_per_block;
                let samples = GradSamples {
                    shape,
                    group,
                    first,
                    grad,
                };
                samples.fill_output(filter, out);
            }
        });
    });
}

/// Some samples of a batch, and one group of channels.
struct GradSamples<'a, T> {
    shape: &'a Shape,
    group: usize,
    first: usize,
    grad: &'a [T],
}

impl<T: Float> GradSamples<'_, T> {
    fn fill_output(&self, filter: &Panels<'_, T>, out: &mut [T]) {
        let positions = self.shape.positions();
        let image = self.shape.input_image::<T>(&[], self.group);
        let taps: Vec<Tap> = image.remaining_taps(0).take(self.shape.taps()).collect();
        let count = out.len() / (self.shape.channels * self.shape.plane_size()) * positions;
        for start in (0..count).step_by(tuned::CONV_BLOCK_WINDOWS) {
            let windows = WindowRows {
                image: self.shape.output_image(self.grad, self.group),
                first: self.first * positions + start,
                count: tuned::CONV_BLOCK_WINDOWS.min(count - start),
            };
            for (k, left) in filter.blocks() {
                pack_right(&PanelSizes::for_type::<T>(), &windows, k.clone(), |right| {
                    let count = windows.count;
                    let take = WindowGrads {
                        image,
                        taps: &taps,
                        start,
                        count,
                        out: &mut *out,
                    };
                    for_each_tile(k.len(), left, right, take);
                });
            }
        }
    }
}

/// The samples to which the gradients of the windows are added.
struct WindowGrads<'a, T> {
    image: Image<'a, T>,
    taps: &'a [Tap],
    /// The index of the first of the `count` windows.
    start: usize,
    count: usize,
    out: &'a mut [T],
}

impl<T: Float> TileReader<T> for WindowGrads<'_, T> {
    #[inline(always)]
    fn read_tile(&mut self, tile: Tile<'_, T>) {
        let columns = tile.width.min(self.count - tile.column);
        let stride = self.image.stride[1];
        for run in self.image.window_runs(self.start + tile.column, columns) {
            let rows = tile.sums.chunks_exact(tile.width);
            for (sums, &tap) in rows.zip(&self.taps[tile.row..]) {
                let Some(visible) = self.image.visible_windows(run, tap) else {
                    continue;
                };
                let sums = &sums[run.first + visible.before..][..visible.count];
                add_strided(sums, stride, &mut self.out[visible.from..]);
            }
        }
    }
}

#[inline(always)]
fn add_strided<T: Float>(sums: &[T], stride: usize, out: &mut [T]) {
    if stride == 1 {
        out.iter_mut().zip(sums).for_each(|(out, &sum)| *out += sum);
    } else {
        let out = out.iter_mut().step_by(stride);
        out.zip(sums).for_each(|(out, &sum)| *out += sum);
    }
}
