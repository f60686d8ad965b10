//! The kernel that computes tiles of the output in registers.

use pulp::Simd;
use seqloom_macros::vectorized;

use crate::{Float, lanes::Lanes, machine, machine::dispatch, tuned};

/// A tile of the output, summed over one block of the inner axis.
pub(crate) struct Tile<'a, T> {
    /// The index of the first output row.
    pub(crate) row: usize,
    /// The index of the first output column.
    pub(crate) column: usize,
    /// The sums of the tile, row by row, each row with `width` values.
    pub(crate) sums: &'a [T],
    /// The number of columns of the tile, including padding.
    pub(crate) width: usize,
}

/// The receiver of computed tiles. The methods of receivers are inlined into the
/// kernel.
pub(crate) trait TileSink<T: Float> {
    /// Prepares the receiver for a tile of the given position and size, before the sums
    /// of the tile are computed.
    #[inline(always)]
    fn prepare_tile(&mut self, _position: (usize, usize), _sizes: (usize, usize)) {}

    /// Processes the sums of a tile while the sums are in registers.
    fn take_sums<S: Simd, const R: usize, const V: usize>(
        &mut self,
        position: (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    );
}

/// A receiver of tiles that are stored in memory.
pub(crate) trait TileReader<T> {
    /// Processes a tile that is stored in memory.
    fn read_tile(&mut self, tile: Tile<'_, T>);
}

/// Stores each tile in memory and passes it to a [`TileReader`].
pub(super) struct StoredTiles<T, F> {
    take: F,
    numbers: [T; MAX_TILE],
}

impl<T: Float, F> StoredTiles<T, F> {
    pub(super) fn new(take: F) -> Self {
        let numbers = [T::ZERO; MAX_TILE];
        Self { take, numbers }
    }
}

impl<T: Float, F: TileReader<T>> TileSink<T> for StoredTiles<T, F> {
    #[inline(always)]
    fn take_sums<S: Simd, const R: usize, const V: usize>(
        &mut self,
        (row, column): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    ) {
        let width = V * Lanes::<S, T>::COUNT;
        let numbers = &mut self.numbers[..R * width];
        store_tile(sums, numbers);
        self.take.read_tile(Tile {
            row,
            column,
            sums: numbers,
            width,
        });
    }
}

/// Packed panels of both matrices, and the receiver of the tiles of their product.
pub(crate) struct Tiles<'a, T, F> {
    /// The length of this block of the inner axis.
    pub(crate) k: usize,
    /// The left panels, which all have the same number of rows.
    pub(crate) left: &'a [T],
    /// The right panels. The last right panel may have fewer columns.
    pub(crate) right: &'a [T],
    /// The receiver of the tiles.
    pub(crate) take: F,
}

/// Computes all tiles and passes them to the receiver.
#[vectorized]
pub(crate) fn take_tiles<S: Simd, T: Float, F: TileSink<T>>(simd: S, tiles: Tiles<'_, T, F>) {
    if machine::has_many_registers::<S>() {
        tiles.multiply_panels::<S, { tuned::TILE_32.0 }, { tuned::TILE_32.1 }>(simd);
    } else {
        tiles.multiply_panels::<S, { tuned::TILE_16.0 }, { tuned::TILE_16.1 }>(simd);
    }
}

/// The number of values of the largest tile.
const MAX_TILE: usize = tuned::TILE_32.0 * tuned::TILE_32.1 * 16;

impl<T: Float, F: TileSink<T>> Tiles<'_, T, F> {
    #[inline(always)]
    fn multiply_panels<S: Simd, const R: usize, const V: usize>(mut self, simd: S) {
        let panel = (V * Lanes::<S, T>::COUNT * self.k).max(1);
        let l1_panels = if machine::has_many_registers::<S>() {
            tuned::GROUP_PANELS
        } else {
            l1_panel_count(panel * size_of::<T>())
        };
        for (number, block) in self.right.chunks(l1_panels * panel).enumerate() {
            for (row, left) in self.left.chunks(R * self.k).enumerate() {
                for (position, right) in block.chunks(panel).enumerate() {
                    let at = (row * R, number * l1_panels + position);
                    self.compute_tile::<S, R, V>(simd, (left, right), at);
                }
            }
        }
    }

    /// Computes a tile and passes it to the receiver. The last panels may be narrower.
    #[inline(always)]
    fn compute_tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        (left, right): (&[T], &[T]),
        (row, panel): (usize, usize),
    ) {
        let lanes = Lanes::<S, T>::COUNT;
        let at = (row, panel * V * lanes);
        if left.len() == R * self.k && right.len() == V * lanes * self.k {
            return self.compute_full_tile::<S, R, V>(simd, (left, right), at);
        }
        match (left.len() / self.k, right.len() / self.k / lanes) {
            (2, 1) if V < 3 => self.compute_full_tile::<S, 2, 1>(simd, (left, right), at),
            (2, _) if V < 3 => self.compute_full_tile::<S, 2, V>(simd, (left, right), at),
            (4, 1) => self.compute_full_tile::<S, 4, 1>(simd, (left, right), at),
            (4, 2) if V > 2 => self.compute_full_tile::<S, 4, 2>(simd, (left, right), at),
            (4, _) => self.compute_full_tile::<S, 4, V>(simd, (left, right), at),
            (_, 1) => self.compute_full_tile::<S, R, 1>(simd, (left, right), at),
            (_, 2) if V > 2 => self.compute_full_tile::<S, R, 2>(simd, (left, right), at),
            _ => self.compute_full_tile::<S, R, V>(simd, (left, right), at),
        }
    }

    /// Computes a tile of `R` rows by `V` registers and passes it to the receiver.
    #[inline(always)]
    fn compute_full_tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        (left, right): (&[T], &[T]),
        at: (usize, usize),
    ) {
        self.take.prepare_tile(at, (R, V * Lanes::<S, T>::COUNT));
        self.take
            .take_sums(at, &tile_sums::<S, T, R, V>(simd, left, right));
    }
}

/// Returns the number of right panels of `bytes` bytes that are multiplied with each
/// left panel. The right panels must fit in an L1 cache together.
pub(super) fn l1_panel_count(bytes: usize) -> usize {
    (tuned::GROUP_L1_BYTES / bytes.max(1)).max(1)
}

/// Returns the sums of a tile of `R` rows by `V` registers.
#[inline(always)]
fn tile_sums<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    left: &[T],
    right: &[T],
) -> [[Lanes<S, T>; V]; R] {
    let (left, _) = left.as_chunks::<R>();
    let (right, _) = T::split::<S>(right);
    let (right, _) = right.as_chunks::<V>();
    let mut sums = [[Lanes::splat(simd, T::ZERO); V]; R];
    // The loop is unrolled by four, because the loop overhead is a sixth of the time of
    // an iteration.
    let (lefts, left) = left.as_chunks::<4>();
    let (rights, right) = right.as_chunks::<4>();
    for (left, right) in lefts.iter().zip(rights) {
        for step in 0..4 {
            add_products(simd, |row| left[step][row], &right[step], &mut sums);
        }
    }
    for (left, right) in left.iter().zip(right) {
        add_products(simd, |row| left[row], right, &mut sums);
    }
    sums
}

/// Adds the products of `R` values and `V` registers to the sums. Wide panels are in
/// the L2 cache, so their values are prefetched a few iterations ahead.
#[inline(always)]
pub(super) fn add_products<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    left: impl Fn(usize) -> T,
    right: &[T::Vector<S>; V],
    sums: &mut [[Lanes<S, T>; V]; R],
) {
    let ahead = right.as_ptr().wrapping_add(tuned::PANEL_PREFETCH * V);
    if machine::has_many_registers::<S>() {
        (0..V).for_each(|v| machine::prefetch(ahead.wrapping_add(v)));
    }
    let right: [Lanes<S, T>; V] = std::array::from_fn(|v| Lanes::new(simd, right[v]));
    for (row, sums) in sums.iter_mut().enumerate() {
        let factor = Lanes::splat(simd, left(row));
        for (sum, x) in sums.iter_mut().zip(right) {
            *sum = factor.mul_add(x, *sum);
        }
    }
}

/// Stores the sums of a tile, row by row.
#[inline(always)]
pub(super) fn store_tile<S: Simd, T: Float, const R: usize, const V: usize>(
    sums: &[[Lanes<S, T>; V]; R],
    out: &mut [T],
) {
    let (out, _) = T::split_mut::<S>(out);
    let (out, _) = out.as_chunks_mut::<V>();
    for (sums, out) in sums.iter().zip(out) {
        *out = sums.map(|sum| sum.vector);
    }
}
