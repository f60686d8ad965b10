//! Arrays of shape (batch, head, row, column), whose axes may have any order in memory.

use crate::Float;
use crate::matrix::{MatrixMut, StridedMatrix};

/// An input array with contiguous columns.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'a, T> {
    data: &'a [T],
    shape: [usize; 4],
    steps: [usize; 3],
}

impl<'a, T: Float> Heads<'a, T> {
    /// Creates the array from its strides between batches, heads and rows. Returns
    /// `None` if the strides go beyond the data.
    pub fn new(data: &'a [T], shape: [usize; 4], steps: [usize; 3]) -> Option<Self> {
        let last = shape
            .iter()
            .zip(steps)
            .map(|(size, step)| size.saturating_sub(1) * step);
        let end = last.sum::<usize>() + shape[3];
        let fits = shape.contains(&0) || end <= data.len();
        fits.then_some(Self { data, shape, steps })
    }

    /// Returns the shape (batch, head, row, column).
    pub fn shape(&self) -> [usize; 4] {
        self.shape
    }

    pub(super) fn matrix(&self, batch: usize, head: usize) -> StridedMatrix<'a, T> {
        let [.., rows, columns] = self.shape;
        let start = batch * self.steps[0] + head * self.steps[1];
        let data = &self.data[start.min(self.data.len())..];
        StridedMatrix::new(data, rows, columns, self.steps[2])
    }
}

/// An output array with contiguous columns.
#[derive(Debug)]
pub struct HeadsMut<'a, T> {
    pub(super) matrices: Vec<MatrixMut<'a, T>>,
    shape: [usize; 4],
}

impl<'a, T: Float> HeadsMut<'a, T> {
    /// Creates the array from its strides. Returns `None` if the strides go beyond the
    /// data or elements overlap.
    pub fn new(data: &'a mut [T], shape: [usize; 4], steps: [usize; 3]) -> Option<Self> {
        let matrices = MatrixMut::split_grid(data, shape, steps)?;
        Some(Self { matrices, shape })
    }

    /// Splits an array of 3n attention heads into three arrays of n heads.
    pub fn split_in_three(self) -> [Self; 3] {
        let [batch, all, rows, columns] = self.shape;
        let heads = (all / 3).max(1);
        let shape = [batch, all / 3, rows, columns];
        let mut split_in_three = [(); 3].map(|()| Self {
            matrices: Vec::with_capacity(batch * heads),
            shape,
        });
        for (number, matrix) in self.matrices.into_iter().enumerate() {
            split_in_three[number / heads % 3].matrices.push(matrix);
        }
        split_in_three
    }

    /// Returns the shape (batch, head, row, column).
    pub fn shape(&self) -> [usize; 4] {
        self.shape
    }
}
