//! The windows of an image as the rows or columns of a matrix.

use std::ops::Range;

use seqloom_macros::vectorized;

use super::image::{Image, Tap, VisibleWindows, WindowRun};
use crate::machine::dispatch;
use crate::product::{Lines, transpose};
use crate::{Float, tuned};

/// The matrix with one row per window, starting with window `first`. The matrix product
/// sums over the taps.
pub(super) struct WindowRows<'a, T> {
    pub(super) image: Image<'a, T>,
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<T: Float> Lines<T> for WindowRows<'_, T> {
    fn line_count(&self) -> usize {
        self.count
    }

    fn k(&self) -> usize {
        self.image.tap_count()
    }

    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]) {
        let width = out.len() / k.len().max(1);
        pack_windows(WindowPanel {
            image: self.image,
            first: self.first + first,
            count: width.min(self.count.saturating_sub(first)),
            k,
            width,
            out,
        });
    }
}

/// A run of windows to pack, and the output memory with a row of `width` values for
/// each tap.
struct WindowPanel<'a, 'b, T> {
    image: Image<'a, T>,
    first: usize,
    count: usize,
    k: Range<usize>,
    width: usize,
    out: &'b mut [T],
}

#[vectorized]
fn pack_windows<T: Float>(panel: WindowPanel<'_, '_, T>) {
    // The panel widths of all instruction sets, as constants for the compiler.
    match panel.width {
        4 => panel.pack::<4>(),
        8 => panel.pack::<8>(),
        16 => panel.pack::<16>(),
        24 => panel.pack::<24>(),
        32 => panel.pack::<32>(),
        48 => panel.pack::<48>(),
        _ => panel.pack::<1>(),
    }
}

impl<T: Float> WindowPanel<'_, '_, T> {
    #[inline(always)]
    fn pack<const WIDTH: usize>(mut self) {
        if self.count < self.width {
            self.out.fill(T::ZERO);
        }
        for run in self.image.window_runs(self.first, self.count) {
            let taps = self.image.remaining_taps(self.k.start);
            let steps = self.image.kernel[0] * self.image.kernel[1];
            for (number, tap) in taps.take(steps.min(self.k.len())).enumerate() {
                self.pack_tap::<WIDTH>(run, tap, (number, steps));
            }
        }
    }

    /// Packs one tap in all channels for a run of windows. The windows that overlap the
    /// padding are the same in each channel. `rows` contains the offset of the first
    /// row and the distance between rows.
    #[inline(always)]
    fn pack_tap<const WIDTH: usize>(&mut self, run: WindowRun, tap: Tap, rows: (usize, usize)) {
        let (first, steps) = rows;
        let rows = self.out[first * self.width..].chunks_mut(self.width);
        let rows = rows.step_by(steps);
        let Some(visible) = self.image.visible_windows(run, tap) else {
            return rows.for_each(|row| row[run.first..][..run.count].fill(T::ZERO));
        };
        let plane = self.image.size[0] * self.image.size[1];
        let is_whole = WIDTH > 1 && visible.count == WIDTH && self.image.stride[1] == 1;
        for (channel, row) in rows.enumerate() {
            let values = &self.image.values[visible.from + channel * plane..];
            match (row.first_chunk_mut::<WIDTH>(), values.first_chunk()) {
                (Some(row), Some(values)) if is_whole => *row = *values,
                _ => self
                    .image
                    .copy_tap(run, visible, values, &mut row[run.first..]),
            }
        }
    }
}

impl<T: Float> Image<'_, T> {
    /// Copies the values that a tap reads for a run of windows. `values` begins with
    /// the first value to copy.
    #[inline(always)]
    fn copy_tap(&self, run: WindowRun, visible: VisibleWindows, values: &[T], out: &mut [T]) {
        let (before, out) = out[..run.count].split_at_mut(visible.before);
        let (out, after) = out.split_at_mut(visible.count);
        before.fill(T::ZERO);
        after.fill(T::ZERO);
        if self.stride[1] == 1 {
            let values = &values[..visible.count];
            out.iter_mut()
                .zip(values)
                .for_each(|(out, &value)| *out = value);
        } else {
            let values = values.iter().step_by(self.stride[1]);
            out.iter_mut()
                .zip(values)
                .for_each(|(out, &value)| *out = value);
        }
    }
}

/// The matrix with one row per tap. The matrix product sums over the windows of all
/// samples.
pub(super) struct TapRows<'a, T> {
    pub(super) image: Image<'a, T>,
    pub(super) samples: usize,
}

impl<T: Float> Lines<T> for TapRows<'_, T> {
    fn line_count(&self) -> usize {
        self.image.tap_count()
    }

    fn k(&self) -> usize {
        self.samples * self.image.window_count()
    }

    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]) {
        let width = out.len() / k.len().max(1);
        let count = width.min(self.line_count().saturating_sub(first));
        let taps: Vec<Tap> = self.image.remaining_taps(first).take(count).collect();
        if count < width {
            out.fill(T::ZERO);
        }
        for start in k.clone().step_by(tuned::CONV_PACK_WINDOWS) {
            let windows = tuned::CONV_PACK_WINDOWS.min(k.end - start);
            let out = &mut out[(start - k.start) * width..][..windows * width];
            for run in self.image.window_runs(start, windows) {
                let out = &mut out[run.first * width..][..run.count * width];
                self.image.transpose_taps(run, &taps, width, out);
            }
        }
    }
}

impl<T: Float> Image<'_, T> {
    /// Copies the values that some taps read for a run of windows, into one row of
    /// `width` values per window.
    fn transpose_taps(&self, run: WindowRun, taps: &[Tap], width: usize, out: &mut [T]) {
        if let Some(from) = self.single_tap_start(run, taps) {
            let plane = self.size[0] * self.size[1];
            return transpose(&self.values[from..], plane, taps.len(), width, out);
        }
        let mut line = 0;
        for taps in taps.chunk_by(|tap, next| self.are_adjacent(*tap, *next)) {
            let out = &mut out[line..];
            line += taps.len();
            match self.unpadded_start(run, taps) {
                Some(from) => self.transpose_rows(from, taps.len(), width, out),
                None => {
                    for (line, &tap) in taps.iter().enumerate() {
                        self.transpose_tap(run, tap, width, &mut out[line..]);
                    }
                }
            }
        }
    }

    /// Returns the offset of the first value, if the convolution has one tap, stride 1
    /// and no padding.
    fn single_tap_start(&self, run: WindowRun, taps: &[Tap]) -> Option<usize> {
        let one = self.kernel == [1, 1] && self.padding == [0, 0] && self.stride == [1, 1];
        self.visible_windows(run, *taps.first().filter(|_| one)?)
            .map(|visible| visible.from)
    }

    /// Returns true if the two taps read adjacent values.
    fn are_adjacent(&self, tap: Tap, next: Tap) -> bool {
        self.dilation[1] == 1 && next.step[1] > tap.step[1]
    }

    /// Returns the offset of the first value of adjacent taps, if these taps read no
    /// padding in any window of the run.
    fn unpadded_start(&self, run: WindowRun, taps: &[Tap]) -> Option<usize> {
        let first = self.visible_windows(run, *taps.first().filter(|_| taps.len() > 1)?)?;
        let last = self.visible_windows(run, *taps.last()?)?;
        (first.before == 0 && last.count == run.count).then_some(first.from)
    }

    /// Copies `count` adjacent values for each window into one row of `out`.
    fn transpose_rows(&self, from: usize, count: usize, width: usize, out: &mut [T]) {
        for (number, out) in out.chunks_mut(width).enumerate() {
            let values = &self.values[from + number * self.stride[1]..][..count];
            let ((eights, rest), (outs, out_rest)) =
                (values.as_chunks::<8>(), out[..count].as_chunks_mut::<8>());
            outs.iter_mut()
                .zip(eights)
                .for_each(|(out, eight)| *out = *eight);
            out_rest
                .iter_mut()
                .zip(rest)
                .for_each(|(out, &value)| *out = value);
        }
    }

    /// Copies the value that a tap reads for each window of a run, into every
    /// `width`-th element of `out`.
    fn transpose_tap(&self, run: WindowRun, tap: Tap, width: usize, out: &mut [T]) {
        let mut outs = out.iter_mut().step_by(width).take(run.count);
        if let Some(visible) = self.visible_windows(run, tap) {
            let before = outs.by_ref().take(visible.before);
            before.for_each(|out| *out = T::ZERO);
            let values = self.values[visible.from..].iter().step_by(self.stride[1]);
            let outs = outs.by_ref().take(visible.count);
            outs.zip(values).for_each(|(out, &value)| *out = value);
        }
        outs.for_each(|out| *out = T::ZERO);
    }
}
