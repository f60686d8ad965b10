//! Rows of an output that tiles are put into.

use pulp::Simd;

use super::Goal;
use super::kernel::Take;
use crate::lanes::Lanes;
use crate::matrix::MatrixMut;
use crate::{Float, machine};

/// A part of the output, and what becomes of its sums.
pub(super) struct Rows<'a, T> {
    pub(super) out: MatrixMut<'a, T>,
    pub(super) goal: Goal<'a, T>,
}

impl<T: Float> Take<T> for Rows<'_, T> {
    #[inline(always)]
    fn expect(&mut self, row: usize, column: usize, rows: usize) {
        for row in row..(row + rows).min(self.out.rows_count()) {
            let place = self.out.row(row)[column..].as_ptr();
            (0..3).for_each(|line| machine::prefetch(place.wrapping_byte_add(64 * line)));
        }
    }

    #[inline(always)]
    fn take_sums<S: Simd, const R: usize, const V: usize>(
        &mut self,
        (row, column): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    ) {
        for (row, sums) in (row..self.out.rows_count()).zip(sums) {
            self.goal.put_lanes(column, sums, self.out.row(row));
        }
    }
}
