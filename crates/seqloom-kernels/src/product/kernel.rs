//! Tiles of an output, summed in registers.

use pulp::{Simd, WithSimd};

use super::panels::{EIGHT, FOUR, WIDE};
use crate::{Float, lanes::Lanes, machine};

/// A tile of the output: sums over one block of the depth.
pub(crate) struct Tile<'a, T> {
    /// The number of its first left line.
    pub(crate) row: usize,
    /// The number of its first right line.
    pub(crate) column: usize,
    /// The sums, row by row, `width` each.
    pub(crate) sums: &'a [T],
    /// Right lines of the tile, beyond the last ones too.
    pub(crate) width: usize,
}

/// What becomes of tiles. Implementations are inlined into the kernel.
pub(crate) trait Take<T> {
    /// Takes one tile.
    fn take(&mut self, tile: Tile<'_, T>);
}

/// Packed lines of both factors, and who takes the tiles of their product.
pub(crate) struct Tiles<'a, T, F> {
    /// Places of this block of the depth.
    pub(crate) depth: usize,
    /// Left panels, all of the same number of lines.
    pub(crate) left: &'a [T],
    /// Right panels; the last may be narrower.
    pub(crate) right: &'a [T],
    /// Takes each tile.
    pub(crate) take: F,
}

impl<T: Float, F: Take<T>> WithSimd for Tiles<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if machine::has_many_registers::<S>() {
            self.panels::<S, EIGHT>(simd);
        } else {
            self.panels::<S, FOUR>(simd);
        }
    }
}

/// Numbers of the largest tile.
const TILE: usize = EIGHT * WIDE * 16;

impl<T: Float, F: Take<T>> Tiles<'_, T, F> {
    #[inline(always)]
    fn panels<S: Simd, const R: usize>(mut self, simd: S) {
        let panel = (WIDE * Lanes::<S, T>::COUNT * self.depth).max(1);
        let mut sums = [T::ZERO; TILE];
        for (number, block) in self.right.chunks(NEAR * panel).enumerate() {
            for (row, left) in self.left.chunks_exact(R * self.depth).enumerate() {
                for (place, right) in block.chunks(panel).enumerate() {
                    let at = (row * R, number * NEAR + place);
                    self.tile::<S, R>(simd, (left, right), at, &mut sums);
                }
            }
        }
    }

    /// Sums one tile and gives it away.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        (left, right): (&[T], &[T]),
        (row, panel): (usize, usize),
        sums: &mut [T; TILE],
    ) {
        let lanes = Lanes::<S, T>::COUNT;
        let width = right.len() / self.depth;
        let sums = &mut sums[..R * width];
        match width / lanes {
            1 => fill::<S, T, R, 1>(simd, left, right, sums),
            2 => fill::<S, T, R, 2>(simd, left, right, sums),
            _ => fill::<S, T, R, WIDE>(simd, left, right, sums),
        }
        self.take.take(Tile {
            row,
            column: panel * WIDE * lanes,
            sums,
            width,
        });
    }
}

/// Right panels that are gone through for each left one: as many as stay in a
/// second-level cache.
const NEAR: usize = 3;

/// Sums a tile of `R` rows by `V` registers.
#[inline(always)]
fn fill<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    left: &[T],
    right: &[T],
    out: &mut [T],
) {
    let (out, _) = T::split_mut::<S>(out);
    let (out, _) = out.as_chunks_mut::<V>();
    for (sums, out) in sums::<S, T, R, V>(simd, left, right).into_iter().zip(out) {
        *out = sums.map(|sum| sum.vector);
    }
}

/// The sums of a tile, which stay in registers.
#[inline(always)]
fn sums<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    left: &[T],
    right: &[T],
) -> [[Lanes<S, T>; V]; R] {
    let (left, _) = left.as_chunks::<R>();
    let (right, _) = T::split::<S>(right);
    let (right, _) = right.as_chunks::<V>();
    let mut sums = [[Lanes::splat(simd, T::ZERO); V]; R];
    for (left, right) in left.iter().zip(right) {
        let right: [Lanes<S, T>; V] = std::array::from_fn(|v| Lanes::new(simd, right[v]));
        for (sums, &factor) in sums.iter_mut().zip(left) {
            let factor = Lanes::splat(simd, factor);
            for (sum, x) in sums.iter_mut().zip(right) {
                *sum = factor.mul_add(x, *sum);
            }
        }
    }
    sums
}
