//! Products of strided matrices, on one thread.

use super::{Epilogue, Matrix, fill_product};
use crate::Float;
use crate::matrix::{MatrixMut, StridedMatrix};

/// The use of a product: the product replaces the output or is added to the output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Update {
    /// The product replaces the output.
    Replace,
    /// The product is added to the output.
    Add,
}

impl<T: Float> MatrixMut<'_, T> {
    /// Replaces this matrix by `factor * a @ b`, or adds the product to this matrix.
    pub(crate) fn product(
        &mut self,
        update: Update,
        factor: T,
        a: StridedMatrix<'_, T>,
        b: StridedMatrix<'_, T>,
    ) {
        let fits =
            (a.rows, a.columns, b.columns) == (self.rows_count(), b.rows, self.columns_count());
        assert!(fits, "the shapes of the product do not match");
        let epilogue = Epilogue {
            factor,
            adds: matches!(update, Update::Add),
            bias: None,
        };
        fill_product(
            &left_lines(a),
            &left_lines(b.transposed()),
            self.reborrow(),
            epilogue,
            1,
        );
    }
}

/// Returns the rows of the matrix as the left matrix of a product.
fn left_lines<T: Copy>(matrix: StridedMatrix<'_, T>) -> Matrix<'_, T> {
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

    fn reference_product(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
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
        let mut matrix = MatrixMut::new(&mut out, 3, 7, 7);
        let (left, right) = (
            StridedMatrix::new(&a, 3, 5, 5),
            StridedMatrix::new(&b, 5, 7, 7),
        );
        matrix.product(Update::Replace, 2.0, left, right);
        matrix.product(Update::Add, -1.0, left, right);
        assert_eq!(out, reference_product(&a, &b, [3, 5, 7]));
    }

    #[test]
    fn an_empty_inner_axis_gives_zeros_or_leaves_the_output_unchanged() {
        let mut out = vec![7.0_f32; 4];
        let (left, right) = (
            StridedMatrix::new(&[], 2, 0, 0),
            StridedMatrix::new(&[], 0, 2, 2),
        );
        MatrixMut::new(&mut out, 2, 2, 2).product(Update::Add, 1.0, left, right);
        assert_eq!(out, vec![7.0; 4]);
        MatrixMut::new(&mut out, 2, 2, 2).product(Update::Replace, 1.0, left, right);
        assert_eq!(out, vec![0.0; 4]);
    }
}
