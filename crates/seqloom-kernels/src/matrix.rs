//! Strided matrices.

use std::{marker::PhantomData, ops::Range};

use crate::Float;

/// A read-only matrix with strides. `steps` are the row stride and the column stride,
/// in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedMatrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) steps: (usize, usize),
}

impl<'a, T: Float> StridedMatrix<'a, T> {
    /// Creates a matrix whose rows contain `columns` adjacent values. `step` is the row
    /// stride.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize, step: usize) -> Self {
        let data = &data[..span_length(rows, columns, step)];
        // If there are no columns, the data may be empty, so all rows begin at index 0.
        let steps = (if columns == 0 { 0 } else { step }, 1);
        Self {
            data,
            rows,
            columns,
            steps,
        }
    }

    /// Returns the transposed matrix, without copying.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            steps: (self.steps.1, self.steps.0),
        }
    }

    /// Returns a row of a matrix that is not transposed.
    pub(crate) fn row(&self, row: usize) -> &'a [T] {
        &self.data[row * self.steps.0..][..self.columns]
    }

    /// Returns a range of rows of a matrix that is not transposed.
    pub(crate) fn rows(self, range: Range<usize>) -> Self {
        let (rows, step) = (range.len(), self.steps.0);
        let start = (range.start * step).min(self.data.len());
        Self::new(&self.data[start..], rows, self.columns, step)
    }
}

/// Returns the number of elements in memory from the first value of the matrix to the
/// last.
fn span_length(rows: usize, columns: usize, step: usize) -> usize {
    match (rows, columns) {
        (0, _) | (_, 0) => 0,
        (rows, columns) => (rows - 1) * step + columns,
    }
}

/// A strided matrix that can be written. The memory between the rows may belong to
/// other matrices.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    step: usize,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: like a mutable slice, the matrix has exclusive access to its values.
#[expect(unsafe_code, reason = "the raw pointer prevents an automatic `Send`")]
unsafe impl<T: Send> Send for MatrixMut<'_, T> {}

impl<'a, T: Float> MatrixMut<'a, T> {
    /// Creates a matrix whose rows contain `columns` adjacent values. `step` is the row
    /// stride.
    pub(crate) fn new(data: &'a mut [T], rows: usize, columns: usize, step: usize) -> Self {
        let data = &mut data[..span_length(rows, columns, step)];
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

    /// Splits memory into a grid of matrices of `rows` by `columns`. `steps` are the
    /// strides along both axes of the grid, and the row stride. Returns `None` if
    /// matrices overlap or exceed the memory.
    pub(crate) fn split_grid(
        data: &'a mut [T],
        sizes: [usize; 4],
        steps: [usize; 3],
    ) -> Option<Vec<Self>> {
        let [outer, inner, rows, columns] = sizes;
        if !are_disjoint(data.len(), sizes, steps) {
            return None;
        }
        let start = data.as_mut_ptr();
        let positions =
            (0..outer).flat_map(|i| (0..inner).map(move |j| i * steps[0] + j * steps[1]));
        let matrix =
            |position| Self::from_start(start.wrapping_add(position), rows, columns, steps[2]);
        Some(positions.map(matrix).collect())
    }

    /// Splits the matrix into the rows before and after an index.
    pub(crate) fn split(self, row: usize) -> (Self, Self) {
        let row = row.min(self.rows);
        let rest = self.start.wrapping_add(row * self.step);
        (
            Self::from_start(self.start, row, self.columns, self.step),
            Self::from_start(rest, self.rows - row, self.columns, self.step),
        )
    }

    /// Borrows a range of rows of the matrix.
    pub(crate) fn rows(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        let (_, rest) = self.reborrow().split(range.start);
        rest.split(range.len()).0
    }

    pub(crate) fn rows_count(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns_count(&self) -> usize {
        self.columns
    }

    /// Borrows a range of columns of the matrix.
    pub(crate) fn columns(&mut self, range: Range<usize>) -> MatrixMut<'_, T> {
        assert!(range.end <= self.columns, "invalid columns");
        let start = self.start.wrapping_add(range.start);
        MatrixMut::from_start(start, self.rows, range.len(), self.step)
    }

    /// Splits the matrix into blocks of `rows` by `columns`; the last blocks may be
    /// smaller. Returns the first row and the first column of each block, and the
    /// block.
    pub(crate) fn blocks(self, rows: usize, columns: usize) -> Vec<(usize, usize, Self)> {
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

    pub(crate) fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut::from_start(self.start, self.rows, self.columns, self.step)
    }

    /// Returns the address of a value. The caller must check the indices before reading
    /// or writing.
    pub(crate) fn address(&self, row: usize, column: usize) -> *const T {
        self.start.wrapping_add(row * self.step + column)
    }

    pub(crate) fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "invalid row");
        // SAFETY: the matrix has exclusive access to the row, which is inside its
        // memory. The slice borrows the matrix.
        #[expect(unsafe_code, reason = "other matrices use the memory between rows")]
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(row * self.step), self.columns)
        }
    }

    pub(crate) fn fill(&mut self, value: T) {
        (0..self.rows).for_each(|row| self.row(row).fill(value));
    }
}

/// Returns true if the matrices of a grid do not overlap and fit in `length` elements.
fn are_disjoint(length: usize, sizes: [usize; 4], steps: [usize; 3]) -> bool {
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
    fn adjacent_heads_are_separate_matrices() {
        let mut out = vec![0.0_f32; 12];
        // The array (batch 1, heads 2, rows 3, columns 2) is stored as (batch, row,
        // head, column).
        let heads = MatrixMut::split_grid(&mut out, [1, 2, 3, 2], [12, 2, 4]).unwrap();
        for (number, mut head) in (1_u8..).zip(heads) {
            head.fill(f32::from(number));
        }
        assert_eq!(out, [1.0, 1.0, 2.0, 2.0].repeat(3));
    }

    #[test]
    fn overlapping_matrices_are_rejected() {
        let mut out = [0.0_f32; 12];
        assert!(MatrixMut::split_grid(&mut out, [1, 2, 3, 2], [12, 1, 4]).is_none());
        assert!(MatrixMut::split_grid(&mut out, [2, 2, 3, 2], [12, 2, 4]).is_none());
    }
}
