//! Strided matrices as inputs of a product.

use std::ops::Range;

use super::{Lines, transpose::transpose};
use seqloom_macros::vectorized;

use crate::{Float, machine, machine::dispatch, tuned};

/// A strided matrix. A line is a row of a left matrix, or a column of a right matrix.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// The values, starting with the first value of the matrix.
    pub values: &'a [T],
    /// The number of rows of a left matrix, or of columns of a right matrix.
    pub lines: usize,
    /// The length of the inner axis, over which a product sums.
    pub k: usize,
    /// The stride between rows of a left matrix, or between columns of a right matrix.
    pub line_step: usize,
    /// The stride along the inner axis.
    pub k_step: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Creates a matrix from contiguous values. The inner axis of the product is the
    /// first axis of the values if `is_transposed` is true, and the second axis if it
    /// is false.
    pub fn from_slice(values: &'a [T], [lines, k]: [usize; 2], is_transposed: bool) -> Self {
        let (line_step, k_step) = if is_transposed { (1, lines) } else { (k, 1) };
        Self {
            values,
            lines,
            k,
            line_step,
            k_step,
        }
    }
}

impl<T: Float> Lines<T> for Matrix<'_, T> {
    fn line_count(&self) -> usize {
        self.lines
    }

    fn k(&self) -> usize {
        self.k
    }

    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]) {
        let width = out.len() / k.len().max(1);
        let count = width.min(self.lines.saturating_sub(first));
        if count < width {
            out.fill(T::ZERO);
        }
        let start = first * self.line_step + k.start * self.k_step;
        let values = self.values.get(start..).unwrap_or_default();
        if self.line_step == 1 {
            self.copy_last_panel(values, count, width, out);
        } else if self.k_step == 1 {
            transpose(values, self.line_step, count, width, out);
        } else {
            self.gather_panels(values, count, width, out);
        }
    }

    fn pack_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        let size = (width * k.len()).max(1);
        let whole = self.full_panels(first, width).min(out.len() / size);
        let (panels, rest) = out.split_at_mut(whole * size);
        for (number, out) in panels
            .chunks_mut(tuned::PACK_LINES.div_ceil(width) * size)
            .enumerate()
        {
            let line = first + number * tuned::PACK_LINES.div_ceil(width) * width;
            self.copy_panels(line, k.clone(), width, out);
        }
        for (number, panel) in rest.chunks_mut(size).enumerate() {
            self.pack(first + (whole + number) * width, k.clone(), panel);
        }
    }

    fn adjacent_lines(&self) -> Option<(&[T], usize)> {
        (self.line_step == 1).then_some((self.values, self.k_step))
    }

    fn line(&self, number: usize) -> Option<&[T]> {
        let start = number * self.line_step;
        let whole = self.k_step == 1 && number < self.lines;
        whole.then(|| &self.values[start..][..self.k])
    }
}

impl<T: Float> Matrix<'_, T> {
    /// Returns the matrix with index `number`, if matrices of this shape follow each
    /// other in memory.
    pub(super) fn nth_matrix(&self, number: usize) -> Self {
        let size = self.lines * self.k;
        Self {
            values: self.values.get(number * size..).unwrap_or_default(),
            ..*self
        }
    }

    /// Returns the number of full panels from index `first`, if the rows (or columns)
    /// are interleaved in memory.
    fn full_panels(&self, first: usize, width: usize) -> usize {
        if self.line_step == 1 {
            self.lines.saturating_sub(first) / width.max(1)
        } else {
            0
        }
    }

    /// Packs a range of panels of interleaved rows (or columns). Each position of the
    /// inner axis is packed for all panels, because the positions are far apart in
    /// memory.
    fn copy_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        copy_panels(CopyPanels {
            values: &self.values[first + k.start * self.k_step..],
            step: self.k_step,
            k: k.len(),
            width,
            out,
        });
    }

    /// Packs the last interleaved rows (or columns), which do not fill a panel.
    fn copy_last_panel(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (position, out) in out.chunks_exact_mut(width).enumerate() {
            let row = &values[position * self.k_step..][..count];
            copy_short(row, &mut out[..count]);
        }
    }

    /// Packs a matrix that is contiguous in neither direction.
    fn gather_panels(&self, values: &[T], count: usize, width: usize, out: &mut [T]) {
        for (position, out) in out.chunks_exact_mut(width).enumerate() {
            let row = values[position * self.k_step..]
                .iter()
                .step_by(self.line_step);
            out[..count]
                .iter_mut()
                .zip(row)
                .for_each(|(out, &value)| *out = value);
        }
    }
}

/// Interleaved rows (or columns), and the panels to which they are copied.
struct CopyPanels<'a, T> {
    values: &'a [T],
    /// The stride between positions of the axis that the product sums over.
    step: usize,
    k: usize,
    width: usize,
    out: &'a mut [T],
}

#[vectorized]
fn copy_panels<T: Float>(panels: CopyPanels<'_, T>) {
    // The panel widths of all instruction sets, as constants for the compiler.
    match panels.width {
        2 => panels.copy_width::<2>(),
        4 => panels.copy_width::<4>(),
        6 => panels.copy_width::<6>(),
        8 => panels.copy_width::<8>(),
        12 => panels.copy_width::<12>(),
        16 => panels.copy_width::<16>(),
        24 => panels.copy_width::<24>(),
        48 => panels.copy_width::<48>(),
        _ => panels.copy_any_width(),
    }
}

impl<T: Float> CopyPanels<'_, T> {
    #[inline(always)]
    fn copy_width<const WIDTH: usize>(self) {
        let (rows, _) = self.out.as_chunks_mut::<WIDTH>();
        let count = rows.len() / self.k * WIDTH;
        for position in 0..self.k {
            let row = &self.values[position * self.step..][..count];
            prefetch_row(row, tuned::PACK_PREFETCH * self.step);
            let (panels, _) = row.as_chunks::<WIDTH>();
            let outs = rows[position..].iter_mut().step_by(self.k);
            panels
                .iter()
                .zip(outs)
                .for_each(|(lines, out)| *out = *lines);
        }
    }

    fn copy_any_width(self) {
        let count = self.out.len() / self.k;
        for position in 0..self.k {
            let row = &self.values[position * self.step..][..count];
            let outs = self.out[position * self.width..].chunks_mut(self.width * self.k);
            for (lines, out) in row.chunks_exact(self.width).zip(outs) {
                out[..self.width].copy_from_slice(lines);
            }
        }
    }
}

/// Prefetches the values `ahead` elements after this row.
#[inline(always)]
fn prefetch_row<T>(row: &[T], ahead: usize) {
    let position = row.as_ptr().wrapping_add(ahead);
    let cache_lines = (0..row.len()).step_by(16);
    cache_lines.for_each(|line| machine::prefetch(position.wrapping_add(line)));
}

/// Copies a small number of values, eight at a time.
fn copy_short<T: Float>(values: &[T], out: &mut [T]) {
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
