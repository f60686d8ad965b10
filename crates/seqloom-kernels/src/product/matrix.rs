//! A matrix anywhere in memory, as lines.

use std::ops::Range;

use super::Lines;
use crate::Float;

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
        } else {
            self.turn(values, count, width, out);
        }
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

    /// Packs lines that are neighbours.
    fn copy(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (place, out) in out.chunks_exact_mut(width).enumerate() {
            let row = &values[place * self.depth_step..][..count];
            copy_some(row, &mut out[..count]);
        }
    }

    /// Packs lines along their depth, a few places of each at a time.
    fn turn(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (number, out) in out.chunks_mut(width * SOME).enumerate() {
            for line in 0..count {
                let start = line * self.line_step + number * SOME * self.depth_step;
                let values = values[start..].iter().step_by(self.depth_step.max(1));
                let out = out[line..].iter_mut().step_by(width);
                out.zip(values).for_each(|(out, &value)| *out = value);
            }
        }
    }
}

/// Places that are packed at a time: a cache line of single floats.
const SOME: usize = 16;

/// Copies a few numbers, a cache line of single floats at a time.
pub(crate) fn copy_some<T: Float>(values: &[T], out: &mut [T]) {
    let (lines, rest) = values.as_chunks::<16>();
    let (outs, out_rest) = out.as_chunks_mut::<16>();
    outs.iter_mut()
        .zip(lines)
        .for_each(|(out, line)| *out = *line);
    out_rest
        .iter_mut()
        .zip(rest)
        .for_each(|(out, &value)| *out = value);
}
