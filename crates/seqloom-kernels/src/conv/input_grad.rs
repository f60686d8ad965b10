//! The gradient of the input of a convolution.

use super::image::{Image, Tap};
use super::{Shape, direct, windows::ByWindow};
use crate::product::{Matrix, Packed, Panels, Tile, TileReader, pack_right, tiles};
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
    let size = shape.channels * shape.plane();
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
    Packed::pack_each(shape.groups, filter, threads, |filters| {
        let samples_per_block = shape.samples_per_block();
        parallel::chunks(out, samples_per_block * size, threads, |number, out| {
            out.fill(T::ZERO);
            for (group, filter) in filters.iter().enumerate() {
                let first = number * samples_per_block;
                let samples = GradSamples {
                    shape,
                    group,
                    first,
                    grad,
                };
                samples.fill(filter, out);
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
    fn fill(&self, filter: &Packed<'_, T>, out: &mut [T]) {
        let positions = self.shape.positions();
        let image = self.shape.input::<T>(&[], self.group);
        let taps: Vec<Tap> = image.taps_from(0).take(self.shape.taps()).collect();
        let count = out.len() / (self.shape.channels * self.shape.plane()) * positions;
        for start in (0..count).step_by(tuned::CONV_BLOCK_WINDOWS) {
            let windows = ByWindow {
                image: self.shape.output(self.grad, self.group),
                first: self.first * positions + start,
                count: tuned::CONV_BLOCK_WINDOWS.min(count - start),
            };
            for (k, left) in filter.blocks() {
                pack_right(&Panels::for_type::<T>(), &windows, k.clone(), |right| {
                    let count = windows.count;
                    let take = WindowGrads {
                        image,
                        taps: &taps,
                        start,
                        count,
                        out: &mut *out,
                    };
                    tiles(k.len(), left, right, take);
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
    fn read(&mut self, tile: Tile<'_, T>) {
        let columns = tile.width.min(self.count - tile.column);
        let stride = self.image.stride[1];
        for run in self.image.runs(self.start + tile.column, columns) {
            let rows = tile.sums.chunks_exact(tile.width);
            for (sums, &tap) in rows.zip(&self.taps[tile.row..]) {
                let Some(visible) = self.image.visible(run, tap) else {
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
