//! Products of matrices in memory with gaps, on one thread.

use super::{Epilogue, Matrix, fill};
use crate::Float;
use crate::matrix::{self, MatrixMut};

/// What a product does to what stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Into {
    /// Takes its position.
    Placed,
    /// Is added to it.
    Added,
}

impl<T: Float> MatrixMut<'_, T> {
    /// Becomes `factor * a @ b`, or has it added.
    pub(crate) fn product(
        &mut self,
        into: Into,
        factor: T,
        a: matrix::Matrix<'_, T>,
        b: matrix::Matrix<'_, T>,
    ) {
        let fits =
            (a.rows, a.columns, b.columns) == (self.rows_count(), b.rows, self.columns_count());
        assert!(fits, "factors of the product's size");
        let epilogue = Epilogue {
            factor,
            adds: matches!(into, Into::Added),
            bias: None,
        };
        fill(&lines(a), &lines(b.transposed()), self.lend(), epilogue, 1);
    }
}

/// Its rows, as lines of a product's factor.
fn lines<T: Copy>(matrix: matrix::Matrix<'_, T>) -> Matrix<'_, T> {
    Matrix {
        values: matrix.data,
        lines: matrix.rows,
        depth: matrix.columns,
        line_step: matrix.steps.0,
        depth_step: matrix.steps.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn plain(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
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
        let (left, right) = (Matrix::new(&a, 3, 5, 5), Matrix::new(&b, 5, 7, 7));
        matrix.product(Into::Placed, 2.0, left, right);
        matrix.product(Into::Added, -1.0, left, right);
        assert_eq!(out, plain(&a, &b, [3, 5, 7]));
    }

    #[test]
    fn an_empty_inner_axis_gives_zeros_or_nothing() {
        let mut out = vec![7.0_f32; 4];
        let (left, right) = (Matrix::new(&[], 2, 0, 0), Matrix::new(&[], 0, 2, 2));
        MatrixMut::new(&mut out, 2, 2, 2).product(Into::Added, 1.0, left, right);
        assert_eq!(out, vec![7.0; 4]);
        MatrixMut::new(&mut out, 2, 2, 2).product(Into::Placed, 1.0, left, right);
        assert_eq!(out, vec![0.0; 4]);
    }
}
