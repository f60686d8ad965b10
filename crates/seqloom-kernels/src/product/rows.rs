//! The rows of an output to which a kernel writes tiles.

use pulp::Simd;

use super::{Epilogue, kernel::TileSink};
use crate::{Float, lanes::Lanes, machine, matrix::MatrixMut};

/// A range of output rows and columns, and the epilogue of their sums.
pub(super) struct OutputRows<'a, T> {
    pub(super) out: MatrixMut<'a, T>,
    pub(super) epilogue: Epilogue<'a, T>,
}

impl<T: Float> TileSink<T> for OutputRows<'_, T> {
    #[inline(always)]
    fn prepare_tile(&mut self, (row, column): (usize, usize), (rows, columns): (usize, usize)) {
        let bytes = columns * size_of::<T>();
        for row in row..(row + rows).min(self.out.rows_count()) {
            let position = self.out.address(row, column);
            (0..bytes)
                .step_by(64)
                .for_each(|byte| machine::prefetch(position.wrapping_byte_add(byte)));
        }
    }

    #[inline(always)]
    fn take_sums<S: Simd, const R: usize, const V: usize>(
        &mut self,
        (row, column): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    ) {
        if row + R <= self.out.rows_count()
            && column + V * Lanes::<S, T>::COUNT <= self.out.columns_count()
        {
            return self.epilogue.store_tile((row, column), sums, &mut self.out);
        }
        // The tile is copied before it is indexed. If the tile itself were indexed by a
        // variable, the compiler would store every tile in memory instead of registers.
        let sums = *sums;
        for (row, sums) in (row..self.out.rows_count()).zip(&sums) {
            self.epilogue.store_lanes(column, sums, self.out.row(row));
        }
    }
}
