//! Products of matrices in memory with gaps, on one thread.

use super::{Epilogue, Matrix, fill};
use crate::Float;
use crate::matrix::{StridedMatrix, StridedMatrixMut};

/// What a product does to what stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputMode {
    /// Takes its position.
    Overwrite,
    /// Is added to it.
    Accumulate,
}

impl<T: Float> StridedMatrixMut<'_, T> {
    /// Becomes `factor * a @ b`, or has it added.
    pub(crate) fn product(
        &mut self,
        into: OutputMode,
        factor: T,
        a: StridedMatrix<'_, T>,
        b: StridedMatrix<'_, T>,
    ) {
        let fits =
            (a.rows, a.columns, b.columns) == (self.rows_count(), b.rows, self.columns_count());
        assert!(fits, "factors of the product's size");
        let epilogue = Epilogue {
            factor,
            adds: matches!(into, OutputMode::Accumulate),
            bias: None,
        };
        fill(&lines(a), &lines(b.transposed()), self.lend(), epilogue, 1);
    }
}

/// Its rows, as lines of a product's factor.
fn lines<T: Copy>(matrix: StridedMatrix<'_, T>) -> Matrix<'_, T> {
    Matrix {
        values: matrix.data,
        lines: matrix.rows,
        k: matrix.columns,
        line_step: matrix.steps.0,
        k_step: matrix.steps.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
        let at = |i: usize, j: usize| {
            (0..inner)
                .map(|k| a[i * inner + k] * b[k * columns + j])
                .sum()
        };
        (0..rows * columns)
            .map(|n| at(n / columns, n % columns))
            .collect()
    }

    #[test]
    fn a_product_is_the_sum_over_the_inner_axis() {
        let a: Vec<f64> = (0..15).map(f64::from).collect();
        let b: Vec<f64> = (0..35).map(|i| 3.0 - f64::from(i)).collect();
        let mut out = vec![7.0; 21];
        let mut matrix = StridedMatrixMut::new(&mut out, 3, 7, 7);
        let (left, right) = (
            StridedMatrix::new(&a, 3, 5, 5),
            StridedMatrix::new(&b, 5, 7, 7),
        );
        matrix.product(OutputMode::Overwrite, 2.0, left, right);
        matrix.product(OutputMode::Accumulate, -1.0, left, right);
        assert_eq!(out, reference(&a, &b, [3, 5, 7]));
    }

    #[test]
    fn an_empty_inner_axis_gives_zeros_or_nothing() {
        let mut out = vec![7.0_f32; 4];
        let (left, right) = (
            StridedMatrix::new(&[], 2, 0, 0),
            StridedMatrix::new(&[], 0, 2, 2),
        );
        StridedMatrixMut::new(&mut out, 2, 2, 2).product(OutputMode::Accumulate, 1.0, left, right);
        assert_eq!(out, vec![7.0; 4]);
        StridedMatrixMut::new(&mut out, 2, 2, 2).product(OutputMode::Overwrite, 1.0, left, right);
        assert_eq!(out, vec![0.0; 4]);
    }
}
