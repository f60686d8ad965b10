//! A matrix anywhere in memory, as lines.

use std::ops::Range;

use super::{Lines, turn::turn};
use crate::{Float, machine};

/// Lines of numbers that stand in steps from one another.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// The numbers, from the first line's first on.
    pub values: &'a [T],
    /// Lines.
    pub lines: usize,
    /// Numbers of a line.
    pub depth: usize,
    /// From one line to the next.
    pub line_step: usize,
    /// From one number of a line to the next.
    pub depth_step: usize,
}

impl<T: Float> Lines<T> for Matrix<'_, T> {
    fn count(&self) -> usize {
        self.lines
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn pack(&self, first: usize, depth: Range<usize>, out: &mut [T]) {
        let width = out.len() / depth.len().max(1);
        let count = width.min(self.lines.saturating_sub(first));
        if count < width {
            out.fill(T::ZERO);
        }
        let start = first * self.line_step + depth.start * self.depth_step;
        let values = self.values.get(start..).unwrap_or_default();
        if self.line_step == 1 {
            self.copy(values, count, width, out);
        } else if self.depth_step == 1 {
            turn(values, self.line_step, count, width, out);
        } else {
            self.gather(values, count, width, out);
        }
    }

    fn pack_panels(&self, first: usize, depth: Range<usize>, width: usize, out: &mut [T]) {
        let size = (width * depth.len()).max(1);
        let whole = self.whole_panels(first, width).min(out.len() / size);
        let (panels, rest) = out.split_at_mut(whole * size);
        for (number, out) in panels
            .chunks_mut(TOGETHER.div_ceil(width) * size)
            .enumerate()
        {
            let line = first + number * TOGETHER.div_ceil(width) * width;
            self.copy_panels(line, depth.clone(), width, out);
        }
        for (number, panel) in rest.chunks_mut(size).enumerate() {
            self.pack(first + (whole + number) * width, depth.clone(), panel);
        }
    }

    fn line(&self, number: usize) -> Option<&[T]> {
        let start = number * self.line_step;
        let whole = self.depth_step == 1 && number < self.lines;
        whole.then(|| &self.values[start..][..self.depth])
    }
}

impl<T: Float> Matrix<'_, T> {
    /// The matrix of this shape that stands so many behind this one.
    pub(super) fn nth(&self, number: usize) -> Self {
        let size = self.lines * self.depth;
        Self {
            values: self.values.get(number * size..).unwrap_or_default(),
            ..*self
        }
    }

    /// How many panels of neighbouring lines there are from `first` on.
    fn whole_panels(&self, first: usize, width: usize) -> usize {
        if self.line_step == 1 {
            self.lines.saturating_sub(first) / width.max(1)
        } else {
            0
        }
    }

    /// Packs some panels of neighbouring lines, each place of the depth for all of them:
    /// the places are far from one another in memory.
    fn copy_panels(&self, first: usize, depth: Range<usize>, width: usize, out: &mut [T]) {
        let size = width * depth.len();
        let count = out.len() / depth.len().max(1);
        for (number, place) in depth.enumerate() {
            let row = &self.values[place * self.depth_step + first..][..count];
            let ahead = row.as_ptr().wrapping_add(AHEAD * self.depth_step);
            let cache_lines = (0..count).step_by(16);
            cache_lines.for_each(|line| machine::prefetch(ahead.wrapping_add(line)));
            let outs = out.chunks_exact_mut(size);
            for (lines, out) in row.chunks_exact(width).zip(outs) {
                copy_few(lines, &mut out[number * width..][..width]);
            }
        }
    }

    /// Packs lines that are neighbours, of which there are fewer than a panel has.
    fn copy(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (place, out) in out.chunks_exact_mut(width).enumerate() {
            let row = &values[place * self.depth_step..][..count];
            copy_some(row, &mut out[..count]);
        }
    }

    /// Packs lines whose numbers have neighbours in neither direction.
    fn gather(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (place, out) in out.chunks_exact_mut(width).enumerate() {
            let row = values[place * self.depth_step..]
                .iter()
                .step_by(self.line_step);
            out[..count]
                .iter_mut()
                .zip(row)
                .for_each(|(out, &value)| *out = value);
        }
    }
}

/// Places of the depth that are called for ahead of their use.
const AHEAD: usize = 8;

/// Lines that are packed together: some cache lines of each place.
const TOGETHER: usize = 48;

/// Copies as many numbers as a left panel has lines, eight or six, or any others.
#[inline(always)]
fn copy_few<T: Float>(values: &[T], out: &mut [T]) {
    match values.len() {
        8 => copy_exactly::<T, 8>(values, out),
        6 => copy_exactly::<T, 6>(values, out),
        _ => out.copy_from_slice(values),
    }
}

/// Copies so many numbers that the compiler knows the count.
#[inline(always)]
fn copy_exactly<T: Float, const N: usize>(values: &[T], out: &mut [T]) {
    if let (Some(values), Some(out)) = (values.first_chunk::<N>(), out.first_chunk_mut::<N>()) {
        *out = *values;
    }
}

/// Copies a few numbers, eight at a time.
pub(crate) fn copy_some<T: Float>(values: &[T], out: &mut [T]) {
    let (lines, rest) = values.as_chunks::<8>();
    let (outs, out_rest) = out.as_chunks_mut::<8>();
    outs.iter_mut()
        .zip(lines)
        .for_each(|(out, line)| *out = *line);
    out_rest
        .iter_mut()
        .zip(rest)
        .for_each(|(out, &value)| *out = value);
}
