//! What is done to the sums of a product before they are stored.

use pulp::Simd;

use crate::Float;
use crate::lanes::Lanes;
use crate::matrix::MatrixMut;

/// Each sum of products times `factor`, plus what stands in its position or plus a bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epilogue<'a, T> {
    /// Multiplies each sum.
    pub(crate) factor: T,
    /// Whether sums are added to what stands there.
    pub(crate) adds: bool,
    /// A number for each column.
    pub(crate) bias: Option<&'a [T]>,
}

impl<'a, T: Float> Epilogue<'a, T> {
    /// The sums themselves.
    pub(crate) fn new() -> Self {
        Self {
            factor: T::ONE,
            adds: false,
            bias: None,
        }
    }

    /// The sums, plus a number for each column.
    pub(crate) fn with_bias(bias: Option<&'a [T]>) -> Self {
        Self {
            bias,
            ..Self::new()
        }
    }

    /// The epilogue of the columns from `start` on, and of the first sums or of later ones.
    pub(super) fn of(self, start: usize, is_first: bool) -> Self {
        Self {
            adds: self.adds || !is_first,
            bias: self.bias.filter(|_| is_first).map(|bias| &bias[start..]),
            ..self
        }
    }

    /// What is left of it where there is nothing to sum.
    pub(super) fn fill(self, out: &mut MatrixMut<'_, T>) {
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

    /// Turns a sum into a number of the output's column.
    #[inline(always)]
    pub(super) fn put_one(self, column: usize, sum: T, out: &mut T) {
        let term = match self.bias {
            _ if self.adds => *out,
            Some(bias) => bias[column],
            None => T::ZERO,
        };
        *out = sum * self.factor + term;
    }

    /// Writes a tile of sums to the output, which must hold the whole tile.
    #[inline(always)]
    pub(super) fn put_tile<S: Simd, const R: usize, const V: usize>(
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
                    _ if self.adds => factor.with(out[v]),
                    Some(bias) => factor.with(T::split::<S>(bias).0[v]),
                    None => factor.like(T::ZERO),
                };
                out[v] = sums[v].mul_add(factor, term).vector;
            }
        }
    }

    /// Turns registers of sums into numbers of a row of the output, from `column` on.
    #[inline(always)]
    pub(super) fn put_lanes<S: Simd, const V: usize>(
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

    /// Turns some sums into numbers of a row of the output, from `column` to its end.
    #[inline(always)]
    pub(super) fn put<S: Simd>(self, simd: S, column: usize, sums: &[T], row: &mut [T]) {
        let lanes = Lanes::<S, T>::COUNT;
        let count = row.len() - column;
        let zero = Lanes::splat(simd, T::ZERO);
        for (number, sums) in sums[..count].chunks(lanes).enumerate() {
            self.put_lanes(column + number * lanes, &[zero.load(sums)], row);
        }
    }
}
