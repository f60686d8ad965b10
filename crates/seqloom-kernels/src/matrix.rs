//! Matrices in memory with gaps.

use std::marker::PhantomData;
use std::ops::Range;

use crate::Float;

/// A matrix to be read: a number every `steps.1`, a row every `steps.0`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedMatrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) steps: (usize, usize),
}

impl<'a, T: Float> StridedMatrix<'a, T> {
    /// Rows of `columns` numbers that lie side by side, a row every `step`.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize, step: usize) -> Self {
        let data = &data[..extent(rows, columns, step)];
        // Rows without a number all begin where the empty data does.
        let steps = (if columns == 0 { 0 } else { step }, 1);
        Self {
            data,
            rows,
            columns,
            steps,
        }
    }

    /// Exchanges rows and columns.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            steps: (self.steps.1, self.steps.0),
        }
    }

    /// A row of a matrix that is not transposed.
    pub(crate) fn row(&self, row: usize) -> &'a [T] {
        &self.data[row * self.steps.0..][..self.columns]
    }

    /// Some rows of a matrix that is not transposed.
    pub(crate) fn rows(self, range: Range<usize>) -> Self {
        let (rows, step) = (range.len(), self.steps.0);
        let start = (range.start * step).min(self.data.len());
        Self::new(&self.data[start..], rows, self.columns, step)
    }
}

/// How many numbers lie between the first and the end of the last.
fn extent(rows: usize, columns: usize, step: usize) -> usize {
    match (rows, columns) {
        (0, _) | (_, 0) => 0,
        (rows, columns) => (rows - 1) * step + columns,
    }
}

/// A strided matrix to be written; others may share its memory, where they write its gaps only.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    step: usize,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: it is the one way to its numbers, as a slice that may be written is.
#[expect(unsafe_code, reason = "the pointer alone keeps it from being so")]
unsafe impl<T: Send> Send for MatrixMut<'_, T> {}

impl<'a, T: Float> MatrixMut<'a, T> {
    /// Rows of `columns` numbers that lie side by side, a row every `step`.
    pub(crate) fn new(data: &'a mut [T], rows: usize, columns: usize, step: usize) -> Self {
        let data = &mut data[..extent(rows, columns, step)];
        let start = data.as_mut_ptr();
        Self::from_start(start, rows, columns, step)
    }

    fn from_start(start: *mut T, rows: usize, columns: usize, step: usize) -> Self {
        let memory = PhantomData;
        Self {
            start,
            rows,
            columns,
            step,
            memory,
        }
    }

    /// Cuts memory into matrices of `rows` by `columns`, two axes of them; `steps` lead to
    /// the next of each axis and to the next row. None where they would meet or leave it.
    pub(crate) fn grid(
        data: &'a mut [T],
        sizes: [usize; 4],
        steps: [usize; 3],
    ) -> Option<Vec<Self>> {
        let [outer, inner, rows, columns] = sizes;
        if !are_apart(data.len(), sizes, steps) {
            return None;
        }
        let start = data.as_mut_ptr();
        let positions =
            (0..outer).flat_map(|i| (0..inner).map(move |j| i * steps[0] + j * steps[1]));
        let matrix =
            |position| Self::from_start(start.wrapping_add(position), rows, columns, steps[2]);
        Some(positions.map(matrix).collect())
    }

    /// The rows before `row`, and the others.
    pub(crate) fn split(self, row: usize) -> (Self, Self) {
        let row = row.min(self.rows);
        let rest = self.start.wrapping_add(row * self.step);
        (
            Self::from_start(self.start, row, self.columns, self.step),
            Self::from_start(rest, self.rows - row, self.columns, self.step),
        )
    }

    /// Some rows, for as long as this matrix is lent.
    pub(crate) fn rows(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        let (_, rest) = self.lend().split(range.start);
        rest.split(range.len()).0
    }

    pub(crate) fn rows_count(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns_count(&self) -> usize {
        self.columns
    }

    /// Some columns, for as long as this matrix is lent.
    pub(crate) fn columns(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        assert!(range.end <= self.columns, "columns of the matrix");
        let start = self.start.wrapping_add(range.start);
        MatrixMut::from_start(start, self.rows, range.len(), self.step)
    }

    /// Cuts it into pieces of so many rows and columns, or fewer at its ends; each with
    /// the row and the column at which it starts.
    pub(crate) fn cut(self, rows: usize, columns: usize) -> Vec<(usize, usize, Self)> {
        let bands = (0..self.rows).step_by(rows.max(1));
        let piece = |row: usize, column: usize| {
            let start = self.start.wrapping_add(row * self.step + column);
            let (rows, columns) = (
                rows.min(self.rows - row),
                columns.min(self.columns - column),
            );
            (
                row,
                column,
                Self::from_start(start, rows, columns, self.step),
            )
        };
        let stripes = || (0..self.columns).step_by(columns.max(1));
        bands
            .flat_map(|row| stripes().map(move |column| piece(row, column)))
            .collect()
    }

    pub(crate) fn lend(&mut self) -> MatrixMut<'_, T> {
        MatrixMut::from_start(self.start, self.rows, self.columns, self.step)
    }

    /// Where a number stands; whoever reads or writes there checks the sizes.
    pub(crate) fn position(&self, row: usize, column: usize) -> *const T {
        self.start.wrapping_add(row * self.step + column)
    }

    pub(crate) fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "a row of the matrix");
        // SAFETY: the row lies in the memory that the matrix was made from, nobody else
        // has a way to its numbers, and this way is lent for as long as the slice lives.
        #[expect(unsafe_code, reason = "rows of memory that others write the gaps of")]
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(row * self.step), self.columns)
        }
    }

    pub(crate) fn fill(&mut self, value: T) {
        (0..self.rows).for_each(|row| self.row(row).fill(value));
    }
}

/// Whether the matrices of a grid have no number in common and stay within `length`.
fn are_apart(length: usize, sizes: [usize; 4], steps: [usize; 3]) -> bool {
    if sizes.contains(&0) {
        return true;
    }
    let mut axes = [
        (steps[0], sizes[0]),
        (steps[1], sizes[1]),
        (steps[2], sizes[2]),
    ];
    axes.sort_unstable();
    let mut covered = sizes[3];
    for (step, size) in axes.into_iter().filter(|axis| axis.1 > 1) {
        if step < covered {
            return false;
        }
        covered += (size - 1) * step;
    }
    covered <= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_lie_side_by_side_are_written_apart() {
        let mut out = vec![0.0_f32; 12];
        // (batch 1, heads 2, rows 3, columns 2) in memory (batch, row, head, column).
        let heads = MatrixMut::grid(&mut out, [1, 2, 3, 2], [12, 2, 4]).unwrap();
        for (number, mut head) in (1_u8..).zip(heads) {
            head.fill(f32::from(number));
        }
        assert_eq!(out, [1.0, 1.0, 2.0, 2.0].repeat(3));
    }

    #[test]
    fn matrices_that_would_meet_are_refused() {
        let mut out = [0.0_f32; 12];
        assert!(MatrixMut::grid(&mut out, [1, 2, 3, 2], [12, 1, 4]).is_none());
        assert!(MatrixMut::grid(&mut out, [2, 2, 3, 2], [12, 2, 4]).is_none());
    }
}
