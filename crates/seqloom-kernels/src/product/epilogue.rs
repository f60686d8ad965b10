//! The epilogue of a matrix product: a factor and a bias are applied, and the result is
//! stored or added to the output.

use pulp::Simd;

use crate::{Float, lanes::Lanes, matrix::MatrixMut};

/// The operation on each sum of products: `factor * sum`, plus the existing output or a
/// bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epilogue<'a, T> {
    /// The factor by which each sum is multiplied.
    pub(crate) factor: T,
    /// If true, adds the sums to the existing output.
    pub(crate) adds: bool,
    /// The bias of each output column.
    pub(crate) bias: Option<&'a [T]>,
}

impl<'a, T: Float> Epilogue<'a, T> {
    /// Creates an epilogue that stores the sums unchanged.
    pub(crate) fn new() -> Self {
        Self {
            factor: T::ONE,
            adds: false,
            bias: None,
        }
    }

    /// Creates an epilogue that adds a bias to each column.
    pub(crate) fn with_bias(bias: Option<&'a [T]>) -> Self {
        Self {
            bias,
            ..Self::new()
        }
    }

    /// Returns the epilogue for the columns from `start`. If `is_first` is true, the
    /// epilogue includes the bias; if `is_first` is false, the epilogue adds the sums
    /// to the output.
    pub(super) fn for_columns(self, start: usize, is_first: bool) -> Self {
        Self {
            adds: self.adds || !is_first,
            bias: self.bias.filter(|_| is_first).map(|bias| &bias[start..]),
            ..self
        }
    }

    /// Applies the epilogue to an output without products, as if all sums were 0.
    pub(super) fn fill_empty(self, out: &mut MatrixMut<'_, T>) {
        for row in 0..out.rows_count() {
            let row = out.row(row);
            if !self.adds {
                row.fill(T::ZERO);
            }
            let bias = self.bias.unwrap_or_default();
            row.iter_mut()
                .zip(bias)
                .for_each(|(out, &bias)| *out += bias);
        }
    }

    /// Applies the epilogue to one sum of an output column.
    #[inline(always)]
    pub(super) fn store_sum(self, column: usize, sum: T, out: &mut T) {
        let term = match self.bias {
            _ if self.adds => *out,
            Some(bias) => bias[column],
            None => T::ZERO,
        };
        *out = sum * self.factor + term;
    }

    /// Writes a tile of sums to the output, which must contain the whole tile.
    #[inline(always)]
    pub(super) fn store_tile<S: Simd, const R: usize, const V: usize>(
        self,
        (row, column): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
        out: &mut MatrixMut<'_, T>,
    ) {
        let factor = sums[0][0].like(self.factor);
        let lanes = Lanes::<S, T>::COUNT;
        let bias = self.bias.map(|bias| &bias[column..][..V * lanes]);
        for (row, sums) in (row..).zip(sums) {
            let out = &mut out.row(row)[column..][..V * lanes];
            let (out, _) = T::split_mut::<S>(out);
            for v in 0..V {
                let term = match bias {
                    _ if self.adds => factor.with_vector(out[v]),
                    Some(bias) => factor.with_vector(T::split::<S>(bias).0[v]),
                    None => factor.like(T::ZERO),
                };
                out[v] = sums[v].mul_add(factor, term).vector;
            }
        }
    }

    /// Applies the epilogue to registers of sums, and writes the results to an output
    /// row from `column`.
    #[inline(always)]
    pub(super) fn store_lanes<S: Simd, const V: usize>(
        self,
        column: usize,
        sums: &[Lanes<S, T>; V],
        row: &mut [T],
    ) {
        let positions = row[column..].chunks_mut(Lanes::<S, T>::COUNT);
        for (v, (sum, out)) in sums.iter().zip(positions).enumerate() {
            let term = match self.bias {
                _ if self.adds => sum.load(out),
                Some(bias) => sum.load(&bias[column + v * Lanes::<S, T>::COUNT..][..out.len()]),
                None => sum.like(T::ZERO),
            };
            sum.mul_add(sum.like(self.factor), term).store(out);
        }
    }

    /// Applies the epilogue to some sums, and writes the results to an output row from
    /// `column`, as far as the row extends.
    #[inline(always)]
    pub(super) fn store_sums<S: Simd>(self, simd: S, column: usize, sums: &[T], row: &mut [T]) {
        let lanes = Lanes::<S, T>::COUNT;
        let count = row.len() - column;
        let zero = Lanes::splat(simd, T::ZERO);
        for (number, sums) in sums[..count].chunks(lanes).enumerate() {
            self.store_lanes(column + number * lanes, &[zero.load(sums)], row);
        }
    }
}
