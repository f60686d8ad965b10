//! Windows of an image as the lines of a product's factor.

use std::ops::Range;

use super::image::{Image, Run, Tap};
use crate::Float;
use crate::product::{Lines, copy_some, transpose};

/// A line for each window, from the one numbered `first`; its taps are the depth.
pub(super) struct ByWindow<'a, T> {
    pub(super) image: Image<'a, T>,
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<T: Float> Lines<T> for ByWindow<'_, T> {
    fn count(&self) -> usize {
        self.count
    }

    fn depth(&self) -> usize {
        self.image.taps()
    }

    fn pack(&self, first: usize, depth: Range<usize>, out: &mut [T]) {
        let width = out.len() / depth.len().max(1);
        let count = width.min(self.count.saturating_sub(first));
        let runs = self.image.runs(self.first + first, count);
        let runs: Vec<_> = runs.map(|run| (run, self.image.inside(run))).collect();
        let taps = self.image.taps_from(depth.start);
        for (tap, out) in taps.zip(out.chunks_exact_mut(width)) {
            let (out, rest) = out.split_at_mut(count);
            rest.fill(T::ZERO);
            for &(run, start) in &runs {
                let out = &mut out[run.first..][..run.count];
                match start {
                    Some(start) => {
                        let from = start + self.image.steps(tap);
                        copy_some(&self.image.values[from..][..run.count], out);
                    }
                    None => self.image.copy(run, tap, out),
                }
            }
        }
    }
}

impl<T: Float> Image<'_, T> {
    /// Copies what a run of windows sees at one tap.
    fn copy(&self, run: Run, tap: Tap, out: &mut [T]) {
        let Some(seen) = self.seen(run, tap) else {
            return out.fill(T::ZERO);
        };
        let (before, out) = out.split_at_mut(seen.before);
        let (out, after) = out.split_at_mut(seen.count);
        before.fill(T::ZERO);
        after.fill(T::ZERO);
        let values = &self.values[seen.from..];
        if self.stride[1] == 1 {
            copy_some(&values[..seen.count], out);
        } else {
            let values = values.iter().step_by(self.stride[1]);
            out.iter_mut()
                .zip(values)
                .for_each(|(out, &value)| *out = value);
        }
    }
}

/// A line for each tap; the windows of all samples are the depth.
pub(super) struct ByTap<'a, T> {
    pub(super) image: Image<'a, T>,
    pub(super) samples: usize,
}

impl<T: Float> Lines<T> for ByTap<'_, T> {
    fn count(&self) -> usize {
        self.image.taps()
    }

    fn depth(&self) -> usize {
        self.samples * self.image.windows()
    }

    fn pack(&self, first: usize, depth: Range<usize>, out: &mut [T]) {
        let width = out.len() / depth.len().max(1);
        let count = width.min(self.count().saturating_sub(first));
        let taps: Vec<Tap> = self.image.taps_from(first).take(count).collect();
        if count < width {
            out.fill(T::ZERO);
        }
        for start in depth.clone().step_by(SOME) {
            let windows = SOME.min(depth.end - start);
            let out = &mut out[(start - depth.start) * width..][..windows * width];
            for run in self.image.runs(start, windows) {
                let out = &mut out[run.first * width..][..run.count * width];
                self.image.turn_all(run, &taps, width, out);
            }
        }
    }
}

/// Windows that are packed at a time: what is written stays in a first-level cache.
const SOME: usize = 64;

impl<T: Float> Image<'_, T> {
    /// Copies what a run of windows sees at some taps, a row of `width` for each window.
    fn turn_all(&self, run: Run, taps: &[Tap], width: usize, out: &mut [T]) {
        if let Some(from) = self.one_by_one(run, taps) {
            let plane = self.size[0] * self.size[1];
            return transpose(&self.values[from..], plane, taps.len(), width, out);
        }
        let mut line = 0;
        for taps in taps.chunk_by(|tap, next| self.are_neighbours(*tap, *next)) {
            let out = &mut out[line..];
            line += taps.len();
            match self.seen_whole(run, taps) {
                Some(from) => self.turn_rows(from, taps.len(), width, out),
                None => {
                    for (line, &tap) in taps.iter().enumerate() {
                        self.transpose(run, tap, width, &mut out[line..]);
                    }
                }
            }
        }
    }

    /// Where the numbers of the first tap start, if each channel has one tap and each
    /// position of it a window.
    fn one_by_one(&self, run: Run, taps: &[Tap]) -> Option<usize> {
        let one = self.kernel == [1, 1] && self.padding == [0, 0] && self.stride == [1, 1];
        self.seen(run, *taps.first().filter(|_| one)?)
            .map(|seen| seen.from)
    }

    /// Whether one tap's number stands behind the other's in memory.
    fn are_neighbours(&self, tap: Tap, next: Tap) -> bool {
        self.dilation[1] == 1 && next.step[1] > tap.step[1]
    }

    /// Where the numbers of neighbouring taps start, if no window of the run sees the
    /// padding there.
    fn seen_whole(&self, run: Run, taps: &[Tap]) -> Option<usize> {
        let first = self.seen(run, *taps.first().filter(|_| taps.len() > 1)?)?;
        let last = self.seen(run, *taps.last()?)?;
        (first.before == 0 && last.count == run.count).then_some(first.from)
    }

    /// Copies so many neighbouring numbers for each window.
    fn turn_rows(&self, from: usize, count: usize, width: usize, out: &mut [T]) {
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

    /// Copies what a run of windows sees at one tap to positions that are `width` apart.
    fn transpose(&self, run: Run, tap: Tap, width: usize, out: &mut [T]) {
        let mut outs = out.iter_mut().step_by(width).take(run.count);
        if let Some(seen) = self.seen(run, tap) {
            let before = outs.by_ref().take(seen.before);
            before.for_each(|out| *out = T::ZERO);
            let values = self.values[seen.from..].iter().step_by(self.stride[1]);
            let outs = outs.by_ref().take(seen.count);
            outs.zip(values).for_each(|(out, &value)| *out = value);
        }
        outs.for_each(|out| *out = T::ZERO);
    }
}
